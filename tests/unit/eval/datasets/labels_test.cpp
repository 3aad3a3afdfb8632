#include "ckpt/pictures.h"

#include <gtest/gtest.h>

namespace ckpt::eval {
namespace {

TEST(Label, StandsBehindANumber) { EXPECT_EQ(label_of("00000-Q66Z.png"), "q66z"); }

TEST(Label, StandsBeforeAnUnderscore) {
  EXPECT_EQ(label_of("GQT4_1539937370.png"), "gqt4");
  EXPECT_EQ(label_of("GQT4_.png"), "gqt4");
}

TEST(Label, FoldersBeforeTheNameDoNotCount) {
  EXPECT_EQ(label_of("abcd_1/00007-EFM9.png"), "efm9");
  EXPECT_EQ(label_of("abcd_1/picture.png"), std::nullopt);
}

TEST(Label, TheSuffixMayBeInUpperCase) { EXPECT_EQ(label_of("1-abcd.PNG"), "abcd"); }

TEST(Label, OtherSuffixesHaveNone) {
  EXPECT_EQ(label_of("1-abcd.jpg"), std::nullopt);
  EXPECT_EQ(label_of("1-abcd"), std::nullopt);
}

TEST(Label, OtherLengthsHaveNone) {
  EXPECT_EQ(label_of("1-abc.png"), std::nullopt);
  EXPECT_EQ(label_of("1-abcde.png"), std::nullopt);
  EXPECT_EQ(label_of("abcde_1.png"), std::nullopt);
  EXPECT_EQ(label_of("1-abcde.png", 5), "abcde");
}

TEST(Label, OtherCharactersHaveNone) {
  EXPECT_EQ(label_of("1-ab.d.png"), std::nullopt);
  EXPECT_EQ(label_of("1-\xc3\xa9\xc3\xa9.png"), std::nullopt);
  EXPECT_EQ(label_of("ab d_1.png"), std::nullopt);
}

TEST(Label, WhatStandsBeforeTheDashMustBeANumber) {
  EXPECT_EQ(label_of("x1-abcd.png"), std::nullopt);
  EXPECT_EQ(label_of("-abcd.png"), std::nullopt);
  EXPECT_EQ(label_of("abcd.png"), std::nullopt);
}

}  // namespace
}  // namespace ckpt::eval
