#include <gtest/gtest.h>

#include "formats/torch_files.h"
#include "model/python_str.h"

namespace ckpt {
namespace {

std::string shown(const py::Code& code) {
  const auto checkpoint = torch_testing::checkpoint_of(code);
  return python_str(checkpoint.values, checkpoint.root);
}

std::string in_tuple(const py::Code& code) { return shown(py::tuple({code})); }

TEST(PythonStr, OfAStringIsTheString) {
  EXPECT_EQ(shown(py::str("it's\n")), "it's\n");
  EXPECT_EQ(shown(py::py2_str("a")), "a");
}

TEST(PythonStr, OfPlainValuesIsTheirLiteral) {
  EXPECT_EQ(shown(py::none()), "None");
  EXPECT_EQ(shown(py::boolean(false)), "False");
  EXPECT_EQ(shown(py::integer(INT64_MIN)), "-9223372036854775808");
}

TEST(PythonStr, OfAnIntegerOfAnySizeIsItsDigits) {
  const auto shown_long = [](const std::string& digits) { return shown("L" + digits + "L\n"); };
  for (const std::string digits : {"9223372036854775808", "-9223372036854775809", "1180591620717411303424"})
    EXPECT_EQ(shown_long(digits), digits);
}

TEST(PythonStr, OfAFloatIsTheShortestThatReadsBack) {
  EXPECT_EQ(shown(py::real(1)), "1.0");
  EXPECT_EQ(shown(py::real(0.1)), "0.1");
  EXPECT_EQ(shown(py::real(-0.0)), "-0.0");
  EXPECT_EQ(shown(py::real(1e-4)), "0.0001");
  EXPECT_EQ(shown(py::real(1e-5)), "1e-05");
  EXPECT_EQ(shown(py::real(1.5e300)), "1.5e+300");
  EXPECT_EQ(shown(py::real(1e16)), "1e+16");
  EXPECT_EQ(shown(py::real(9007199254740992)), "9007199254740992.0");
  EXPECT_EQ(shown(py::real(-1.0 / 0.0)), "-inf");
  EXPECT_EQ(shown(py::real(0.0 / 0.0)), "nan");
}

TEST(PythonStr, OfALongTextInATupleIsItsBeginning) {
  const std::string text(1'000'000, 'a');
  EXPECT_EQ(in_tuple(py::str(text)).size(), 4099U);
  EXPECT_EQ(in_tuple(py::bytes(text)).size(), 4100U);
  EXPECT_EQ(shown(py::str(text)), text);
}

TEST(PythonStr, OfATupleIsThatOfItsItemsQuoted) {
  EXPECT_EQ(shown(py::tuple({})), "()");
  EXPECT_EQ(in_tuple(py::integer(1)), "(1,)");
  EXPECT_EQ(shown(py::tuple({py::str("a"), py::tuple({py::integer(1), py::tuple({})})})), "('a', (1, ()))");
}

TEST(PythonStr, QuotesAsPythonDoes) {
  EXPECT_EQ(in_tuple(py::str("it's")), "(\"it's\",)");
  EXPECT_EQ(in_tuple(py::str("it's \"so\"")), "('it\\'s \"so\"',)");
  EXPECT_EQ(in_tuple(py::str("\\\n\t\r\x01\x7f")), "('\\\\\\n\\t\\r\\x01\\x7f',)");
  EXPECT_EQ(in_tuple(py::str("é")), "('é',)");
}

TEST(PythonStr, OfBytesThatACallMakesIsThatOfBytes) {
  const auto encoded = [](const std::string& utf8) {
    return py::call(py::global("_codecs", "encode"), {py::str(utf8), py::str("latin1")});
  };
  EXPECT_EQ(shown(encoded("a\xc3\xbf'")), "b\"a\\xff'\"");
  EXPECT_EQ(shown(encoded("\xc4\x80")), "<object>") << "no byte is U+0100";
  EXPECT_EQ(shown(py::call(py::global("__builtin__", "bytes"), {})), "b''");
  std::string text = "a";
  for (int i = 0; i < 4096; ++i) text += "\xc3\xbf";
  EXPECT_EQ(in_tuple(encoded(text)).substr(0, 9), "(b'a\\xff\\") << "cut within a character";
}

TEST(PythonStr, OfLongBytesIsTheirBeginning) {
  EXPECT_EQ(shown(py::bytes(std::string(5000, 'x'))), "b'" + std::string(4096, 'x') + "'");
}

TEST(PythonStr, OfBytesIsAsciiOnly) { EXPECT_EQ(shown(py::bytes("a\xff'")), "b\"a\\xff'\""); }

TEST(PythonStr, OfANameIsTheName) { EXPECT_EQ(shown(py::global("torch", "float32")), "torch.float32"); }

/// Of whatever protocol: what is the same key to Python has the same name.
TEST(PythonStr, OfANameThatPython2HadIsPython3s) {
  EXPECT_EQ(shown(py::global("__builtin__", "dict")), "builtins.dict");
  EXPECT_EQ(shown(py::global("__builtin__", "long")), "builtins.int");
}

TEST(PythonStr, OfAClassWithItsSourceIsTheNameOfTheClass) {
  EXPECT_EQ(shown(py::persistent(py::tuple(
                {py::str("module"), py::global("zoo", "Net"), py::str("zoo.py"), py::str("class Net: pass")}))),
            "zoo.Net");
}

TEST(PythonStr, OfWhatOnlyCodeCouldPrintIsAPlaceholder) {
  EXPECT_EQ(shown(py::call(py::global("zoo", "Net"), {})), "<object>");
}

TEST(PythonStr, OfATupleSharedExponentiallyIsCut) {
  py::Code code = py::put(py::tuple({py::integer(1)}), 0);
  for (std::uint8_t i = 1; i < 60; ++i) code += "0" + py::put(py::tuple({py::get(i - 1), py::get(i - 1)}), i);
  EXPECT_LT(shown(code).size(), 5000U);
}

}  // namespace
}  // namespace ckpt
