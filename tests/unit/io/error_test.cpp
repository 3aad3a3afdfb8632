#include "ckpt/error.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "io/printable.h"
#include "io_testing.h"

namespace ckpt {
namespace {

TEST(ErrorTest, MessageHoldsFileFoundExpectedAndByte) {
  const Error error = Error(ErrorCode::corrupt, "member 'data/0' has CRC 1c2d").expected("3f40").at(1024).in("m.pt");
  EXPECT_STREQ(error.what(), "m.pt: member 'data/0' has CRC 1c2d, expected 3f40 (at byte 1024)");
}

TEST(ErrorTest, MessageLeavesOutWhatIsNotSet) {
  EXPECT_STREQ(Error(ErrorCode::io, "cannot read").what(), "cannot read");
  EXPECT_STREQ(Error(ErrorCode::io, "cannot read").in("a").what(), "a: cannot read");
  EXPECT_STREQ(Error(ErrorCode::io, "is a folder").expected("a file").what(), "is a folder, expected a file");
}

TEST(ErrorTest, FirstFileAndOffsetStay) {
  const Error error = Error(ErrorCode::corrupt, "x").at(1).at(2).in("inner").in("outer");
  EXPECT_EQ(error.file(), "inner");
  EXPECT_EQ(error.offset(), 1u);
}

TEST(ErrorTest, WithinNamesThePartBeforeWhatWasFound) {
  EXPECT_STREQ(Error(ErrorCode::corrupt, "is cut off").within("gzip member 2").in("f").what(),
               "f: gzip member 2: is cut off");
}

TEST(ErrorTest, ControlCharactersAreEscapedInTheMessageAndKeptInTheFile) {
  const Error error = Error(ErrorCode::io, "a\nb").in("\x1b[31mred\r");
  EXPECT_STREQ(error.what(), "\\x1b[31mred\\x0d: a\\x0ab");
  EXPECT_EQ(error.file(), "\x1b[31mred\r");
}

TEST(ErrorTest, IsAnInputErrorUntilToldOtherwise) {
  EXPECT_FALSE(Error(ErrorCode::io, "x").is_output());
  EXPECT_TRUE(Error(ErrorCode::io, "x").on_output().is_output());
}

TEST(ErrorTest, SystemErrorsCarryTheSystemsWords) {
  const auto error = io_testing::error_of([] { throw_system_error("cannot open", "gone.pt", ENOENT); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::io);
  EXPECT_STREQ(error->what(), "gone.pt: cannot open: No such file or directory");
}

TEST(PrintableTest, ValidUtf8Stays) { EXPECT_EQ(printable("größe 重み 😀.pt"), "größe 重み 😀.pt"); }

TEST(PrintableTest, C1ControlsInUtf8AreEscaped) {
  EXPECT_EQ(printable("a\xc2\x9b"
                      "31m"),
            "a\\xc2\\x9b31m");
}

TEST(PrintableTest, BytesThatAreNoUtf8AreEscaped) {
  EXPECT_EQ(printable("\x9b"), "\\x9b");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // surrogate
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");           // cut off
}

TEST(ErrorTest, DetailsStandBesideTheMessage) {
  const Error error = Error(ErrorCode::unsupported, "found").detail("first").detail("second");
  EXPECT_STREQ(error.what(), "found");
  EXPECT_EQ(error.details(), (std::vector<std::string>{"first", "second"}));
}

TEST(ErrorTest, ShellWordIsOneWord) {
  EXPECT_EQ(shell_word("a/b-c.pt"), "a/b-c.pt");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("a\nb'\\\xff"), "$'a\\x0ab\\'\\\\\\xff'");
  EXPECT_EQ(shell_word("a\u200bb"), "$'a\\xe2\\x80\\x8bb'");
  EXPECT_EQ(shell_word("\u202e.pt"), "$'\\xe2\\x80\\xae.pt'");
  EXPECT_EQ(shell_word("\xc2\x85"), "$'\\xc2\\x85'");
  EXPECT_EQ(shell_word("gr\u00f6\u00dfe"), "'gr\u00f6\u00dfe'");
  EXPECT_EQ(shell_word("-x"), "./-x");
  EXPECT_EQ(shell_value("-x"), "-x");
  EXPECT_EQ(shell_value("standard input"), "'standard input'");
  EXPECT_EQ(shell_word(""), "FILE");
}

}  // namespace
}  // namespace ckpt
