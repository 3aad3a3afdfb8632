#include "datasets/png.h"

#include "eval/datasets/png_testing.h"

namespace ckpt::eval {
namespace {

using io_testing::bytes_of;
using io_testing::error_of;
using io_testing::joined;
using png_testing::Picture;
using png_testing::png;
using png_testing::Row;

Pixels decoded(const Picture& picture) { return decode_png(png(picture), "x.png"); }

std::optional<Error> refusal(const io_testing::Bytes& file) {
  return error_of([&] { static_cast<void>(decode_png(file, "x.png")); });
}

TEST(Png, OneBitOfGreyIsBilevel) {
  const Pixels pixels = decoded({.width = 10, .height = 1, .depth = 1, .rows = {{0b01100001, 0b10000000}}});
  EXPECT_EQ(pixels.mode, PixelMode::bilevel);
  EXPECT_EQ(pixels.bytes, (Row{0, 255, 255, 0, 0, 0, 0, 255, 255, 0}));
}

TEST(Png, TwoBitsOfGreyAreSpreadOverEight) {
  const Pixels pixels = decoded({.width = 4, .height = 1, .depth = 2, .rows = {{0b00011011}}});
  EXPECT_EQ(pixels.mode, PixelMode::grey);
  EXPECT_EQ(pixels.bytes, (Row{0, 85, 170, 255}));
}

TEST(Png, FourBitsOfGreyAreSpreadOverEight) {
  const Pixels pixels = decoded({.width = 3, .height = 1, .depth = 4, .rows = {{0x1f, 0x80}}});
  EXPECT_EQ(pixels.mode, PixelMode::grey);
  EXPECT_EQ(pixels.bytes, (Row{17, 255, 136}));
}

TEST(Png, EightBitsOfGreyStayAsTheyAre) {
  const Pixels pixels = decoded({.width = 2, .height = 2, .rows = {{1, 2}, {3, 4}}});
  EXPECT_EQ(pixels.width, 2U);
  EXPECT_EQ(pixels.height, 2U);
  EXPECT_EQ(pixels.mode, PixelMode::grey);
  EXPECT_EQ(pixels.bytes, (Row{1, 2, 3, 4}));
}

TEST(Png, SixteenBitsOfGreyAreKeptLowByteFirst) {
  const Pixels pixels = decoded({.width = 2, .height = 1, .depth = 16, .rows = {{1, 2, 3, 4}}});
  EXPECT_EQ(pixels.mode, PixelMode::grey16);
  EXPECT_EQ(pixels.bytes, (Row{2, 1, 4, 3}));
}

TEST(Png, GreyWithAlpha) {
  const Pixels pixels = decoded({.width = 2, .colour = PNG_COLOR_TYPE_GRAY_ALPHA, .rows = {{1, 2, 3, 4}}});
  EXPECT_EQ(pixels.mode, PixelMode::grey_alpha);
  EXPECT_EQ(pixels.bytes, (Row{1, 2, 3, 4}));
}

TEST(Png, Rgb) {
  const Pixels pixels = decoded({.colour = PNG_COLOR_TYPE_RGB, .rows = {{1, 2, 3}}});
  EXPECT_EQ(pixels.mode, PixelMode::rgb);
  EXPECT_EQ(pixels.bytes, (Row{1, 2, 3}));
}

TEST(Png, Rgba) {
  const Pixels pixels = decoded({.colour = PNG_COLOR_TYPE_RGB_ALPHA, .rows = {{1, 2, 3, 4}}});
  EXPECT_EQ(pixels.mode, PixelMode::rgba);
  EXPECT_EQ(pixels.bytes, (Row{1, 2, 3, 4}));
}

TEST(Png, SixteenBitsAColourKeepTheirHighBytes) {
  const Pixels rgb = decoded({.depth = 16, .colour = PNG_COLOR_TYPE_RGB, .rows = {{1, 255, 2, 255, 3, 0}}});
  EXPECT_EQ(rgb.bytes, (Row{1, 2, 3}));
  const Pixels grey = decoded({.depth = 16, .colour = PNG_COLOR_TYPE_GRAY_ALPHA, .rows = {{1, 255, 2, 255}}});
  EXPECT_EQ(grey.bytes, (Row{1, 2}));
}

TEST(Png, IndicesOfEveryDepthAreUnpacked) {
  const std::vector<png_color> two = {{10, 20, 30}, {40, 50, 60}};
  const int colour = PNG_COLOR_TYPE_PALETTE;
  EXPECT_EQ(decoded({.width = 4, .depth = 1, .colour = colour, .rows = {{0x50}}, .palette = two}).bytes,
            (Row{0, 1, 0, 1}));
  EXPECT_EQ(decoded({.width = 2, .depth = 2, .colour = colour, .rows = {{0x40}}, .palette = two}).bytes, (Row{1, 0}));
  EXPECT_EQ(decoded({.width = 2, .depth = 4, .colour = colour, .rows = {{0x01}}, .palette = two}).bytes, (Row{0, 1}));
  EXPECT_EQ(decoded({.width = 2, .depth = 8, .colour = colour, .rows = {{1, 0}}, .palette = two}).bytes, (Row{1, 0}));
}

TEST(Png, ColoursThatThePaletteLacksAreBlack) {
  const Pixels pixels =
      decoded({.colour = PNG_COLOR_TYPE_PALETTE, .rows = {{200}}, .palette = {{10, 20, 30}, {40, 50, 60}}});
  EXPECT_EQ(pixels.mode, PixelMode::palette);
  EXPECT_EQ(pixels.palette[1], (Colour{40, 50, 60}));
  EXPECT_EQ(pixels.palette[pixels.bytes[0]], (Colour{0, 0, 0}));
}

TEST(Png, InterlacedOnesAreTheSame) {
  Picture picture{.width = 9, .height = 7, .colour = PNG_COLOR_TYPE_RGB, .rows = png_testing::pattern_rows(7, 27)};
  const Pixels plain = decoded(picture);
  picture.interlace = PNG_INTERLACE_ADAM7;
  EXPECT_EQ(decoded(picture).bytes, plain.bytes);
  EXPECT_EQ(plain.bytes, png_testing::pattern(7 * 27));
}

TEST(Png, GammaAndTextsArePassedOver) {
  const auto plain = png({.width = 2, .rows = {{100, 200}}});
  const auto after_header = plain.begin() + 8 + 25;
  const auto file = joined({{plain.begin(), after_header},
                            png_testing::chunk("gAMA", bytes_of(std::string_view("\0\0\x58\xcf", 4))),
                            png_testing::chunk("zTXt", bytes_of("not deflated")),
                            {after_header, plain.end()}});
  EXPECT_EQ(decode_png(file, "x.png").bytes, (Row{100, 200}));
}

TEST(Png, WhatIsNoneIsUnsupportedByName) {
  const auto error = refusal(bytes_of("\xff\xd8\xff\xe0 a JPEG"));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsupported);
  EXPECT_EQ(error->file(), "x.png");
  EXPECT_EQ(refusal({})->code(), ErrorCode::unsupported);
}

TEST(Png, CutAnywhereIsRefused) {
  const auto file = png({.width = 20, .height = 20, .rows = png_testing::pattern_rows(20, 20)});
  for (std::size_t size = 8; size < file.size(); ++size) {
    const auto error = refusal({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)});
    ASSERT_TRUE(error) << size;
    EXPECT_EQ(error->code(), ErrorCode::truncated) << size << ": " << error->what();
  }
}

TEST(Png, AWrongChecksumIsCorruptAndSaysWhereItStands) {
  auto file = png({.width = 20, .height = 20, .rows = png_testing::pattern_rows(20, 20)});
  file[8 + 25 + 20] ^= std::byte{1};  // in the middle of IDAT
  const auto error = refusal(file);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::corrupt);
  EXPECT_TRUE(error->offset());
}

TEST(Png, FewerRowsThanTheHeaderSaysAreRefused) {
  EXPECT_EQ(refusal(png_testing::png_of(10, 100, 8, {png_testing::zeros(50 * 11)}))->code(), ErrorCode::corrupt);
}

TEST(Png, APaletteThatIsMissingIsCorrupt) {
  auto file = png({.colour = PNG_COLOR_TYPE_PALETTE, .rows = {{0}}, .palette = {{1, 2, 3}}});
  const auto palette = file.begin() + 8 + 25;
  file.erase(palette, palette + 12 + 3);
  EXPECT_EQ(refusal(file)->code(), ErrorCode::corrupt);
}

TEST(Png, NoMemoryIsTakenForPixelsThatTheBytesCannotHold) {
  const auto error = refusal(png_testing::png_of(4000, 4000, 8, {png_testing::zeros(100)}));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::truncated);
  EXPECT_NE(std::string(error->what()).find("4000×4000 pixels in"), std::string::npos) << error->what();
}

}  // namespace
}  // namespace ckpt::eval
