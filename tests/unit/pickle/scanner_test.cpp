#include "pickle/scanner.h"

#include "ckpt/limits.h"
#include "io/bytes.h"
#include "pickle/pickle_testing.h"

namespace ckpt::pickle {
namespace {

using namespace pickle_testing;

class Scanned {
 public:
  explicit Scanned(std::string_view code, std::uint64_t offset = 0)
      : source_(memory_source({as_bytes(code).begin(), as_bytes(code).end()}, "test.pkl")),
        scanner_(*source_, offset) {}
  Op next() { return scanner_.next(); }
  [[nodiscard]] std::uint64_t offset() const { return scanner_.offset(); }

 private:
  ByteSourcePtr source_;
  Scanner scanner_;
};

ErrorCode refusal(std::string_view code) {
  try {
    Scanned(code).next();
  } catch (const Error& error) {
    EXPECT_TRUE(error.offset().has_value()) << error.what();
    EXPECT_EQ(error.file(), "test.pkl");
    return error.code();
  }
  ADD_FAILURE() << "was taken";
  return ErrorCode::io;
}

TEST(PickleScanner, OperandsHaveTheirSizesAndSigns) {
  EXPECT_EQ(Scanned(b("K\xff")).next().integer, 255);
  EXPECT_EQ(Scanned(b("M\xfe\xff")).next().integer, 65534);
  EXPECT_EQ(Scanned(b("J\xff\xff\xff\xff")).next().integer, -1);
  EXPECT_EQ(Scanned(b("r\xff\xff\xff\xff")).next().integer, 4294967295);
  EXPECT_EQ(Scanned(b("\x84\xfe\xff\xff\xff")).next().integer, -2);
  EXPECT_EQ(Scanned(b("\x95\x01\0\0\0\0\0\0\0")).next().integer, 1);
  EXPECT_EQ(Scanned(b("G\xbf\xf8\0\0\0\0\0\0")).next().real, -1.5);
}

TEST(PickleScanner, StringsAreCountedInOneFourAndEightBytes) {
  EXPECT_EQ(Scanned(b("C\x02"
                      "ab"))
                .next()
                .text,
            "ab");
  EXPECT_EQ(Scanned(b("X\x02\0\0\0"
                      "ab"))
                .next()
                .text,
            "ab");
  EXPECT_EQ(Scanned(b("\x8d\x02\0\0\0\0\0\0\0"
                      "ab"))
                .next()
                .text,
            "ab");
  EXPECT_EQ(Scanned(b("T\x02\0\0\0"
                      "ab"))
                .next()
                .text,
            "ab");
  EXPECT_EQ(Scanned(b("U\0")).next().text, "");
}

TEST(PickleScanner, LinesEndAtTheNewlineWhichIsLeftOut) {
  EXPECT_EQ(Scanned(b("I42\n")).next().text, "42");
  EXPECT_EQ(Scanned(b("V\n")).next().text, "");
  Scanned global(b("ccollections\nOrderedDict\n."));
  const Op op = global.next();
  EXPECT_EQ(op.text, "collections");
  EXPECT_EQ(op.text2, "OrderedDict");
  EXPECT_EQ(global.next().code, STOP);
}

TEST(PickleScanner, OffsetsAreThoseOfTheSource) {
  Scanned scanned(b("xxK\x01.after"), 2);
  EXPECT_EQ(scanned.next().offset, 2u);
  EXPECT_EQ(scanned.next().offset, 4u);
  EXPECT_EQ(scanned.offset(), 5u);
}

TEST(PickleScanner, EveryOtherByteIsNoOpcode) {
  for (int code = 0; code < 256; ++code) {
    if (!opcode_table[static_cast<std::size_t>(code)].name.empty()) continue;
    EXPECT_EQ(refusal(std::string(1, static_cast<char>(code)) + std::string(16, '\0')), ErrorCode::corrupt) << code;
  }
}

TEST(PickleScanner, EveryOpcodeIsTruncatedWhereItsOperandIs) {
  for (const OpcodeInfo& info : opcode_list) {
    if (info.operand == Operand::none) continue;
    EXPECT_EQ(refusal(std::string(1, static_cast<char>(info.code))), ErrorCode::truncated) << info.name;
  }
  EXPECT_EQ(refusal(""), ErrorCode::truncated);
  EXPECT_EQ(refusal(b("cmodule\nname")), ErrorCode::truncated);
  EXPECT_EQ(refusal(b("G\0\0\0\0\0\0\0")), ErrorCode::truncated);
}

TEST(PickleScanner, ALengthThatTheFileMerelyClaimsAllocatesNothing) {
  EXPECT_EQ(refusal(b("X\xff\xff\xff\xff"
                      "ab")),
            ErrorCode::truncated);
  EXPECT_EQ(refusal(b("\x8e\xff\xff\xff\xff\xff\xff\xff\x7f"
                      "ab")),
            ErrorCode::truncated);
  EXPECT_EQ(refusal(b("\x96\xff\xff\xff\xff\xff\xff\xff\xff"
                      "ab")),
            ErrorCode::truncated);
}

TEST(PickleScanner, NegativeLengthsAreCorrupt) {
  EXPECT_EQ(refusal(b("T\xff\xff\xff\xff")), ErrorCode::corrupt);
  EXPECT_EQ(refusal(b("\x8b\xff\xff\xff\xff")), ErrorCode::corrupt);
}

}  // namespace
}  // namespace ckpt::pickle
