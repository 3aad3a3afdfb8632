#include "ckpt/assemble.h"

#include <gtest/gtest.h>

#include "ckpt/ops.h"
#include "formats/torch_files.h"

namespace ckpt {
namespace {

using io_testing::error_of;
using torch_testing::floats;
using Shape = std::vector<std::int64_t>;

TensorSource source(const std::string& name, const Shape& shape, const std::vector<float>& numbers) {
  return {.name = name, .dtype = DType::float32, .shape = shape, .bytes = memory_source(floats(numbers), name)};
}

ErrorCode refusal(std::vector<TensorSource> tensors) {
  const auto error = error_of([&] { assemble(std::move(tensors)); });
  EXPECT_TRUE(error);
  return error ? error->code() : ErrorCode::io;
}

TEST(Assemble, MakesADictOfTensorsInTheirOrder) {
  const Checkpoint made = assemble({source("z", {2}, {1, 2}), source("a", {1, 1}, {3})});
  EXPECT_EQ(torch_testing::names(made), (std::vector<std::string>{"z", "a"}));
  EXPECT_EQ(torch_testing::values(made, 0), (std::vector<float>{1, 2}));
  EXPECT_EQ(device_of(made, made.tensors.front()), "cpu");
}

TEST(Assemble, MakesWhatTheTorchWriterWritesAndReadsBack) {
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::uint16, DType::float8_e5m2, DType::boolean}) {
    const Checkpoint made = assemble({{.name = "w",
                                       .dtype = dtype,
                                       .shape = {3},
                                       .bytes = memory_source(io_testing::random_bytes(3 * dtype_size(dtype)), "w")}});
    const Checkpoint back = torch_testing::read_bytes(torch_testing::written(made));
    EXPECT_EQ(back.tensors.at(0).info.dtype, dtype);
    EXPECT_EQ(digest(back).total, digest(made).total) << dtype_name(dtype);
  }
}

TEST(Assemble, MakesATensorAlone) {
  const Checkpoint made = assemble_one(source("ignored", {2, 2}, {1, 2, 3, 4}));
  EXPECT_EQ(torch_testing::names(made), std::vector<std::string>{""});
  EXPECT_EQ(made.tensors.front().info.stride, (Shape{2, 1}));
}

TEST(Assemble, KeepsStridesAndLocations) {
  TensorSource transposed = source("t", {2, 3}, {0, 1, 2, 3, 4, 5});
  transposed.stride = {1, 2};
  transposed.location = "cuda:1";
  const Checkpoint made = assemble({transposed});
  EXPECT_EQ(torch_testing::values(made, 0), (std::vector<float>{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(made.storages.front().location, "cuda:1");
}

TEST(Assemble, RefusesWhatDoesNotFit) {
  EXPECT_EQ(refusal({source("w", {3}, {1, 2})}), ErrorCode::corrupt);
  EXPECT_EQ(refusal({source("w", {1}, {1}), source("w", {1}, {1})}), ErrorCode::invalid_argument);
  EXPECT_EQ(refusal({source("\xff", {1}, {1})}), ErrorCode::invalid_argument);
  EXPECT_EQ(refusal({source("w", Shape(65, 1), {1})}), ErrorCode::limit_exceeded);
  TensorSource torn = source("w", {0}, {});
  torn.bytes = memory_source(io_testing::random_bytes(3), "w");
  EXPECT_EQ(refusal({torn}), ErrorCode::invalid_argument);
}

TEST(Assemble, RefusesWhatIsNoTensorAtOnce) {
  TensorSource nothing = source("w", {1}, {1});
  nothing.bytes = nullptr;
  EXPECT_EQ(refusal({nothing}), ErrorCode::invalid_argument);
  TensorSource nowhere = source("w", {1}, {1});
  nowhere.location = "\xff";
  EXPECT_EQ(refusal({nowhere}), ErrorCode::invalid_argument);
  TensorSource turned = source("w", {1}, {1});
  turned.conjugate = true;
  EXPECT_EQ(refusal({turned}), ErrorCode::invalid_argument);
  TensorSource negative{.name = "w", .dtype = DType::boolean, .shape = {4}, .bytes = nowhere.bytes, .negative = true};
  EXPECT_EQ(refusal({negative}), ErrorCode::invalid_argument);
  const auto error = error_of([] { assemble_state_dict({source("w", {1}, {1})}, {{"\xff", 1}}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  for (const DType dtype : {DType::qint8, DType::quint4x2})  // there is no scale
    EXPECT_EQ(refusal({{.name = "w", .dtype = dtype, .shape = {4}, .bytes = nowhere.bytes}}),
              ErrorCode::invalid_argument);
}

TEST(Assemble, RefusesBytesThatAreSharedAndToldInTwoWays) {
  const TensorSource first = source("a", {2}, {1, 2});
  const auto refused = [&](auto change) {
    TensorSource second = first;
    second.name = "b";
    change(second);
    return refusal({first, second});
  };
  EXPECT_EQ(refused([](TensorSource& tensor) { tensor.dtype = DType::int32; }), ErrorCode::invalid_argument);
  EXPECT_EQ(refused([](TensorSource& tensor) { tensor.byte_order = ByteOrder::big; }), ErrorCode::invalid_argument);
  EXPECT_EQ(refused([](TensorSource& tensor) { tensor.location = "cuda:0"; }), ErrorCode::invalid_argument);
}

TEST(Assemble, TakesBytesThatNoTensorShows) {
  const Checkpoint made = assemble({source("w", {1}, {1, 2, 3})});
  EXPECT_EQ(torch_testing::values(made, 0), (std::vector<float>{1}));
}

TEST(Assemble, KeepsTheLazySignsOfTensors) {
  TensorSource lazy = source("w", {2}, {1, 2});
  lazy.negative = true;
  const Checkpoint made = assemble({lazy});
  EXPECT_TRUE(made.tensors.front().info.negative);
  EXPECT_EQ(torch_testing::values(made, 0), (std::vector<float>{-1, -2}));
}

}  // namespace
}  // namespace ckpt
