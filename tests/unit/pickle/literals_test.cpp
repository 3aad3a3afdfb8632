#include "pickle/literals.h"

#include <cmath>
#include <limits>

#include "model/python_str.h"
#include "pickle/pickle_testing.h"

namespace ckpt::pickle {
namespace {

using namespace pickle_testing;

TEST(PickleLiterals, StringsUnescapeAsPython2WritesThem) {
  EXPECT_EQ(unescape_string(R"(a\'b\"c\\d\n\t\r\a\b\f\v)"), "a'b\"c\\d\n\t\r\a\b\f\v");
  EXPECT_EQ(unescape_string(R"(\x41\xfF)"), "A\xff");
  EXPECT_EQ(unescape_string(R"(\0\101\7x\1234)"), b("\0A\7xS4"));
  EXPECT_EQ(unescape_string(R"(\q\ )"), "\\q\\ ");
}

TEST(PickleLiterals, BrokenStringEscapesAreRefused) {
  for (const char* const broken : {"\\", "\\x", "\\x1", "\\xg1", "a\\x 1"})
    EXPECT_FALSE(unescape_string(broken)) << broken;
}

TEST(PickleLiterals, QuotedStringsAreThoseOfPython2sRepr) {
  EXPECT_EQ(quote_string("abc"), "'abc'");
  EXPECT_EQ(quote_string("it's"), "\"it's\"");
  EXPECT_EQ(quote_string("'\""), "'\\'\"'");
  EXPECT_EQ(quote_string(b("\t\n\r\0\x7f\xff\\")), R"('\t\n\r\x00\x7f\xff\\')");
}

TEST(PickleLiterals, QuotingIsUndoneByUnescaping) {
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  const std::string quoted = quote_string(all);
  EXPECT_EQ(unescape_string(quoted.substr(1, quoted.size() - 2)), all);
}

TEST(PickleLiterals, UnicodeEscapesAreRawOnes) {
  EXPECT_EQ(unescape_unicode(R"(\u20ac \U0001f600 \n)"), "\u20ac \U0001f600 \\n");
  EXPECT_EQ(unescape_unicode("\xff"), "\u00ff");
  EXPECT_EQ(unescape_unicode(R"(\\u0041)"), R"(\\u0041)");
  EXPECT_EQ(unescape_unicode(R"(\\\u0041)"), R"(\\A)");
  EXPECT_EQ(unescape_unicode(R"(\ud800)"), "\xed\xa0\x80");
}

TEST(PickleLiterals, BrokenUnicodeEscapesAreRefused) {
  for (const char* const broken :
       {R"(\u12)", R"(\u12g4)", R"(\U0001f60)", R"(\U00110000)", R"(\u)", R"(\u-123)", R"(\u0x12)"})
    EXPECT_FALSE(unescape_unicode(broken)) << broken;
}

TEST(PickleLiterals, EscapedUnicodeIsCPythons) {
  EXPECT_EQ(escape_unicode(b("a\\\0\n\r\x1a")), R"(a\u005c\u0000\u000a\u000d\u001a)");
  EXPECT_EQ(escape_unicode("\u00ff\u20ac\U0001f600"), "\xff\\u20ac\\U0001f600");
}

TEST(PickleLiterals, IntegersAreMinimalTwosComplement) {
  EXPECT_EQ(integer_bytes(0), "");
  EXPECT_EQ(integer_bytes(127), "\x7f");
  EXPECT_EQ(integer_bytes(128), b("\x80\0"));
  EXPECT_EQ(integer_bytes(-128), "\x80");
  EXPECT_EQ(integer_bytes(-129), "\x7f\xff");
  EXPECT_EQ(integer_bytes(std::numeric_limits<std::int64_t>::min()), b("\0\0\0\0\0\0\0\x80"));
}

TEST(PickleLiterals, SmallIntegersAreReadWithAnyPadding) {
  EXPECT_EQ(small_integer(""), 0);
  EXPECT_EQ(small_integer(b("\xff\0\0\0\0\0\0\0\0\0\0")), 255);
  EXPECT_EQ(small_integer(repeated("\xff", 12)), -1);
  EXPECT_EQ(small_integer(b("\0\0\0\0\0\0\0\x80\xff")), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(small_integer(b("\0\0\0\0\0\0\0\x80\0")), std::nullopt);
}

TEST(PickleLiterals, DecimalsGoBothWays) {
  for (const char* const digits : {"0", "1", "-1", "255", "256", "-256", "9223372036854775808", "-9223372036854775809",
                                   "123456789012345678901234567890", "-340282366920938463463374607431768211456"})
    EXPECT_EQ(bytes_to_decimal(*decimal_to_bytes(digits)), digits);
  for (const char* const none : {"", "-", "+", "1 ", "0x1", "1-", "--1", "1.0"})
    EXPECT_FALSE(decimal_to_bytes(none)) << none;
}

TEST(PickleLiterals, DecimalsOfEverySizeGoBothWays) {
  for (std::size_t size = 1; size <= 100; ++size) {
    const std::string ones(size, '1'), ten = "1" + std::string(size - 1, '0'), nines(size, '9');
    for (const std::string& digits : {ones, ten, nines, "-" + ones, "-" + ten, "-" + nines})
      EXPECT_EQ(bytes_to_decimal(*decimal_to_bytes(digits)), digits);
  }
  EXPECT_EQ(*decimal_to_bytes("4294967296"), std::string("\0\0\0\0\1\0", 6));
  EXPECT_EQ(*decimal_to_bytes("18446744073709551615"), repeated("\xff", 8) + std::string(1, '\0'));
}

TEST(PickleLiterals, DecimalsPastTheCapAreRefusedByName) {
  EXPECT_THROW(decimal_to_bytes(std::string(100'000, '9')), Error);
  EXPECT_THROW(bytes_to_decimal(std::string(100'000, '\x11')), Error);
}

TEST(PickleLiterals, OctalIntegersAreStrtols) {
  EXPECT_EQ(octal_integer("010"), 8);
  EXPECT_EQ(octal_integer("-017"), -15);
  EXPECT_EQ(octal_integer("08"), std::nullopt);
  EXPECT_EQ(octal_integer("0x1"), std::nullopt);
}

TEST(PickleLiterals, FloatsAreSpeltAsRepr) {
  EXPECT_EQ(float_repr(1), "1.0");
  EXPECT_EQ(float_repr(100000), "100000.0");
  EXPECT_EQ(float_repr(0.1), "0.1");
  EXPECT_EQ(float_repr(-0.0), "-0.0");
  EXPECT_EQ(float_repr(1e16), "1e+16");
  EXPECT_EQ(float_repr(123456789012345680.0), "1.2345678901234568e+17");
  EXPECT_EQ(float_repr(9007199254740993.0), "9007199254740992.0");
  EXPECT_EQ(float_repr(0.0001), "0.0001");
  EXPECT_EQ(float_repr(0.00001), "1e-05");
  EXPECT_EQ(float_repr(5e-324), "5e-324");
  EXPECT_EQ(float_repr(HUGE_VAL), "inf");
  EXPECT_EQ(float_repr(-HUGE_VAL), "-inf");
  EXPECT_EQ(float_repr(std::nan("")), "nan");
}

}  // namespace
}  // namespace ckpt::pickle
