#include "datasets/sample_picture.h"

#include <gtest/gtest.h>

#include <cmath>

#include "eval/datasets/dataset_testing.h"

namespace ckpt::eval {
namespace {

using namespace eval_testing;
using Colours = std::vector<std::uint8_t>;

Signature of_shape(const Shape& shape, const std::string& alphabet = "") {
  Signature signature;
  signature.input = shape;
  signature.alphabet = alphabet;
  return signature;
}

Samples of(DType dtype, const Bytes& inputs, std::uint64_t count = 1) {
  Samples samples;
  samples.dtype = dtype;
  samples.count = count;
  samples.inputs = inputs;
  return samples;
}

Colours grey(const std::vector<float>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return to_pixels(of(DType::float32, raw(values)), 0, of_shape({1, count})).bytes;
}

TEST(SamplePicture, AVectorIsASquare) {
  const Pixels pixels = to_pixels(of(DType::uint8, counted(8), 2), 1, of_shape({4}));
  EXPECT_EQ(pixels.width, 2U);
  EXPECT_EQ(pixels.height, 2U);
  EXPECT_EQ(pixels.mode, PixelMode::grey);
  EXPECT_EQ(pixels.bytes, (Colours{4, 5, 6, 7}));
}

TEST(SamplePicture, AVectorThatFillsNoSquareIsPadded) {
  EXPECT_EQ(to_pixels(of(DType::uint8, counted(3)), 0, of_shape({3})).bytes, (Colours{0, 1, 2, 0}));
}

TEST(SamplePicture, RowsOfGrey) {
  const Pixels pixels = to_pixels(of(DType::uint8, counted(6)), 0, of_shape({1, 2, 3}));
  EXPECT_EQ(pixels.width, 3U);
  EXPECT_EQ(pixels.height, 2U);
  EXPECT_EQ(pixels.bytes, (Colours{0, 1, 2, 3, 4, 5}));
}

TEST(SamplePicture, ColumnsOfColoursOfWhatReadsText) {
  const Pixels pixels = to_pixels(of(DType::uint8, counted(18)), 0, of_shape({3, 3, 2}, "ab"));
  EXPECT_EQ(pixels.width, 3U);
  EXPECT_EQ(pixels.height, 2U);
  EXPECT_EQ(pixels.mode, PixelMode::rgb);
  EXPECT_EQ(pixels.bytes, (Colours{0, 6, 12, 2, 8, 14, 4, 10, 16, 1, 7, 13, 3, 9, 15, 5, 11, 17}));
}

TEST(SamplePicture, RowsOfColoursOfOthers) {
  const Pixels pixels = to_pixels(of(DType::uint8, counted(18)), 0, of_shape({3, 3, 2}));
  EXPECT_EQ(pixels.width, 2U);
  EXPECT_EQ(pixels.height, 3U);
  EXPECT_EQ(Colours(pixels.bytes.begin(), pixels.bytes.begin() + 6), (Colours{0, 6, 12, 1, 7, 13}));
}

TEST(SamplePicture, FloatsFromNoughtToOne) { EXPECT_EQ(grey({0, 0.5F, 0.25F, 0.5F}), (Colours{0, 128, 64, 128})); }
TEST(SamplePicture, OtherFloatsFromLeastToGreatest) { EXPECT_EQ(grey({2, 4, 3, 2}), (Colours{0, 255, 128, 0})); }
TEST(SamplePicture, NegativeFloats) { EXPECT_EQ(grey({-3, -1, -2, -3}), (Colours{0, 255, 128, 0})); }
TEST(SamplePicture, OfOneValueAlone) { EXPECT_EQ(grey({7, 7}), (Colours{0, 0})); }
TEST(SamplePicture, WhatIsNotFiniteIsBlack) {
  EXPECT_EQ(grey({std::nanf(""), 1, -INFINITY, INFINITY}), (Colours{0, 255, 0, 0}));
}
TEST(SamplePicture, TheGreatestFloats) { EXPECT_EQ(grey({-3e38F, 3e38F, 0}), (Colours{0, 255, 128})); }

}  // namespace
}  // namespace ckpt::eval
