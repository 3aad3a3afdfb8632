#include "datasets/shape.h"

#include <gtest/gtest.h>

#include "ckpt/error.h"
#include "eval/datasets/dataset_testing.h"

namespace ckpt::eval {
namespace {

using eval_testing::Bytes;

/// Numbers 0, 1, 2 … of one sample, as the model gets them.
std::vector<int> fitted(const Shape& data, const Shape& model) {
  const Fit fit(data, model);
  Bytes bytes = eval_testing::counted(static_cast<std::size_t>(fit.elements()));
  fit.apply(bytes, 1);
  std::vector<int> numbers;
  for (const std::byte byte : bytes) numbers.push_back(std::to_integer<int>(byte));
  return numbers;
}

const std::vector<int> as_they_are{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                   12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23};

TEST(Fit, TheSameShape) { EXPECT_EQ(fitted({3, 4, 2}, {3, 4, 2}), as_they_are); }
TEST(Fit, OneDimensionTakesAsManyOfAnyShape) { EXPECT_EQ(fitted({1, 4, 6}, {24}), as_they_are); }
TEST(Fit, DimensionsOfOneDoNotCount) { EXPECT_EQ(fitted({1, 4, 6}, {4, 6, 1}), as_they_are); }
TEST(Fit, AModelWithoutAShapeTakesAny) { EXPECT_EQ(fitted({2, 3, 4}, {}), as_they_are); }

TEST(Fit, RowsOfPixelsBecomeColumnsOfPlanes) {
  EXPECT_EQ(fitted({2, 4, 3}, {3, 4, 2}),
            (std::vector<int>{0, 12, 3, 15, 6, 18, 9, 21, 1, 13, 4, 16, 7, 19, 10, 22, 2, 14, 5, 17, 8, 20, 11, 23}));
}

TEST(Fit, PlanesOfRowsBecomePlanesOfColumns) {
  EXPECT_EQ(fitted({3, 2, 4}, {3, 4, 2}),
            (std::vector<int>{0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15, 16, 20, 17, 21, 18, 22, 19, 23}));
}

TEST(Fit, WiderNumbersMoveAsOne) {
  Bytes bytes = eval_testing::raw<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  Fit({2, 2, 3}, {3, 2, 2}).apply(bytes, sizeof(float));
  EXPECT_EQ(bytes, eval_testing::raw<float>({0, 6, 3, 9, 1, 7, 4, 10, 2, 8, 5, 11}));
}

TEST(Fit, OthersAreRefused) {
  EXPECT_THROW(Fit({28, 28}, {3, 56, 24}), Error);
  EXPECT_THROW(Fit({3, 56, 24}, {784}), Error);
  EXPECT_THROW(Fit({56, 24, 3}, {3, 56, 24}), Error);
}

TEST(Fit, SizesThatOverflowAreRefused) {
  EXPECT_THROW(sample_elements({INT64_MAX, INT64_MAX}), Error);
  EXPECT_THROW(sample_elements({-1}), Error);
  EXPECT_EQ(sample_elements({INT64_MAX, 0}), 0U);
}

}  // namespace
}  // namespace ckpt::eval
