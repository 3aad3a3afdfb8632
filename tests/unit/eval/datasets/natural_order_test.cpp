#include "datasets/natural_order.h"

#include <gtest/gtest.h>

namespace ckpt::eval {
namespace {

TEST(NaturalOrder, NumbersCountAsNumbers) {
  EXPECT_TRUE(natural_less("2.png", "10.png"));
  EXPECT_FALSE(natural_less("10.png", "2.png"));
  EXPECT_TRUE(natural_less("set.9.part.10", "set.10.part.1"));
}

TEST(NaturalOrder, NumbersMayBeLongerThanAnyInteger) {
  EXPECT_TRUE(natural_less("99999999999999999999999999", "100000000000000000000000000"));
  EXPECT_TRUE(natural_less("a00000000000000000000000000002", "a3"));
}

TEST(NaturalOrder, OtherCharactersStandByTheirBytes) {
  EXPECT_TRUE(natural_less("B", "a"));
  EXPECT_TRUE(natural_less("a", "\xc3\xa9"));
}

TEST(NaturalOrder, ABeginningStandsBeforeTheWhole) {
  EXPECT_TRUE(natural_less("a", "a1"));
  EXPECT_FALSE(natural_less("a1", "a"));
  EXPECT_TRUE(natural_less("", "a"));
}

TEST(NaturalOrder, EqualNumbersWithOtherZerosAreApart) {
  EXPECT_TRUE(natural_less("01", "1"));
  EXPECT_FALSE(natural_less("1", "01"));
  EXPECT_TRUE(natural_less("a1b1", "a01b2"));
}

TEST(NaturalOrder, NothingStandsBeforeItself) { EXPECT_FALSE(natural_less("a1", "a1")); }

}  // namespace
}  // namespace ckpt::eval
