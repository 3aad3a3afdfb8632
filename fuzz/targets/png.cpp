#include "datasets/png.h"

#include <zlib.h>

#include "ckpt/limits.h"
#include "datasets/picture.h"
#include "targets/input.h"
#include "targets/targets.h"

namespace ckpt::fuzz {
namespace {

std::uint32_t load_be32(const std::byte* from) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint32_t>(from[i]);
  return value;
}

/// Puts the checksum of each chunk right: what a mutation changed would end there.
void repair(std::vector<std::byte>& file) {
  for (std::size_t at = 8; at + 12 <= file.size();) {
    const std::size_t size = load_be32(file.data() + at);
    if (size > file.size() - at - 12) return;
    const auto* checked = reinterpret_cast<const Bytef*>(file.data() + at + 4);
    const auto crc = static_cast<std::uint32_t>(crc32(0, checked, static_cast<uInt>(size + 4)));
    for (std::size_t i = 0; i < 4; ++i) file[at + 8 + size + i] = static_cast<std::byte>(crc >> (24 - 8 * i));
    at += size + 12;
  }
}

void decode(const std::vector<std::byte>& file) {
  const auto error = error_of([&] {
    const eval::Pixels pixels = eval::decode_png(file, "input");
    require(pixels.width * pixels.height <= limits::picture_pixels, "more pixels than the cap");
    require(pixels.bytes.size() == pixels.width * pixels.height * bytes_a_pixel(pixels.mode),
            "bytes and pixels differ");
  });
  for (const auto& shape : {eval::captcha_picture, eval::digit_picture}) {
    const auto refused = error_of([&] {
      require(eval::picture_tensor(file, shape, "input").size() == shape.bytes(), "a tensor of another size");
    });
    require(refused.has_value() == error.has_value(), "whether it is a picture changes");
  }
}

}  // namespace

int fuzz_png(const std::uint8_t* data, std::size_t size) {
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> file(begin, begin + size);
  decode(file);
  repair(file);
  decode(file);
  return 0;
}

}  // namespace ckpt::fuzz
