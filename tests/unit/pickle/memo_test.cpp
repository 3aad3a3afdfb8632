#include "pickle/memo.h"

#include <gtest/gtest.h>

namespace ckpt::pickle {
namespace {

TEST(PickleMemo, HoldsWhatWasPutLast) {
  Memo memo;
  EXPECT_EQ(memo.get(0), no_value);
  EXPECT_TRUE(memo.put(0, 7));
  EXPECT_TRUE(memo.put(0, 8));
  EXPECT_EQ(memo.get(0), 8u);
  EXPECT_EQ(memo.get(1), no_value);
  EXPECT_EQ(memo.size(), 1u);
}

TEST(PickleMemo, AFarIndexIsOneEntry) {
  Memo memo;
  EXPECT_TRUE(memo.put(4'000'000'000, 1));
  EXPECT_TRUE(memo.put(~std::uint64_t{0}, 2));
  EXPECT_EQ(memo.get(4'000'000'000), 1u);
  EXPECT_EQ(memo.get(~std::uint64_t{0}), 2u);
  EXPECT_EQ(memo.get(5), no_value);
  EXPECT_EQ(memo.size(), 2u);
}

TEST(PickleMemo, AnIndexCountsOnceThoughTheMemoGrowsPastIt) {
  Memo memo;
  memo.put(1000, 5);
  for (std::uint32_t i = 0; i < 1000; ++i) memo.put(i, i);
  EXPECT_EQ(memo.get(1000), 5u);
  memo.put(1000, 6);
  memo.put(1001, 9);
  EXPECT_EQ(memo.get(1000), 6u);
  EXPECT_EQ(memo.size(), 1002u);
}

}  // namespace
}  // namespace ckpt::pickle
