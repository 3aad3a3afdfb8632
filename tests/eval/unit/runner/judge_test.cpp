#include "runner/judge.h"

#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace ckpt::eval {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(Normalised, is_what_pytorch_computes_for_every_byte) {
  const at::Tensor bytes = at::arange(256, at::TensorOptions(at::kByte));
  const at::Tensor expected = bytes.to(at::kFloat).div(255).sub(0.1307).div(0.3081);
  for (int byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(normalised(static_cast<std::uint8_t>(byte), 0.1307F, 0.3081F), expected[byte].item<float>()) << byte;
  }
}

TEST(PlaceOf, puts_the_channels_of_a_pixel_side_by_side) {
  std::vector<std::int64_t> places;
  for (std::int64_t at = 0; at < 6; ++at) places.push_back(place_of(at, 3, 2));
  EXPECT_EQ(places, (std::vector<std::int64_t>{0, 2, 4, 1, 3, 5}));
}

TEST(Greatest, of_equal_ones_is_the_first) {
  const std::array values{1.0F, 3.0F, 3.0F};
  EXPECT_EQ(greatest(values.data(), 3), 1);
}

TEST(Greatest, takes_negative_zero_for_zero) {
  const std::array values{-0.0F, 0.0F};
  EXPECT_EQ(greatest(values.data(), 2), 0);
}

struct JudgeTest : testing::Test {
  Judgement judge_pair(const std::array<float, 4>& outputs, const std::array<std::int32_t, 2>& labels) {
    return judge(outputs.data(), labels.data(), {2, 2}, confusion.data(), predicted.data());
  }
  std::array<std::uint64_t, 8> confusion{};
  std::array<std::int32_t, 2> predicted{};
};

TEST_F(JudgeTest, is_correct_where_every_position_is) {
  const Judgement verdict = judge_pair({0, 1, 1, 0}, {1, 0});
  EXPECT_TRUE(verdict.finite);
  EXPECT_TRUE(verdict.correct);
  EXPECT_EQ(predicted, (std::array<std::int32_t, 2>{1, 0}));
  EXPECT_EQ(confusion, (std::array<std::uint64_t, 8>{0, 0, 0, 1, 1, 0, 0, 0}));
}

TEST_F(JudgeTest, is_wrong_where_one_position_is) {
  EXPECT_FALSE(judge_pair({0, 1, 1, 0}, {1, 1}).correct);
  EXPECT_EQ(confusion, (std::array<std::uint64_t, 8>{0, 0, 0, 1, 0, 0, 1, 0}));
}

TEST_F(JudgeTest, counts_outputs_that_are_not_finite_nowhere_else) {
  for (const float bad : {nan, infinity, -infinity}) {
    const Judgement verdict = judge_pair({0, 1, bad, 0}, {1, 0});
    EXPECT_FALSE(verdict.finite);
    EXPECT_FALSE(verdict.correct);
    EXPECT_EQ(predicted, (std::array<std::int32_t, 2>{-1, -1}));
  }
  EXPECT_EQ(confusion, (std::array<std::uint64_t, 8>{}));
}

TEST_F(JudgeTest, does_not_take_what_is_not_finite_for_a_missing_label) {
  EXPECT_FALSE(judge_pair({nan, 1, 0, 0}, {-1, -1}).correct);
}

TEST_F(JudgeTest, reads_samples_without_a_label) {
  const Judgement verdict = judge_pair({0, 1, 1, 0}, {-1, 2});
  EXPECT_TRUE(verdict.finite);
  EXPECT_FALSE(verdict.correct);
  EXPECT_EQ(predicted, (std::array<std::int32_t, 2>{1, 0}));
  EXPECT_EQ(confusion, (std::array<std::uint64_t, 8>{}));
}

TEST(Certainty, is_the_product_of_a_softmax_a_position) {
  const std::array outputs{0.0F, 1.0F, 2.0F, 0.0F};
  const std::array<std::int32_t, 2> labels{0, 0};
  const Certainty said = certainty(outputs.data(), labels.data(), {2, 2});
  const double first = 1 / (1 + std::exp(-1.0)), second = 1 / (1 + std::exp(-2.0));
  EXPECT_FLOAT_EQ(said.confidence, static_cast<float>(first * second));
  EXPECT_FLOAT_EQ(said.truth, static_cast<float>((1 - first) * second));
}

TEST(Certainty, survives_great_outputs) {
  const std::array outputs{3e38F, -3e38F};
  const std::array<std::int32_t, 1> labels{0};
  const Certainty said = certainty(outputs.data(), labels.data(), {1, 2});
  EXPECT_EQ(said.confidence, 1);
  EXPECT_EQ(said.truth, 1);
}

TEST(Certainty, is_zero_where_outputs_are_not_finite) {
  const std::array outputs{0.0F, nan};
  const std::array<std::int32_t, 1> labels{0};
  EXPECT_EQ(certainty(outputs.data(), labels.data(), {1, 2}).confidence, 0);
  EXPECT_EQ(certainty(outputs.data(), labels.data(), {1, 2}).truth, 0);
}

TEST(Certainty, of_what_has_no_label_has_no_truth) {
  const std::array outputs{0.0F, 1.0F};
  const std::array<std::int32_t, 1> labels{-1};
  EXPECT_GT(certainty(outputs.data(), labels.data(), {1, 2}).confidence, 0.5);
  EXPECT_EQ(certainty(outputs.data(), labels.data(), {1, 2}).truth, 0);
}

}  // namespace
}  // namespace ckpt::eval
