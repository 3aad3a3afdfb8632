#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "ckpt/assemble.h"
#include "ckpt/limits.h"
#include "ckpt/ops.h"
#include "formats/safetensors_files.h"
#include "formats/torch_files.h"

namespace ckpt {
namespace {

using io_testing::Bytes;
using io_testing::has;
using safetensors_testing::entry;
using safetensors_testing::file;
using torch_testing::floats;
using torch_testing::names;
using torch_testing::read_bytes;
using torch_testing::refusal;
using torch_testing::values;
using torch_testing::written_as;
using Shape = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

const std::string six(as_text(floats({0, 1, 2, 3, 4, 5})));

/// Views of one storage of six floats.
struct Look {
  std::string name;
  Shape shape, stride;
  std::int64_t offset = 0;
};

Checkpoint six_floats(const std::vector<Look>& looks) {
  const ByteSourcePtr bytes = memory_source(floats({0, 1, 2, 3, 4, 5}), "six");
  std::vector<TensorSource> tensors;
  for (const Look& look : looks)
    tensors.push_back({.name = look.name,
                       .dtype = DType::float32,
                       .shape = look.shape,
                       .stride = look.stride,
                       .bytes = bytes,
                       .offset = look.offset});
  return assemble(std::move(tensors));
}

const Tensor& tensor_called(const Checkpoint& checkpoint, const std::string& name) {
  for (const NamedTensor& named : tensor_names(checkpoint))
    if (named.name == name) return *named.tensor;
  ADD_FAILURE() << "no tensor '" << name << "'";
  return checkpoint.tensors.front();
}

std::string header_of(const Bytes& bytes) { return std::string(as_text(bytes)); }

/// A file of tensors w.weight (2 x 3) and bias (6), with this in its metadata.
Checkpoint with_metadata(const std::string& metadata) {
  return read_bytes(
      io_testing::bytes_of(file("{\"__metadata__\":" + metadata + ",\"w.weight\":" + entry("F32", "[2,3]", 0, 24) +
                                    ",\"bias\":" + entry("F32", "[6]", 24, 48) + "}",
                                six + six)));
}

std::string map_fault(const std::string& map, ErrorCode code = ErrorCode::corrupt) {
  std::string quoted;
  for (const char c : map) quoted += c == '"' ? std::string("\\\"") : std::string(1, c);
  const auto error = io_testing::error_of([&] { with_metadata("{\"ckpt.views\":\"" + quoted + "\"}"); });
  if (!error) return "";
  EXPECT_EQ(error->code(), code) << error->what();
  return error->what();
}

TEST(SafetensorsSharing, EqualViewsAreWrittenOnceAndShareAgain) {
  const Bytes bytes =
      written_as(six_floats({{"z.weight", {2, 3}, {3, 1}}, {"a.weight", {2, 3}, {3, 1}}}), "safetensors");
  EXPECT_TRUE(has(header_of(bytes), R"("z.weight":"a.weight")")) << header_of(bytes);  // as save_model has it
  EXPECT_TRUE(has(header_of(bytes), R"("a.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})"));
  const Checkpoint back = read_bytes(bytes);
  EXPECT_EQ(names(back), (Names{"a.weight", "z.weight"}));
  EXPECT_EQ(back.storages.size(), 1U);
  EXPECT_EQ(back.metadata, (std::vector<std::pair<std::string, std::string>>{{"format", "pt"}}));
  EXPECT_TRUE(back.warnings.empty());
  EXPECT_EQ(written_as(back, "safetensors"), bytes);
}

TEST(SafetensorsSharing, ViewsWithinATensorKeepTheirGeometry) {
  const Checkpoint made = six_floats({{"w", {2, 3}, {3, 1}},
                                      {"transposed", {3, 2}, {1, 3}},
                                      {"row", {3}, {1}, 3},
                                      {"column", {2}, {3}, 1},
                                      {"flat", {6}, {1}},
                                      {"expanded", {4, 2}, {0, 1}, 4}});
  const Bytes bytes = written_as(made, "safetensors");
  const Checkpoint back = read_bytes(bytes);
  EXPECT_EQ(back.storages.size(), 1U);
  for (const NamedTensor& named : tensor_names(made)) {
    const TensorInfo &before = named.tensor->info, &after = tensor_called(back, named.name).info;
    EXPECT_EQ(after.shape, before.shape) << named.name;
    EXPECT_EQ(after.stride, before.stride) << named.name;
    EXPECT_EQ(after.offset, before.offset) << named.name;
  }
  EXPECT_EQ(digest(back).total, digest(made).total);
  EXPECT_EQ(written_as(back, "safetensors"), bytes);
}

TEST(SafetensorsSharing, AViewCountsFromItsTensorNotFromTheStorage) {
  const Checkpoint back =
      read_bytes(written_as(six_floats({{"part", {2, 2}, {2, 1}, 2}, {"of part", {2}, {2}, 3}}), "safetensors"));
  EXPECT_EQ(tensor_called(back, "of part").info.offset, 1);
  EXPECT_EQ(back.storages.front().nbytes, 16U);
}

std::vector<std::string> left_out(const Checkpoint& checkpoint) {
  const io_testing::TemporaryFolder folder;
  return save(checkpoint, folder / "out.safetensors").left_out;
}

TEST(SafetensorsSharing, WhatOtherReadersMissIsTold) {
  const Look w{"w", {2, 3}, {3, 1}}, z{"z", {2, 3}, {3, 1}}, y{"y", {2, 3}, {3, 1}};
  const Look turned{"turned", {3, 2}, {1, 3}}, row{"row", {3}, {1}, 3};
  EXPECT_EQ(left_out(six_floats({w, z})),
            Names{"'z' is written once, as 'w': safetensors.torch.load_model puts it back, load_file does not"});
  EXPECT_EQ(left_out(six_floats({w, z, y})),
            Names{"'y' (as 'w') and 1 more are written once: safetensors.torch.load_model puts them back, load_file "
                  "does not"});
  EXPECT_EQ(left_out(six_floats({w, row})), Names{"'row' is written as a view of 'w', which only ckpt reads back"});
  EXPECT_EQ(left_out(six_floats({w, turned, row})),
            Names{"'turned' and 1 more are written as views of others, which only ckpt reads back"});
}

TEST(SafetensorsSharing, WhatLiesInNoOtherTensorIsWrittenByItselfAndTold) {
  const Checkpoint overlapping = six_floats({{"a", {4}, {1}}, {"b", {4}, {1}, 2}});
  const Checkpoint back = read_bytes(written_as(overlapping, "safetensors"));
  EXPECT_EQ(back.storages.size(), 2U);
  EXPECT_EQ(digest(back).total, digest(overlapping).total);
  ASSERT_EQ(left_out(overlapping).size(), 1U);
  EXPECT_TRUE(has(left_out(overlapping)[0], "such as 'a' and 'b', are written one by one"));
  const Checkpoint chunks = six_floats({{"a", {3}, {1}}, {"b", {3}, {1}, 3}});
  EXPECT_EQ(read_bytes(written_as(chunks, "safetensors")).storages.size(), 2U);
  EXPECT_EQ(left_out(chunks).size(), 1U);
}

TEST(SafetensorsSharing, ALazyConjugateIsWrittenByItselfAndTold) {
  const TensorSource values{
      .name = "x", .dtype = DType::complex64, .shape = {1}, .bytes = memory_source(std::vector<std::byte>(8), "x")};
  TensorSource conjugate = values;
  conjugate.name = "y", conjugate.conjugate = true;
  ASSERT_FALSE(left_out(assemble({values, conjugate})).empty());
  EXPECT_TRUE(has(left_out(assemble({values, conjugate}))[0], "such as 'x' and 'y', are written one by one"));
}

TEST(SafetensorsSharing, StridesAloneBecomeContiguousAndEqualOnesStayOne) {
  const Checkpoint made = six_floats({{"b", {3, 2}, {1, 3}}, {"a", {3, 2}, {1, 3}}});
  const Checkpoint back = read_bytes(written_as(made, "safetensors"));
  EXPECT_EQ(back.storages.size(), 1U);
  EXPECT_EQ(tensor_called(back, "b").info.stride, (Shape{2, 1}));
  EXPECT_EQ(digest(back).total, digest(made).total);
  ASSERT_EQ(left_out(made).size(), 2U);
  EXPECT_TRUE(has(left_out(made)[0], "'b' is written once, as 'a'"));
  EXPECT_TRUE(has(left_out(made)[1], "strides"));
}

TEST(SafetensorsSharing, EmptyTensorsShareNothing) {
  const Checkpoint back = read_bytes(written_as(six_floats({{"a", {0}, {1}}, {"b", {6}, {1}}}), "safetensors"));
  EXPECT_EQ(back.storages.size(), 2U);
}

TEST(SafetensorsSharing, NamesThatSaveModelLeftOutComeBackWithAWarning) {
  const Checkpoint read = with_metadata(R"({"head.weight":"w.weight","format":"pt"})");
  EXPECT_EQ(names(read), (Names{"w.weight", "bias", "head.weight"}));
  EXPECT_EQ(tensor_called(read, "head.weight").storage, tensor_called(read, "w.weight").storage);
  ASSERT_EQ(read.warnings.size(), 1U);
  EXPECT_TRUE(has(read.warnings[0], "'head.weight' that it shared memory with 'w.weight'"));
  EXPECT_EQ(read.metadata.size(), 1U);
}

TEST(SafetensorsSharing, OrdinaryMetadataIsNoName) {
  for (const char* metadata : {R"({"license":"bias"})", R"({"author":"w.weight"})", R"({"modelspec.title":"bias"})",
                               R"({"bias":"w.weight"})", R"({"x.weight":"y.weight"})", R"({"x.bias":"w.weight"})"}) {
    const Checkpoint read = with_metadata(metadata);
    EXPECT_EQ(read.tensors.size(), 2U) << metadata;
    EXPECT_EQ(read.metadata.size(), 1U) << metadata;
    EXPECT_TRUE(read.warnings.empty()) << metadata;
  }
}

TEST(SafetensorsSharing, AMapThatIsNoneIsRefused) {
  EXPECT_EQ(map_fault(R"({"v":{"of":"bias","shape":[2],"stride":[3],"offset":2}})"), "");
  for (const auto& [map, said] : std::map<std::string, std::string>{
           {"", "no JSON"},
           {"[]", "expected '{'"},
           {R"({"v":1})", "expected '{'"},
           {R"({"v":{}})", "a view of nothing"},
           {R"({"v":{"of":"gone"}})", "tensor 'v' is a view of 'gone', expected a tensor of the file"},
           {R"({"bias":{"of":"bias"}})", "tensor 'bias' comes twice"},
           {R"({"v":{"of":"bias"},"v":{"of":"bias"}})", "tensor 'v' comes twice"},
           {R"({"v":{"of":"bias"},"u":{"of":"v"}})", "tensor 'u' is a view of 'v'"},
           {R"({"v":{"of":"bias","shape":[2]}})", "expected its shape, stride and offset"},
           {R"({"v":{"of":"bias","shape":[2],"stride":[],"offset":0}})", "not one stride a dimension"},
           {R"({"v":{"of":"bias","shape":[2],"stride":[3],"offset":3}})", "leaves 'bias'"},
           {R"({"v":{"of":"bias","shape":[2],"stride":[-1],"offset":3}})", "a whole number"},
           {R"({"v":{"of":"bias","shape":[9223372036854775807,9223372036854775807],"stride":[0,0],"offset":0}})",
            "leaves 'bias'"},
           {R"({"v":{"of":"bias","shape":[2],"stride":[9223372036854775807],"offset":1}})", "leaves 'bias'"},
           {R"({"v":{"of":"bias","offset":0,"offset":0}})", "each once"},
           {R"({"v":{"of":"bias","x":0}})", "'of', 'shape', 'stride' and 'offset'"}})
    EXPECT_TRUE(has(map_fault(map), said)) << map << ": " << map_fault(map);
  std::string sizes = "0";
  for (std::size_t i = 0; i < limits::tensor_dimensions; ++i) sizes += ",1";
  EXPECT_TRUE(has(map_fault(R"({"v":{"of":"bias","shape":[)" + sizes + "]}}", ErrorCode::limit_exceeded),
                  "more than 64 dimensions"));
}

TEST(SafetensorsSharing, MetadataOfTheUsersStaysUnderItsKey) {
  Checkpoint made = six_floats({{"b", {6}, {1}}, {"a", {6}, {1}}});
  made.metadata = {{"b", "mine"}};
  const Checkpoint back = read_bytes(written_as(made, "safetensors"));
  EXPECT_EQ(names(back), (Names{"a", "b"}));
  EXPECT_NE(std::find(back.metadata.begin(), back.metadata.end(), std::pair<std::string, std::string>("b", "mine")),
            back.metadata.end());
}

}  // namespace
}  // namespace ckpt
