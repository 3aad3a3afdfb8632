#include "model/position_index.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ckpt {
namespace {

/// A list of different texts, as the users of the index keep it.
class Texts {
 public:
  std::uint32_t add(const std::string& text, std::uint64_t hash) {
    texts_.push_back(text);
    const auto next = static_cast<std::uint32_t>(texts_.size() - 1);
    const std::uint32_t place = index_.add(hash, next, [&](std::uint32_t other) { return texts_[other] == text; });
    if (place != next) texts_.pop_back();
    return place;
  }
  std::uint32_t add(const std::string& text) { return add(text, hash_of(text)); }
  [[nodiscard]] std::uint32_t find(const std::string& text) const {
    return index_.find(hash_of(text), [&](std::uint32_t other) { return texts_[other] == text; });
  }

 private:
  std::vector<std::string> texts_;
  PositionIndex index_;
};

TEST(PositionIndex, FindsTheFirstOfEqualTexts) {
  Texts texts;
  EXPECT_EQ(texts.add("a"), 0U);
  EXPECT_EQ(texts.add("b"), 1U);
  EXPECT_EQ(texts.add("a"), 0U);
  EXPECT_EQ(texts.find("b"), 1U);
  EXPECT_EQ(texts.find("c"), PositionIndex::nowhere);
}

TEST(PositionIndex, HoldsNothingAtFirst) { EXPECT_EQ(Texts().find(""), PositionIndex::nowhere); }

TEST(PositionIndex, KeepsAllAsItGrows) {
  Texts texts;
  for (std::uint32_t i = 0; i < 10'000; ++i) ASSERT_EQ(texts.add("key " + std::to_string(i)), i);
  for (std::uint32_t i = 0; i < 10'000; ++i) ASSERT_EQ(texts.find("key " + std::to_string(i)), i);
}

TEST(PositionIndex, TellsTextsOfEqualHashApart) {
  Texts texts;
  for (std::uint32_t i = 0; i < 100; ++i) ASSERT_EQ(texts.add(std::to_string(i), 7), i);
  EXPECT_EQ(texts.add("42", 7), 42U);
}

TEST(HashOf, DependsOnEachByteAndOnTheLength) {
  const std::string text = "seventeen bytes..";
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = static_cast<char>(other[i] + 1);
    EXPECT_NE(hash_of(text), hash_of(other)) << i;
  }
  EXPECT_NE(hash_of(std::string(3, '\0')), hash_of(std::string(4, '\0')));
  EXPECT_EQ(hash_of(text), hash_of(std::string(text)));
}

}  // namespace
}  // namespace ckpt
