#include "numpy/header.h"

#include <gtest/gtest.h>

#include "ckpt/limits.h"
#include "container/zip_builder.h"
#include "formats/numpy_files.h"
#include "io/checksum.h"
#include "io/io_testing.h"

namespace ckpt::numpy {
namespace {

using io_testing::error_of;
using numpy_testing::line;
using numpy_testing::npy;
using Shape = std::vector<std::int64_t>;

Header header_of(const std::string& file) { return read_header(*zip_testing::source_of(file)); }
Header of_line(const std::string& text) { return header_of(npy(text)); }

Error refusal(const std::string& file) {
  const auto error = error_of([&] { header_of(file); });
  EXPECT_TRUE(error) << "taken: " << file;
  return error.value_or(Error(ErrorCode::io, ""));
}

void expect_corrupt(const std::string& text, std::string_view says) {
  const Error error = refusal(npy(text));
  EXPECT_EQ(error.code(), ErrorCode::corrupt) << text;
  EXPECT_NE(std::string_view(error.what()).find(says), std::string_view::npos) << error.what();
}

TEST(NumpyHeader, SaysTypeOrderAndShape) {
  const Header header = of_line(line("<f4", "(3, 4)"));
  EXPECT_EQ(header.type.dtype, DType::float32);
  EXPECT_EQ(header.type.byte_order, ByteOrder::little);
  EXPECT_FALSE(header.fortran_order);
  EXPECT_EQ(header.shape, (Shape{3, 4}));
  EXPECT_EQ(header.data_bytes, 48U);
}

TEST(NumpyHeader, EndsWhereItsLengthSays) {
  const std::string file = npy(line("<f4", "(1,)"), "abcd");
  const Header header = header_of(file);
  EXPECT_EQ(header.size, file.size() - 4);
  EXPECT_EQ(header.crc32, crc32(0, as_bytes(file).first(file.size() - 4)));
}

TEST(NumpyHeader, IsReadInAllThreeVersions) {
  for (const int version : {1, 2, 3})
    EXPECT_EQ(header_of(npy(line("|u1", "(2,)"), "ab", version)).shape, Shape{2}) << version;
}

TEST(NumpyHeader, OfALaterVersionIsRefused) {
  for (const int version : {0, 4}) EXPECT_EQ(refusal(npy("", "", version)).code(), ErrorCode::unsupported);
  std::string minor = npy(line("|u1", "(2,)"));
  minor[7] = 1;
  EXPECT_NE(std::string(refusal(minor).what()).find("version 1.1"), std::string::npos);
}

TEST(NumpyHeader, KnowsEveryDTypeThatTorchHas) {
  const std::pair<std::string_view, DType> known[] = {
      {"b1", DType::boolean},   {"u1", DType::uint8},      {"u2", DType::uint16},  {"u4", DType::uint32},
      {"u8", DType::uint64},    {"i1", DType::int8},       {"i2", DType::int16},   {"i4", DType::int32},
      {"i8", DType::int64},     {"f2", DType::float16},    {"f4", DType::float32}, {"f8", DType::float64},
      {"c8", DType::complex64}, {"c16", DType::complex128}};
  for (const auto& [code, dtype] : known) {
    for (const std::string order : {"<", "=", "|", ""}) {
      const ArrayType type = parse_descr(order + std::string(code));
      EXPECT_EQ(type.dtype, dtype) << order << code;
      EXPECT_EQ(type.byte_order, ByteOrder::little) << order << code;
    }
    const ByteOrder big = dtype_size(dtype) == 1 ? ByteOrder::little : ByteOrder::big;
    EXPECT_EQ(parse_descr(">" + std::string(code)).byte_order, big) << code;
  }
}

TEST(NumpyHeader, NamesWhatNoTensorHolds) {
  const std::pair<std::string_view, std::string_view> foreign[] = {
      {"|O", "Python objects"}, {"<U5", "Unicode text"}, {"|S3", "byte strings"},  {"<M8[ns]", "dates"},
      {"<m8[s]", "spans"},      {"|V2", "bfloat16"},     {"<f16", "long doubles"}, {"<c32", "long doubles"}};
  for (const auto& [descr, says] : foreign) {
    const Error error = refusal(npy(line(descr, "(1,)")));
    EXPECT_EQ(error.code(), ErrorCode::unsupported) << descr;
    EXPECT_NE(std::string_view(error.what()).find(says), std::string_view::npos) << error.what();
    EXPECT_FALSE(error.hint().empty()) << descr;
  }
}

TEST(NumpyHeader, NamesStructuredArrays) {
  const Error error = refusal(npy("{'descr': [('x', '<f4'), ('y', '<i4')], 'fortran_order': False, 'shape': (2,), }"));
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_NE(std::string(error.what()).find("structured"), std::string::npos);
}

TEST(NumpyHeader, OfADTypeThatNumpyLacksIsCorrupt) {
  for (const std::string descr : {"", "<", "f3", "x4", "<<f4", "f4 ", "4f", "i16"})
    EXPECT_EQ(refusal(npy(line(descr, "(1,)"))).code(), ErrorCode::corrupt) << descr;
}

TEST(NumpyHeader, TakesShapesOfEveryRank) {
  EXPECT_EQ(of_line(line("<f8", "()")).data_bytes, 8U);
  EXPECT_EQ(of_line(line("<f8", "(0, 3)")).data_bytes, 0U);
  EXPECT_EQ(of_line(line("<f8", "( 2,3 ,4 , )")).shape, (Shape{2, 3, 4}));
  EXPECT_EQ(of_line(line("<f8", "(2L, 3L)")).shape, (Shape{2, 3})) << "as Python 2 wrote them";
}

TEST(NumpyHeader, TakesItsKeysInAnyOrderAndEitherQuote) {
  const Header header = of_line("{\"shape\":(5,),\n \"fortran_order\" : True,\"descr\": \"<i2\"}   \n");
  EXPECT_TRUE(header.fortran_order);
  EXPECT_EQ(header.shape, Shape{5});
}

TEST(NumpyHeader, IsNoPythonButTheOneForm) {
  expect_corrupt("", "header ends");
  expect_corrupt("None", "None");
  expect_corrupt("{}", "lacks a key");
  expect_corrupt("{'descr': '<f4', 'fortran_order': False}", "lacks a key");
  expect_corrupt("{'descr': '<f4', 'descr': '<f4'}", "twice");
  expect_corrupt("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", "the key 'x'");
  expect_corrupt("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", "True or False");
  expect_corrupt("{'descr': '<f4', 'fortran_order': False, 'shape': (1)}", "','");
  expect_corrupt("{'descr': '<f4', 'fortran_order': False, 'shape': 1}", "'('");
  expect_corrupt("{'descr': '<f4', 'fortran_order': False, 'shape': [1]}", "'('");
  expect_corrupt("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "0 or more");
  expect_corrupt("{'descr': '<f4', 'fortran_order': False, 'shape': (1e3,)}", "','");
  expect_corrupt("{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", "0 or more");
  expect_corrupt("{'descr': __import__('os').system('true')}", "a string");
  expect_corrupt("{'descr': '<f\\x34', 'fortran_order': False, 'shape': (1,)}", "without escapes");
  expect_corrupt("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} or 1", "its end");
  expect_corrupt("{'descr': '<f4", "a string of one line");
}

TEST(NumpyHeader, SaysAtWhichByteItGoesWrong) {
  const std::string text = "{'descr': '<f4', 'fortran_order': maybe, 'shape': (1,)}";
  EXPECT_EQ(refusal(npy(text)).offset(), 10 + text.find("maybe"));
}

TEST(NumpyHeader, BelievesNoProduct) {
  expect_corrupt(line("<f4", "(4611686018427387904, 4)"), "multiplies past");
  expect_corrupt(line("<f4", "(0, 4611686018427387904, 4)"), "multiplies past");
  expect_corrupt(line("<f4", "(99999999999999999999,)"), "below 2^63");
}

TEST(NumpyHeader, OfMoreDimensionsThanATensorHasIsRefused) {
  const auto ones = [](std::size_t count) {
    std::string shape = "(";
    for (std::size_t i = 0; i < count; ++i) shape += "1, ";
    return line("|u1", shape + ")");
  };
  EXPECT_EQ(of_line(ones(limits::tensor_dimensions)).shape.size(), limits::tensor_dimensions);
  EXPECT_EQ(refusal(npy(ones(limits::tensor_dimensions + 1))).code(), ErrorCode::limit_exceeded);
}

TEST(NumpyHeader, ThatIsCutIsTruncated) {
  const std::string whole = npy(line("<f4", "(1,)"));
  for (std::size_t size = 6; size < whole.size(); ++size)
    EXPECT_EQ(refusal(whole.substr(0, size)).code(), ErrorCode::truncated) << size;
}

TEST(NumpyHeader, IsWrittenAsNumpyWritesIt) {
  const std::string header = make_header(DType::float32, false, {3, 4});
  EXPECT_EQ(header.size(), 128U);
  EXPECT_EQ(header.substr(10, 60), "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } ");
  EXPECT_EQ(header.back(), '\n');
  EXPECT_NE(make_header(DType::boolean, false, {}).find("'|b1', 'fortran_order': False, 'shape': ()"),
            std::string::npos);
  EXPECT_NE(make_header(DType::uint8, false, {7}).find("'shape': (7,)"), std::string::npos);
}

TEST(NumpyHeader, IsReadAsItWasWritten) {
  for (const bool fortran : {false, true}) {
    const Header header = header_of(make_header(DType::complex128, fortran, {2, 0, 5}));
    EXPECT_EQ(header.type.dtype, DType::complex128);
    EXPECT_EQ(header.fortran_order, fortran);
    EXPECT_EQ(header.shape, (Shape{2, 0, 5}));
    EXPECT_EQ(header.size % 64, 0U);
  }
}

TEST(NumpyHeader, HasNoShapeThatNumpyHasNot) {
  EXPECT_EQ(array_bytes(4, {2, 3}), 24U);
  EXPECT_EQ(array_bytes(4, {0, 1L << 40}), 0U);
  EXPECT_EQ(array_bytes(4, {0, 1L << 40, 1L << 40}), std::nullopt);
}

TEST(NumpyHeader, GivesStridesOfBothOrders) {
  Header header;
  header.shape = {2, 3, 4};
  EXPECT_EQ(strides_of(header), (Shape{12, 4, 1}));
  header.fortran_order = true;
  EXPECT_EQ(strides_of(header), (Shape{1, 2, 6}));
}

}  // namespace
}  // namespace ckpt::numpy
