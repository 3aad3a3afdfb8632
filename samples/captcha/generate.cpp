// Makes pictures for those who have none.
#include <ckpt/error.h>
#include <png.h>

#include <cstdio>
#include <filesystem>
#include <iostream>

#include "arguments.h"
#include "commands.h"
#include "draw.h"

namespace captcha {
namespace {

void write_png(const Canvas& canvas, const std::string& path) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = Canvas::width;
  image.height = Canvas::height;
  image.format = PNG_FORMAT_RGB;
  if (png_image_write_to_file(&image, path.c_str(), 0, canvas.rgb.data(), 0, nullptr) == 0)
    throw ckpt::Error(ckpt::ErrorCode::io, image.message).in(path);
}

}  // namespace

int generate(int count, const char* const* words) {
  const training::Arguments arguments(count, words, {"--count", "--seed"});
  const std::filesystem::path folder = arguments.only("the folder to be filled");
  const std::int64_t pictures = arguments.number("--count", 10000);
  std::mt19937 random(static_cast<std::mt19937::result_type>(arguments.number("--seed", 0, 0)));
  std::filesystem::create_directories(folder);
  for (std::int64_t i = 0; i < pictures; ++i) {
    const std::string code = random_code(random);
    char name[48];
    std::snprintf(name, sizeof name, "%05lld-%s.png", static_cast<long long>(i), code.c_str());
    write_png(draw(code, random), (folder / name).string());
  }
  std::cout << folder.string() << ": " << pictures << " pictures\n";
  return 0;
}

}  // namespace captcha
