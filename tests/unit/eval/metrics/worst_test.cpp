#include "metrics/worst.h"

#include <gtest/gtest.h>

#include <limits>

namespace ckpt::eval {
namespace {

/// Ten samples; remembers what is read.
class Numbers final : public Dataset {
 public:
  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] std::vector<std::string> files() const override { return {path_}; }
  [[nodiscard]] std::uint64_t size() const override { return 10; }
  [[nodiscard]] std::vector<std::int64_t> input_shape() const override { return {1}; }
  [[nodiscard]] std::vector<std::int64_t> target_shape() const override { return {1}; }
  void bind(const Signature& /*signature*/) override {}
  [[nodiscard]] Samples read(std::uint64_t first, std::uint64_t count) override {
    reads.push_back(first);
    Samples out;
    out.first = first;
    out.count = count;
    out.inputs = {static_cast<std::byte>(first)};
    return out;
  }
  [[nodiscard]] Samples labels(std::uint64_t /*first*/, std::uint64_t /*count*/) override { return {}; }

  std::vector<std::uint64_t> reads;

 private:
  std::string path_ = "numbers";
};

Predictions four() {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  return {5, {1, 2, 3, 4}, {1, 0, -1, 0}, {0.9F, 0.8F, nan, 0.7F}, {0.9F, 0.1F, nan, 0.1F}};
}

TEST(Worst, puts_what_is_not_finite_first_and_equals_in_order) {
  EXPECT_EQ(worst(four(), 3), (std::vector<std::size_t>{2, 1, 3}));
}

// A truth that is less than any float is 0, as that of a sample without one is.
TEST(Worst, tells_what_is_not_finite_by_what_was_read) {
  const Predictions predictions{0, {1, 2, 3}, {0, 0, -1}, {1, 1, 0}, {0, 0.5F, 0}};
  EXPECT_EQ(worst(predictions, 3), (std::vector<std::size_t>{2, 0, 1}));
}

TEST(Worst, takes_all_where_there_are_fewer) { EXPECT_EQ(worst(four(), 12).size(), 4U); }

TEST(Worst, reads_forward_and_returns_the_worst_first) {
  Numbers data;
  const auto pictures = worst_pictures(data, four(), 3, [](const Samples& sample, Picture& picture) {
    picture.pixels = {std::to_integer<std::uint8_t>(sample.inputs[0])};
  });
  EXPECT_EQ(data.reads, (std::vector<std::uint64_t>{6, 7, 8}));
  ASSERT_EQ(pictures.size(), 3U);
  EXPECT_EQ(pictures[0].index, 7U);
  EXPECT_EQ(pictures[0].pixels, std::vector<std::uint8_t>{7});
  EXPECT_EQ(pictures[0].label, std::vector<std::int32_t>{3});
  EXPECT_EQ(pictures[0].read, std::vector<std::int32_t>{-1});
  EXPECT_EQ(pictures[1].truth, 0.1F);
}

}  // namespace
}  // namespace ckpt::eval
