// What tests/eval/pictures.py compares with Pillow: `ckpt_picture_tensor WIDTH HEIGHT rgb|grey < paths` writes the
// tensor of each picture that standard input names to standard output, one after the other, and goes on after one it
// cannot read: its error goes to standard error, nothing to standard output, and the exit status is 3.

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "ckpt/error.h"
#include "datasets/picture.h"

int main(int argc, char** argv) {
  using namespace ckpt::eval;
  if (argc != 4) return 2;
  const auto layout = std::string_view(argv[3]) == "rgb" ? PictureLayout::rgb_columns : PictureLayout::grey_rows;
  const PictureShape shape{std::strtoull(argv[1], nullptr, 10), std::strtoull(argv[2], nullptr, 10), layout};
  int status = 0;
  for (std::string path; std::getline(std::cin, path);) {
    try {
      const auto tensor = read_picture(path, shape);
      std::cout.write(reinterpret_cast<const char*>(tensor.data()), static_cast<std::streamsize>(tensor.size()));
    } catch (const ckpt::Error& error) {
      std::cerr << error.what() << '\n';
      status = 3;
    }
  }
  return std::cout.flush() ? status : 6;
}
