#include "report/fraction.h"

#include <gtest/gtest.h>

#include "io/io_testing.h"

namespace ckpt::eval {
namespace {

TEST(Fraction, is_a_fraction_or_a_percentage) {
  EXPECT_EQ(parse_fraction("0.97", "--min-accuracy"), 0.97);
  EXPECT_EQ(parse_fraction("97%", "--min-accuracy"), 0.97);
  EXPECT_EQ(parse_fraction("97.71%", "--min-accuracy"), 0.9771);  // 97.71 / 100 is another number
  EXPECT_EQ(parse_fraction("1", "--min-accuracy"), 1);
  EXPECT_EQ(parse_fraction("1%", "--min-accuracy"), 0.01);
  EXPECT_EQ(parse_fraction("0", "--max-drop"), 0);
}

TEST(Fraction, of_97_is_refused_with_what_may_be_meant) {
  const auto error = io_testing::error_of([] { static_cast<void>(parse_fraction("97", "--min-accuracy")); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  EXPECT_STREQ(error->what(), "--min-accuracy 97 is more than 1, the whole");
  EXPECT_EQ(error->hint(), "if percent are meant: --min-accuracy 97%");
}

TEST(Fraction, refuses_what_is_none) {
  for (const char* const text :
       {"", "%", "nan", "inf", "-0.1", "+1", "1e-1", "0x1", "0.9.7", "97 %", ".", "101%", "1000", "0,97"})
    EXPECT_TRUE(io_testing::error_of([&] { static_cast<void>(parse_fraction(text, "--max-drop")); })) << text;
}

}  // namespace
}  // namespace ckpt::eval
