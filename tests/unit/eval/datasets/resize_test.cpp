#include "datasets/resize.h"

#include "eval/datasets/png_testing.h"

namespace ckpt::eval {
namespace {

using png_testing::Row;

/// A picture of `mode` whose bytes are png_testing::pattern(), resized. What is expected of it is
/// `Image.frombytes(mode, size, pattern).resize((width, height)).tobytes()` of Pillow 13.0.0.
Row resized_pattern(PixelMode mode, std::size_t from_width, std::size_t from_height, std::size_t width,
                    std::size_t height) {
  const Pixels from{.width = from_width,
                    .height = from_height,
                    .mode = mode,
                    .bytes = png_testing::pattern(from_width * from_height * bytes_a_pixel(mode))};
  const Pixels to = resized(from, width, height);
  EXPECT_EQ(to.width, width);
  EXPECT_EQ(to.height, height);
  EXPECT_EQ(to.mode, mode);
  return to.bytes;
}

TEST(Resize, GreyBecomesSmaller) {
  EXPECT_EQ(resized_pattern(PixelMode::grey, 7, 5, 3, 2), (Row{98, 148, 126, 108, 151, 163}));
}

TEST(Resize, GreyBecomesLarger) {
  EXPECT_EQ(resized_pattern(PixelMode::grey, 3, 2, 5, 4),
            (Row{0, 16, 70, 120, 146, 56, 59, 73, 127, 162, 195, 144, 77, 142, 193, 255, 187, 80, 149, 209}));
}

TEST(Resize, RgbTreatsEachChannelByItself) {
  EXPECT_EQ(resized_pattern(PixelMode::rgb, 7, 5, 3, 2),
            (Row{162, 125, 126, 155, 160, 140, 174, 83, 119, 141, 99, 66, 172, 130, 125, 153, 90, 155}));
}

TEST(Resize, GreyWithAlphaWeighsByAlpha) {
  EXPECT_EQ(resized_pattern(PixelMode::grey_alpha, 7, 5, 3, 2),
            (Row{127, 140, 121, 149, 168, 109, 120, 131, 212, 139, 164, 133}));
}

TEST(Resize, RgbaWeighsByAlpha) {
  EXPECT_EQ(resized_pattern(PixelMode::rgba, 7, 5, 3, 2),
            (Row{112, 98,  159, 186, 121, 104, 157, 134, 167, 150, 194, 105,
                 157, 116, 79,  112, 140, 131, 125, 114, 124, 124, 147, 100}));
}

TEST(Resize, GreyOfSixteenBits) {
  EXPECT_EQ(resized_pattern(PixelMode::grey16, 7, 5, 3, 2),
            (Row{20, 140, 126, 149, 13, 109, 205, 131, 245, 139, 138, 133}));
}

TEST(Resize, SixteenBitsEndAtTheirBounds) {
  Pixels edge{.width = 4, .height = 1, .mode = PixelMode::grey16, .bytes = {0, 0, 0, 0, 255, 255, 255, 255}};
  EXPECT_EQ(resized(edge, 8, 1).bytes, (Row{0, 0, 0, 0, 0, 0, 0, 52, 255, 203, 255, 255, 255, 255, 255, 255}));
}

TEST(Resize, IndicesAreTakenFromTheNearestPixel) {
  EXPECT_EQ(resized_pattern(PixelMode::palette, 7, 5, 3, 2), (Row{115, 217, 119, 213, 195, 233}));
  EXPECT_EQ(resized_pattern(PixelMode::palette, 3, 2, 5, 4),
            (Row{11, 11, 71, 145, 145, 11, 11, 71, 145, 145, 233, 233, 79, 195, 195, 233, 233, 79, 195, 195}));
}

TEST(Resize, BilevelStaysBilevel) {
  const Pixels stripes{.width = 4, .height = 1, .mode = PixelMode::bilevel, .bytes = {0, 255, 0, 255}};
  EXPECT_EQ(resized(stripes, 6, 1).bytes, (Row{0, 255, 255, 0, 0, 255}));
}

TEST(Resize, OnlyTheSideThatChangesIsFiltered) {
  EXPECT_EQ(resized_pattern(PixelMode::grey, 6, 4, 6, 2),
            (Row{45, 133, 127, 126, 139, 175, 136, 164, 58, 83, 163, 98}));
  EXPECT_EQ(resized_pattern(PixelMode::grey, 6, 4, 3, 4),
            (Row{46, 170, 149, 141, 102, 172, 103, 77, 103, 172, 102, 141}));
}

TEST(Resize, APictureOfThatSizeIsLeftAlone) {
  // Alpha multiplied in and out again would change it.
  EXPECT_EQ(resized_pattern(PixelMode::rgba, 7, 5, 7, 5), png_testing::pattern(7 * 5 * 4));
}

TEST(Resize, TheHeightGoesFirstWhereItShrinksByMoreThanTwiceTheWidth) {
  EXPECT_EQ(resized_pattern(PixelMode::grey, 4, 9, 3, 7),  // by twice as much: not yet
            (Row{44, 113, 205, 103, 130, 181, 103, 94, 111, 89, 136, 174, 87, 170, 130, 95, 130, 198, 136, 157, 201}));
  EXPECT_EQ(resized_pattern(PixelMode::grey, 4, 9, 3, 6),
            (Row{55, 116, 200, 100, 123, 168, 106, 102, 128, 71, 164, 148, 108, 142, 181, 122, 150, 203}));
}

TEST(Resize, ThePaletteStays) {
  Pixels from{.width = 2, .height = 1, .mode = PixelMode::palette, .bytes = {7, 7}};
  from.palette[7] = {1, 2, 3};
  EXPECT_EQ(resized(from, 1, 1).palette[7], (Colour{1, 2, 3}));
}

}  // namespace
}  // namespace ckpt::eval
