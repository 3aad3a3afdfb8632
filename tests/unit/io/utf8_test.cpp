#include "ckpt/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace ckpt {
namespace {

using namespace std::string_literals;

TEST(Utf8, WhatIsNoneIsRefused) {
  EXPECT_TRUE(is_utf8("\u00fc\u20ac\U0010ffff"));
  for (const char* const broken : {"\x80", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80",
                                   "\xff", "\xe2\x82", "\xc3("}) {
    EXPECT_FALSE(is_utf8(broken)) << broken;
    EXPECT_FALSE(is_utf8(broken, Surrogates::allowed)) << broken;
  }
}

TEST(Utf8, SurrogatesPassWhereTheyAreAllowed) {
  EXPECT_FALSE(is_utf8("\xed\xa0\x80"));
  EXPECT_TRUE(is_utf8("\xed\xa0\x80", Surrogates::allowed));
  EXPECT_TRUE(is_utf8("\xed\xbf\xbf", Surrogates::allowed));
}

TEST(Utf8, WhatIsAppendedIsDecoded) {
  for (const char32_t point :
       {U'\0', U'\x7f', U'\x80', U'\u07ff', U'\u0800', U'\uffff', U'\U00010000', U'\U0010ffff'}) {
    std::string text = "a"s;
    append_utf8(text, point);
    const CodePoint decoded = decode_utf8(text, 1);
    EXPECT_TRUE(decoded.valid);
    EXPECT_EQ(decoded.value, point);
    EXPECT_EQ(1 + decoded.size, text.size());
  }
  std::string lone;
  append_utf8(lone, 0xD800);
  EXPECT_EQ(lone, "\xed\xa0\x80");
}

}  // namespace
}  // namespace ckpt
