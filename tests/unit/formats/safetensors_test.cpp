#include "safetensors/safetensors.h"

#include <gtest/gtest.h>

#include "ckpt/assemble.h"
#include "ckpt/ops.h"
#include "formats/safetensors_files.h"
#include "formats/torch_files.h"

namespace ckpt {
namespace {

using io_testing::Bytes;
using io_testing::error_of;
using io_testing::gzipped;
using io_testing::has;
using safetensors_testing::entry;
using safetensors_testing::file;
using safetensors_testing::shuffled;
using torch_testing::floats;
using torch_testing::names;
using torch_testing::read_bytes;
using torch_testing::refusal;
using torch_testing::source_of;
using torch_testing::values;
using torch_testing::written_as;
using Shape = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

const std::string four(as_text(floats({0, 1, 2, 3})));

Bytes raw(const std::string& text) { return io_testing::bytes_of(text); }
/// A file of one tensor "w" and of this header entry.
Bytes one(const std::string& said, const std::string& data) { return raw(file("{\"w\":" + said + "}", data)); }

std::string fault(const Bytes& bytes, ErrorCode code = ErrorCode::corrupt) {
  const auto error = refusal(bytes);
  if (!error) return "";
  EXPECT_EQ(error->code(), code) << error->what();
  return error->what();
}

std::string findings(const Bytes& bytes) {
  std::string out;
  for (const Finding& finding : verify(source_of(bytes)))
    if (finding.fault) out += finding.what + "\n";
  return out;
}

TEST(Safetensors, IsADictOfTensorsInTheOrderOfTheirBytes) {
  const Checkpoint read = read_bytes(
      raw(file("{\"b\":" + entry("F32", "[2]", 8, 16) + ",\"a\":" + entry("F32", "[1,2]", 0, 8) + "}", four)));
  EXPECT_EQ(read.format, "safetensors");
  EXPECT_FALSE(read.pickled);
  EXPECT_EQ(names(read), (Names{"a", "b"}));
  EXPECT_EQ(read.tensors[0].info.shape, (Shape{1, 2}));
  EXPECT_EQ(values(read, 1), (std::vector<float>{2, 3}));
}

TEST(Safetensors, EveryDTypeIsTorchs) {
  struct Row {
    const char* name;
    DType dtype;
    std::size_t size;
  };
  for (const Row& row : std::initializer_list<Row>{{"BOOL", DType::boolean, 1},
                                                   {"U8", DType::uint8, 1},
                                                   {"I8", DType::int8, 1},
                                                   {"F8_E5M2", DType::float8_e5m2, 1},
                                                   {"F8_E4M3", DType::float8_e4m3fn, 1},
                                                   {"F8_E8M0", DType::float8_e8m0fnu, 1},
                                                   {"F8_E4M3FNUZ", DType::float8_e4m3fnuz, 1},
                                                   {"F8_E5M2FNUZ", DType::float8_e5m2fnuz, 1},
                                                   {"I16", DType::int16, 2},
                                                   {"U16", DType::uint16, 2},
                                                   {"F16", DType::float16, 2},
                                                   {"BF16", DType::bfloat16, 2},
                                                   {"I32", DType::int32, 4},
                                                   {"U32", DType::uint32, 4},
                                                   {"F32", DType::float32, 4},
                                                   {"C64", DType::complex64, 8},
                                                   {"F64", DType::float64, 8},
                                                   {"I64", DType::int64, 8},
                                                   {"U64", DType::uint64, 8}}) {
    const Bytes bytes = one(entry(row.name, "[2]", 0, 2 * row.size), std::string(2 * row.size, '\1'));
    const Checkpoint read = read_bytes(bytes);
    EXPECT_EQ(read.tensors.front().info.dtype, row.dtype) << row.name;
    EXPECT_EQ(digest(read_bytes(written_as(read, "safetensors"))).total, digest(read).total) << row.name;
  }
}

TEST(Safetensors, F4IsPackedByTwoInTheLastDimension) {
  const Bytes bytes = one(entry("F4", "[2,4]", 0, 4), "abcd");
  const Checkpoint read = read_bytes(bytes);
  EXPECT_EQ(read.tensors.front().info.dtype, DType::float4_e2m1fn_x2);
  EXPECT_EQ(read.tensors.front().info.shape, (Shape{2, 2}));
  const Bytes again = written_as(read, "safetensors");
  EXPECT_TRUE(has(std::string(as_text(again)), R"("w":{"dtype":"F4","shape":[2,4],"data_offsets":[0,4]})"));
  EXPECT_TRUE(has(fault(one(entry("F4", "[3]", 0, 1), "a")), "its elements take 12 bits"));
  EXPECT_TRUE(has(fault(one(entry("F4", "[2,3]", 0, 3), "abc"), ErrorCode::unsupported), "odd number of F4"));
}

TEST(Safetensors, DTypesThatTorchHasNotAreRefusedByName) {
  for (const char* name : {"F6_E2M3", "F6_E3M2"}) {
    const std::string said = fault(one(entry(name, "[4]", 0, 3), "abc"), ErrorCode::unsupported);
    EXPECT_TRUE(has(said, "tensor 'w': dtype " + std::string(name) + ", which torch has not")) << said;
  }
  EXPECT_TRUE(has(fault(one(entry("F7", "[4]", 0, 4), "abcd")), "dtype 'F7'"));
}

TEST(Safetensors, EmptyAndScalarTensorsAreTensors) {
  const Checkpoint read = read_bytes(raw(
      file("{\"s\":" + entry("F32", "[]", 0, 4) + ",\"e\":" + entry("F32", "[0,3]", 4, 4) + "}", four.substr(4, 4))));
  EXPECT_EQ(names(read), (Names{"s", "e"}));
  EXPECT_EQ(values(read, 0), std::vector<float>{1});
  EXPECT_EQ(read.tensors[1].info.shape, (Shape{0, 3}));
  EXPECT_EQ(digest(read_bytes(written_as(read, "safetensors"))).total, digest(read).total);
  EXPECT_TRUE(read_bytes(raw(file("{}"))).tensors.empty());
}

// Names come in another order than bytes, and going back in gzip for each would inflate megabytes.
TEST(Safetensors, WhatIsInflatedIsReadInTheOrderOfTheFile) {
  constexpr std::size_t count = 300, size = 40'000;
  const auto source = std::make_shared<io_testing::CountingSource>(gzipped(raw(shuffled(count, size, 37))));
  const Checkpoint written = read_bytes(written_as(read(source), "safetensors"));
  EXPECT_LT(source->read, 3 * source->size());
  const Names found = names(written);
  ASSERT_EQ(found.size(), count);
  for (std::size_t name = 0; name < count; ++name) {
    EXPECT_EQ(found[name], std::to_string(1000 + name));
    Bytes bytes(size);
    written.storages[name].bytes->read_exactly(0, bytes);
    ASSERT_EQ(bytes, io_testing::random_bytes(size, static_cast<std::uint32_t>(name))) << name;
  }
}

TEST(Safetensors, MetadataIsKeptAndWrittenAgain) {
  const std::string header = R"({"__metadata__":{"format":"pt","z é":"\"\n"},"w":)" + entry("F32", "[4]", 0, 16) + "}";
  const Bytes bytes = raw(file(header + std::string(8 - header.size() % 8, ' '), four));
  const Checkpoint read = read_bytes(bytes);
  EXPECT_EQ(read.metadata, (std::vector<std::pair<std::string, std::string>>{{"format", "pt"}, {"z é", "\"\n"}}));
  EXPECT_EQ(written_as(read, "safetensors"), bytes);
}

TEST(Safetensors, MetadataThatAFormatDoesNotKeepIsToldOf) {
  const Checkpoint read = read_bytes(
      raw(file(R"({"__metadata__":{"format":"pt","step":"7"},"w":)" + entry("F32", "[4]", 0, 16) + "}", four)));
  const io_testing::TemporaryFolder folder;
  EXPECT_EQ(save(read, folder / "out.pt").left_out, Names{"1 entry of metadata is left out"});
  EXPECT_TRUE(save(read, folder / "out.safetensors").left_out.empty());
}

TEST(Safetensors, UnknownKeysArePassedOverAndNullMetadataIsNone) {
  const Checkpoint read = read_bytes(raw(file(
      R"({"__metadata__":null,"w":{"x":[{"a":1}],"data_offsets":[0,16],"shape":[4],"dtype":"F32","y":null}} )", four)));
  EXPECT_EQ(names(read), Names{"w"});
  EXPECT_TRUE(read.metadata.empty());
}

TEST(Safetensors, WhatAHeaderMayNotSayIsRefused) {
  const std::string good = entry("F32", "[4]", 0, 16);
  for (const auto& [header, said] : std::initializer_list<std::pair<std::string, std::string>>{
           {"{\"w\":" + good + ",\"w\":" + good + "}", "tensor 'w' comes twice"},
           {"{\"__metadata__\":{},\"__metadata__\":{}}", "'__metadata__' comes twice"},
           {"{\"__metadata__\":{\"a\":\"b\",\"a\":\"c\"}}", "'a' comes twice in __metadata__"},
           {"{\"__metadata__\":{\"a\":1}}", "expected a string"},
           {"{\"__metadata__\":[]}", "expected '{'"},
           {"{\"w\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", "'dtype' comes twice"},
           {"{\"w\":{\"dtype\":\"F32\",\"shape\":[4]}}", "no 'data_offsets'"},
           {"{\"w\":{\"dtype\":\"F32\",\"data_offsets\":[0,16]}}", "no 'shape'"},
           {"{\"w\":{\"shape\":[4],\"data_offsets\":[0,16]}}", "no 'dtype'"},
           {"{\"w\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0]}}", "a begin and an end"},
           {"{\"w\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16,17]}}", "after a begin and an end"},
           {"{\"w\":" + entry("F32", "[4.0]", 0, 16) + "}", "a whole number"},
           {"{\"w\":" + entry("F32", "[-4]", 0, 16) + "}", "a whole number"},
           {"{\"w\":" + entry("F32", "[4]", 16, 0) + "}", "it ends at 0 and begins at 16"},
           {"{\"w\":" + entry("F32", "[3]", 0, 16) + "}", "it has 16 bytes, expected 12, as its shape and dtype say"},
           {"{\"w\":" + entry("F32", "[4294967296,4294967296,4]", 0, 16) + "}", "overflows 64 bits"},
           {"{\"w\":" + entry("F32", "[4294967296,4294967296,0]", 0, 0) + "}", "overflows 64 bits"},
           {"{\"w\":" + good + "}x", "expected its end"},
           {"{\"w\":" + good, "',' or '}'"},
           {"{\"w\":[\"F32\",[4],[0,16]]}", "expected '{'"},
           {"{\"\xff\":" + good + "}", "expected UTF-8"},
       })
    EXPECT_TRUE(has(fault(raw(file(header, four))), said)) << header << ": " << fault(raw(file(header, four)));
  EXPECT_TRUE(has(fault(raw(file("{\"w\":" + good + "}" + std::string(1, '\0'), four))), "expected its end"));
}

TEST(Safetensors, HolesAndOverlapsAreRefused) {
  const auto two = [](std::uint64_t begin, std::uint64_t end) {
    return raw(file("{\"a\":" + entry("U8", "[8]", 0, 8) + ",\"b\":" + entry("U8", "[4]", begin, end) + "}",
                    std::string(end, 'x')));
  };
  EXPECT_EQ(fault(two(8, 12)), "");
  EXPECT_TRUE(has(fault(two(9, 13)), "tensor 'b': bytes 8 to 9 before it belong to no tensor"));
  EXPECT_TRUE(has(fault(two(6, 10)), "tensor 'b': it begins at 6, within what lies before it"));
  EXPECT_TRUE(has(fault(one(entry("U8", "[4]", 4, 8), "abcdefgh")), "bytes 0 to 4 before it belong to no tensor"));
}

TEST(Safetensors, TheFileEndsWhereItsTensorsDo) {
  const std::string good = entry("F32", "[4]", 0, 16);
  EXPECT_TRUE(has(fault(one(good, four + "x")), "1 bytes follow the last tensor"));
  EXPECT_TRUE(has(fault(one(good, four.substr(1)), ErrorCode::truncated), "the file ends at byte"));
  const Bytes long_one = gzipped(one(good, four + "x")), short_one = gzipped(one(good, four.substr(1)));
  for (const Bytes& bytes : {long_one, short_one})
    EXPECT_TRUE(error_of([&] { static_cast<void>(finish_reading(read_bytes(bytes))); }));
}

TEST(Safetensors, AHeaderThatIsNotThereIsRefused) {
  EXPECT_TRUE(has(fault(raw(file("{} ", "", 1000)), ErrorCode::truncated), "the header ends after 3 of 1000 bytes"));
  EXPECT_TRUE(has(fault(raw(file("{} ", "", 100'000'001)), ErrorCode::limit_exceeded), "a header of 100000001 bytes"));
}

TEST(Safetensors, VerifyFindsEveryFault) {
  const std::string found =
      findings(raw(file("{\"a\":" + entry("F32", "[3]", 0, 16) + ",\"b\":" + entry("X", "[1]", 20, 24) +
                            ",\"c\":" + entry("U8", "[9]", 24, 33) + "}",
                        std::string(30, 'x'))));
  EXPECT_TRUE(has(found, "tensor 'a': it has 16 bytes")) << found;
  EXPECT_TRUE(has(found, "tensor 'b': dtype 'X'")) << found;
  EXPECT_TRUE(has(found, "tensor 'b': bytes 16 to 20")) << found;
  EXPECT_TRUE(has(found, "the file ends at byte")) << found;
}

}  // namespace
}  // namespace ckpt
