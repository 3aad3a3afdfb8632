#include "report/png_uri.h"

#include <png.h>

#include <cstdint>
#include <new>
#include <string_view>
#include <vector>

#include "ckpt/error.h"

namespace ckpt::eval {
namespace {

std::string base64(const std::vector<std::uint8_t>& bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 3; ++i) word = word << 8 | (i < count ? bytes[at + i] : 0U);
    for (std::size_t i = 0; i < 4; ++i) out += i <= count ? digits[word >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

}  // namespace

std::string png_uri(const Picture& picture) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = picture.width;
  image.height = picture.height;
  image.format = picture.channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  const std::uint64_t expected = std::uint64_t{picture.width} * picture.height * (picture.channels == 3 ? 3 : 1);
  if (expected != picture.pixels.size() || expected == 0)
    throw Error(ErrorCode::unsupported, "sample " + std::to_string(picture.index) + " makes no picture");
  if (picture.width > PNG_USER_WIDTH_MAX || picture.height > PNG_USER_HEIGHT_MAX) return {};
  // 8 bits a channel at least, deflated or not, and a few chunks of it.
  std::vector<std::uint8_t> bytes(expected + expected / 8 + picture.height + 4096);
  png_alloc_size_t size = bytes.size();
  // Of a picture that fits its sizes and its place, nothing is wrong: what libpng may lack is memory.
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, picture.pixels.data(), 0, nullptr) == 0)
    throw std::bad_alloc();
  bytes.resize(size);
  return "data:image/png;base64," + base64(bytes);
}

}  // namespace ckpt::eval
