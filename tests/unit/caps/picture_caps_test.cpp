#include "caps/caps_testing.h"
#include "ckpt/limits.h"
#include "datasets/picture.h"
#include "datasets/png.h"
#include "eval/datasets/png_testing.h"

namespace ckpt {
namespace {

using caps_testing::expect_past;
using caps_testing::expect_within;

/// A picture of one bit a pixel, all of them black.
void decode(std::uint32_t width, std::uint32_t height) {
  const auto file = png_testing::png_of(width, height, 1, {png_testing::zeros((width / 8U + 2) * height)});
  static_cast<void>(eval::decode_png(file, "x.png"));
}

TEST(Cap, picture_side) {
  expect_within([] { decode(limits::picture_side, 1); });
  expect_past([] { decode(limits::picture_side + 1, 1); });
  expect_past([] { decode(1, limits::picture_side + 1); });
}

TEST(Cap, picture_pixels) {
  const auto rows = static_cast<std::uint32_t>(limits::picture_pixels / 4096);
  expect_within([&] { decode(4096, rows); });
  expect_past([&] { decode(4096, rows + 1); });
}

TEST(Cap, picture_bytes) {
  const io_testing::TemporaryFolder folder;
  const auto path = folder / "a.png";
  io_testing::put_file(path, png_testing::png({}));
  const eval::PictureShape shape{1, 1, eval::PictureLayout::grey_rows};
  std::filesystem::resize_file(path, limits::picture_bytes);  // what follows the picture is passed over
  expect_within([&] { eval::read_picture(path, shape); });
  std::filesystem::resize_file(path, limits::picture_bytes + 1);
  expect_past([&] { eval::read_picture(path, shape); });
}

}  // namespace
}  // namespace ckpt
