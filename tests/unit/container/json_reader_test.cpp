#include "container/json_reader.h"

#include <gtest/gtest.h>

#include "io/io_testing.h"

namespace ckpt {
namespace {

using io_testing::error_of;

std::string string_in(std::string_view text) { return JsonReader(text, 0, "text").string(); }

std::string refusal(const std::function<void()>& work) {
  const auto error = error_of(work);
  if (!error) return "";
  EXPECT_EQ(error->code(), ErrorCode::corrupt);
  return error->what();
}

/// Any value, and nothing behind it.
std::string fault_in(std::string_view text) {
  return refusal([&] {
    JsonReader json(text, 0, "text");
    json.skip();
    json.finish();
  });
}

TEST(JsonReaderTest, KeysAndItemsComeInTheirOrder) {
  JsonReader json(R"( { "a" : [ 1 , 22 ] , "b" : { } , "c" : [ ] , "d" : "x" } )", 0, "text");
  std::vector<std::uint64_t> numbers;
  std::string keys;
  json.enter_object();
  while (const auto key = json.next_key()) {
    keys += *key;
    if (*key == "a") {
      json.enter_array();
      while (json.next_item()) numbers.push_back(json.integer());
    } else if (*key == "b") {
      json.enter_object();
      EXPECT_FALSE(json.next_key());
    } else if (*key == "c") {
      json.enter_array();
      EXPECT_FALSE(json.next_item());
    } else {
      EXPECT_EQ(json.string(), "x");
    }
  }
  json.finish();
  EXPECT_EQ(keys, "abcd");
  EXPECT_EQ(numbers, (std::vector<std::uint64_t>{1, 22}));
}

TEST(JsonReaderTest, EscapesBecomeWhatTheyStandFor) {
  EXPECT_EQ(string_in(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(string_in(R"("\u0041\u00e9\u20ac\ud83d\uDE00")"), "Aé€😀");
  EXPECT_EQ(string_in("\"é€😀\x7f\""), "é€😀\x7f");
  EXPECT_EQ(string_in(R"("a\u0000b")"), std::string("a\0b", 3));
}

TEST(JsonReaderTest, WhatIsNoStringIsRefused) {
  for (const char* text : {"\"abc", "\"a\nb\"", R"("\x41")", R"("\u12")", R"("\ud800")", R"("\ud800A")", R"("\ude00")",
                           "\"\xff\"", "\"\xed\xa0\x80\"", "\"\xc0\x80\"", "abc", "", "\"\\"})
    EXPECT_NE(refusal([&] { static_cast<void>(string_in(text)); }), "") << text;
}

TEST(JsonReaderTest, IntegersAreDigitsBelow2To64) {
  const auto number_in = [](std::string_view text) { return JsonReader(text, 0, "text").integer(); };
  EXPECT_EQ(number_in("0"), 0U);
  EXPECT_EQ(number_in("18446744073709551615"), 18446744073709551615U);
  for (const char* text : {"18446744073709551616", "-1", "-0", "01", "1.0", "1e3", "1.", "\"1\"", "true", "", "0x10"})
    EXPECT_NE(refusal([&] {
                JsonReader json(text, 0, "text");
                static_cast<void>(json.integer());
                json.finish();
              }),
              "")
        << text;
}

TEST(JsonReaderTest, AnyValueIsSkippedAsItStands) {
  for (const std::string_view value : {"null", "true", "false", "-1.5e+10", "0", "\"x]\"", "[]", "{}",
                                       R"([1,[2,{"a":[{}]}],"]"])", R"({"a":{"b":[null,1]},"c":""})"}) {
    const std::string text = "{\"k\": " + std::string(value) + " , \"l\": 7}";
    JsonReader json(text, 0, "text");
    json.enter_object();
    ASSERT_EQ(json.next_key(), "k");
    EXPECT_EQ(json.skip(), value);
    ASSERT_EQ(json.next_key(), "l");
    EXPECT_EQ(json.integer(), 7U);
    EXPECT_FALSE(json.next_key());
    json.finish();
  }
}

TEST(JsonReaderTest, WhatIsNoJsonIsRefused) {
  for (const char* text : {"",           "{",     "[",     "[1", "[1,", "[1,]", "[,1]",  "[1 2]", "{\"a\"}", "{\"a\":}",
                           "{\"a\":1,}", "{a:1}", "{1:1}", "]",  "}",   "[}",   "{]",    "nul",   "truex",   "+1",
                           ".5",         "1.",    "1e",    "-",  "NaN", "1 2",  "[] []", "'a'",   "[1]\0"})
    EXPECT_NE(fault_in(text), "") << text;
}

TEST(JsonReaderTest, AMessageHasTheByteOfTheFile) {
  const auto error = error_of([] { static_cast<void>(JsonReader("  xyz", 8, "the header").integer()); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->offset(), 10U);
  EXPECT_EQ(std::string(error->what()).find("the header is no JSON of its kind: 'xyz'"), 0U) << error->what();
}

TEST(JsonReaderTest, StringsAreWrittenAsTheyAreRead) {
  const std::string all("\0\1\x1f \"\\/\b\f\n\r\té😀\x7f", 20);
  std::string written;
  append_json_string(written, all);
  EXPECT_EQ(string_in(written), all);
  EXPECT_EQ(written, "\"\\u0000\\u0001\\u001f \\\"\\\\/\\b\\f\\n\\r\\té😀\x7f\"");
}

}  // namespace
}  // namespace ckpt
