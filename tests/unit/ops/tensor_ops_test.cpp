#include "ckpt/tensor_ops.h"

#include <gtest/gtest.h>

#include "ckpt/assemble.h"
#include "ckpt/error.h"
#include "ckpt/tensor_reader.h"
#include "formats/torch_files.h"
#include "io/checksum.h"

namespace ckpt {
namespace {

using torch_testing::Bytes;
using torch_testing::floats;

ByteSourcePtr bytes_of(const std::vector<float>& values) { return memory_source(floats(values), "test"); }

TensorSource view(std::string name, const ByteSourcePtr& bytes, std::vector<std::int64_t> shape,
                  std::vector<std::int64_t> stride = {}, std::int64_t offset = 0) {
  return {.name = std::move(name),
          .dtype = DType::float32,
          .shape = std::move(shape),
          .stride = std::move(stride),
          .bytes = bytes,
          .offset = offset};
}

/// Bytes whose recorded CRC-32 is another.
ByteSourcePtr damaged(const ByteSourcePtr& bytes) { return slice(bytes, 0, bytes->size(), "damaged", 0xBAD); }

/// What is left after all of it has been written and read again.
Checkpoint rewritten(const Checkpoint& checkpoint) {
  return torch_testing::read_bytes(torch_testing::written(checkpoint));
}

std::vector<float> values_of(const Checkpoint& checkpoint, std::size_t tensor) {
  const TensorReader reader(checkpoint, tensor_names(checkpoint).at(tensor));
  Bytes bytes(static_cast<std::size_t>(reader.rows() * reader.row_bytes()));
  reader.read(0, reader.rows(), bytes);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::copy_n(bytes.data(), bytes.size(), reinterpret_cast<std::byte*>(values.data()));
  return values;
}

const TensorInfo& info_of(const Checkpoint& checkpoint, std::size_t tensor) {
  return tensor_names(checkpoint).at(tensor).tensor->info;
}

using Sizes = std::vector<std::int64_t>;

TEST(MakeContiguous, GathersWhatIsNot) {
  const auto bytes = bytes_of({0, 1, 2, 3, 4, 5});
  auto [made, count] = make_contiguous(assemble({view("t", bytes, {3, 2}, {1, 3})}));
  EXPECT_EQ(count, 1U);
  const Checkpoint read = rewritten(made);
  EXPECT_EQ(info_of(read, 0).stride, (Sizes{2, 1}));
  EXPECT_EQ(values_of(read, 0), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(read.storages.size(), 1U);
}

TEST(MakeContiguous, LeavesViewsThatAre) {
  const auto bytes = bytes_of({0, 1, 2, 3, 4, 5});
  const auto [made, count] = make_contiguous(assemble({view("all", bytes, {6}), view("end", bytes, {2}, {1}, 4)}));
  EXPECT_EQ(count, 0U);
  EXPECT_EQ(made.storages.size(), 1U);
}

TEST(MakeContiguous, KeepsEqualViewsTied) {
  const auto bytes = bytes_of({0, 1, 2, 3, 4, 5});
  const auto [made, count] = make_contiguous(
      assemble({view("a", bytes, {3, 2}, {1, 3}), view("b", bytes, {3, 2}, {1, 3}), view("c", bytes, {6})}));
  EXPECT_EQ(count, 2U);
  const Checkpoint read = rewritten(made);
  EXPECT_EQ(read.storages.size(), 2U);
  EXPECT_EQ(read.tensors[0].storage, read.tensors[1].storage);
}

TEST(MakeContiguous, RefusesViewsThatStandForFarMoreThanThereIs) {
  const auto huge = [] { make_contiguous(assemble({view("t", bytes_of({1}), {1 << 30, 4}, {0, 0})})); };
  const auto error = io_testing::error_of(huge);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::limit_exceeded);
}

/// A wrapper's class, such as DTensor, keeps its elements where only that finds them.
TEST(MakeContiguous, LeavesTensorsWithoutStorage) {
  const auto wrapped = py::call(py::global("torch._utils", "_rebuild_wrapper_subclass"),
                                {py::global("m", "Sharded"), py::global("torch", "float32"), torch_testing::sizes({4}),
                                 torch_testing::sizes({1}), py::integer(0), py::global("torch", "strided"),
                                 py::call(py::global("torch", "device"), {py::str("cpu")}), py::boolean(false)});
  const auto turned = torch_testing::tensor(torch_testing::storage(), {2, 2}, {1, 2});
  const auto [made, count] =
      make_contiguous(torch_testing::checkpoint_of(py::dict({{py::str("w"), wrapped}, {py::str("a"), turned}})));
  EXPECT_EQ(count, 1U);
}

TEST(Compact, CutsAViewOutOfItsStorage) {
  const auto bytes = bytes_of({0, 1, 2, 3, 4, 5, 6, 7});
  const auto [made, report] = compact(assemble({view("t", bytes, {2}, {1}, 5)}));
  EXPECT_EQ(report.saved, 24U);
  const Checkpoint read = rewritten(made);
  EXPECT_EQ(read.storages[0].nbytes, 8U);
  EXPECT_EQ(info_of(read, 0).offset, 0);
  EXPECT_EQ(values_of(read, 0), (std::vector<float>{5, 6}));
}

TEST(Compact, LeavesAStorageThatIsAllLookedAt) {
  const auto bytes = bytes_of({0, 1, 2, 3});
  const auto [made, report] = compact(assemble({view("a", bytes, {2}), view("b", bytes, {2}, {1}, 2)}));
  EXPECT_EQ(report.storages, 0U);
  EXPECT_EQ(made.storages.size(), 1U);
}

TEST(Compact, KeepsTogetherWhatOverlapsAndPartsTheRest) {
  const auto bytes = bytes_of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  const auto [made, report] = compact(
      assemble({view("a", bytes, {3}, {1}, 0), view("b", bytes, {3}, {1}, 1), view("far", bytes, {2}, {1}, 8)}));
  EXPECT_EQ(report.saved, 16U);
  const Checkpoint read = rewritten(made);
  ASSERT_EQ(read.storages.size(), 2U);
  EXPECT_EQ(read.tensors[0].storage, read.tensors[1].storage);
  EXPECT_EQ(values_of(read, 1), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(values_of(read, 2), (std::vector<float>{8, 9}));
}

TEST(Compact, ClosesUpGapsInTheOrderOfTheStrides) {
  const auto bytes = bytes_of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  // Rows 0 to 2 of columns 0 and 1, transposed.
  const auto [made, report] = compact(assemble({view("t", bytes, {2, 3}, {1, 4})}));
  EXPECT_EQ(report.saved, 24U);
  const Checkpoint read = rewritten(made);
  EXPECT_EQ(info_of(read, 0).stride, (Sizes{1, 2}));
  EXPECT_EQ(values_of(read, 0), (std::vector<float>{0, 4, 8, 1, 5, 9}));
}

TEST(Compact, KeepsAnExpandedViewAsSmallAsItIs) {
  const auto bytes = bytes_of({0, 1, 2, 3});
  const auto [made, report] = compact(assemble({view("t", bytes, {5, 2}, {0, 2}, 1)}));
  EXPECT_EQ(report.saved, 8U);
  const Checkpoint read = rewritten(made);
  EXPECT_EQ(info_of(read, 0).stride, (Sizes{0, 1}));
  EXPECT_EQ(values_of(read, 0), (std::vector<float>{1, 3, 1, 3, 1, 3, 1, 3, 1, 3}));
}

/// Parts that begin on a whole number of the larger elements would overlap.
TEST(Compact, LeavesAStorageWhoseElementsHaveSeveralSizes) {
  const auto bytes = torch_testing::storage({.type = "UntypedStorage", .elements = 16, .module = "torch.storage"});
  const auto of = [&](const char* dtype, std::int64_t size, std::int64_t offset) {
    return py::call(py::global("torch._utils", "_rebuild_tensor_v3"),
                    {bytes, py::integer(offset), torch_testing::sizes({size}), torch_testing::sizes({1}),
                     py::boolean(false), py::ordered_dict({}), py::global("torch", dtype)});
  };
  const auto [made, report] = compact(torch_testing::checkpoint_of(py::dict(
      {{py::str("a"), of("uint16", 2, 0)}, {py::str("b"), of("uint16", 1, 3)}, {py::str("c"), of("uint64", 1, 1)}})));
  EXPECT_EQ(report.saved, 0U);
  EXPECT_EQ(made.storages.size(), 1U);
}

TEST(Compact, NeedsNoBytesForATensorWithoutElements) {
  const auto [made, report] = compact(assemble({view("t", bytes_of({0, 1, 2, 3}), {0, 7}, {7, 1}, 2)}));
  EXPECT_EQ(report.saved, 16U);
  EXPECT_EQ(rewritten(made).storages[0].nbytes, 0U);
}

TEST(Compact, LeavesAStorageThatTheObjectHoldsItself) {
  const py::Code both = py::list({torch_testing::storage(), torch_testing::tensor(torch_testing::storage(), {1}, {1})});
  const auto [made, report] = compact(torch_testing::checkpoint_of(both));
  EXPECT_EQ(report.storages, 0U);
  EXPECT_EQ(rewritten(made).storages[0].nbytes, 16U);
}

/// What is stored, and a lazy negative of the same storage.
Checkpoint with_a_negative() {
  const auto bytes = bytes_of({1, -2, 0.5F});
  TensorSource negative = view("negative", bytes, {2}, {1}, 1);
  negative.negative = true;
  return assemble({view("plain", bytes, {3}), negative});
}

TEST(Cast, MakesNoFloat8ThatIsALazyNegative) {
  for (const DType dtype : {DType::float8_e5m2, DType::float8_e4m3fn}) {
    const Checkpoint small = rewritten(cast(rewritten(with_a_negative()), dtype).first);
    EXPECT_FALSE(info_of(small, 1).negative);
    EXPECT_EQ(info_of(small, 1).offset, 1);
    const Checkpoint back = cast(small, DType::float32).first;
    EXPECT_EQ(values_of(back, 0), (std::vector<float>{1, -2, 0.5F}));
    EXPECT_EQ(values_of(back, 1), (std::vector<float>{2, -0.5F}));
  }
}

/// A tensor's attribute, a key of a dict.
TEST(Cast, LeavesWhatHasNoNameWithTheTensorThatHoldsIt) {
  const auto number = [](std::int64_t at) { return torch_testing::tensor(torch_testing::storage(), {1}, {1}, at); };
  const py::Code held = py::build(number(0), py::dict({{py::str("main_grad"), number(1)}}));
  const Checkpoint checkpoint = torch_testing::checkpoint_of(
      py::dict({{py::str("held"), held}, {py::str("other"), number(2)}, {number(3), py::none()}}));
  const auto cast_but = [&](const std::vector<std::string>& except) {
    return cast(checkpoint, DType::float16, except).second.tensors;
  };
  EXPECT_EQ(cast_but({}), 4U);
  EXPECT_EQ(cast_but({"held"}), 2U);
  EXPECT_EQ(cast_but({"other"}), 3U);
  EXPECT_EQ(cast_but({"*"}), 0U);
}

TEST(Cast, KeepsLazyNegativesThatPyTorchCanRead) {
  const Checkpoint half = rewritten(cast(rewritten(with_a_negative()), DType::float16).first);
  EXPECT_TRUE(info_of(half, 1).negative);
  EXPECT_EQ(half.storages.size(), 1U);
  EXPECT_EQ(values_of(cast(half, DType::float32).first, 1), (std::vector<float>{2, -0.5F}));
}

TEST(TensorOps, SeeDamageOfWhatIsMadeOfAStorage) {
  const auto bytes = damaged(bytes_of({0, 1, 2, 3, 4, 5, 6, 7}));
  const Checkpoint cut = compact(assemble({view("t", bytes, {2}, {1}, 5)})).first;
  const Checkpoint closed = compact(assemble({view("t", bytes, {2}, {3}, 1)})).first;
  const Checkpoint gathered = make_contiguous(assemble({view("t", bytes, {2, 4}, {1, 2})})).first;
  const Checkpoint half = cast(assemble({view("t", bytes, {8})}), DType::float16).first;
  for (const Checkpoint* made : {&cut, &closed, &gathered, &half}) EXPECT_THROW(rewritten(*made), Error);
}

/// Counts what is read of it.
class Counted final : public ByteSource {
 public:
  explicit Counted(ByteSourcePtr source) : ByteSource("counted"), source_(std::move(source)) {}
  [[nodiscard]] std::uint64_t size() const override { return source_->size(); }
  [[nodiscard]] std::optional<std::uint32_t> recorded_crc32() const override {
    return crc32(0, read_all(*source_, size()));
  }
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    const std::size_t count = source_->read_at(offset, out);
    read += count;
    return count;
  }
  mutable std::uint64_t read = 0;

 private:
  ByteSourcePtr source_;
};

/// A storage is read for its views, and once more for its checksum; not once for each of many views.
TEST(TensorOps, ReadAStorageOfManyViewsTwiceAtMost) {
  constexpr std::int64_t views = 16, side = 16;
  const auto bytes = bytes_of(std::vector<float>(2 * views * side * side));
  const auto count = [&](std::int64_t apart, std::pair<Checkpoint, std::size_t> (*edit)(Checkpoint)) {
    const auto counted = std::make_shared<Counted>(bytes);
    std::vector<TensorSource> tensors;
    for (std::int64_t i = 0; i < views; ++i)
      tensors.push_back(view(std::to_string(i), counted, {side, side}, {1, side}, i * apart * side * side));
    rewritten(edit(assemble(std::move(tensors))).first);
    return counted->read;
  };
  EXPECT_LE(count(1, make_contiguous), 2 * bytes->size());
  const auto compacted = [](Checkpoint checkpoint) {
    auto [made, report] = compact(std::move(checkpoint));
    return std::pair(std::move(made), report.storages);
  };
  EXPECT_LE(count(2, compacted), 2 * bytes->size());
}

TEST(Dedupe, TiesEqualStorages) {
  const auto [made, report] = dedupe(
      assemble({view("a", bytes_of({1, 2}), {2}), view("b", bytes_of({1, 3}), {2}), view("c", bytes_of({1, 2}), {2})}));
  EXPECT_EQ(report.storages, 1U);
  EXPECT_EQ(report.saved, 8U);
  const Checkpoint read = rewritten(made);
  EXPECT_EQ(read.storages.size(), 2U);
  EXPECT_EQ(read.tensors[0].storage, read.tensors[2].storage);
  EXPECT_EQ(values_of(read, 1), (std::vector<float>{1, 3}));
}

/// Optimizer.load_state_dict() keeps the tensors that it is given: a step of one parameter would count for all.
TEST(Dedupe, LeavesAnOptimizersState) {
  const auto step_of = [&](const char* key) {
    return py::dict({{py::str("step"), torch_testing::tensor(torch_testing::storage({.key = key}), {4}, {1})}});
  };
  const auto weights =
      py::dict({{py::str("a"), torch_testing::tensor(torch_testing::storage({.key = "2"}), {4}, {1})},
                {py::str("b"), torch_testing::tensor(torch_testing::storage({.key = "3"}), {4}, {1})}});
  const auto state = py::dict({{py::integer(0), step_of("0")}, {py::integer(1), step_of("1")}});
  const auto dict = py::dict({{py::str("state"), state}, {py::str("param_groups"), py::list({})}});
  const auto object = py::build(py::call(py::global("torch.optim.adam", "Adam"), {}), dict);
  const auto bytes = torch_testing::floats({0, 1, 2, 3});
  for (const py::Code& optimizer : {dict, object}) {
    const auto [made, report] = dedupe(torch_testing::read_bytes(torch_testing::bytes_of(
        torch_testing::ZipFile{.object = py::dict({{py::str("model"), weights}, {py::str("optimizer"), optimizer}}),
                               .data = {{"data/0", bytes}, {"data/1", bytes}, {"data/2", bytes}, {"data/3", bytes}}})));
    EXPECT_EQ(report.storages, 1U);
    EXPECT_EQ(made.storages.size(), 3U);
  }
}

TEST(Dedupe, TellsDevicesAndDtypesApart) {
  TensorSource there = view("gpu", bytes_of({1, 2}), {2});
  there.location = "cuda:0";
  TensorSource whole = view("ints", bytes_of({1, 2}), {2});
  whole.dtype = DType::int32;
  const auto [made, report] = dedupe(assemble({view("a", bytes_of({1, 2}), {2}), there, whole}));
  EXPECT_EQ(report.storages, 0U);
  EXPECT_EQ(made.storages.size(), 3U);
}

TEST(Dedupe, KeepsOffsetsWithinTheStorage) {
  const auto a = bytes_of({1, 2, 3}), b = bytes_of({1, 2, 3});
  const auto [made, report] = dedupe(assemble({view("a", a, {3}), view("b", b, {1}, {1}, 2)}));
  EXPECT_EQ(values_of(rewritten(made), 1), (std::vector<float>{3}));
}

}  // namespace
}  // namespace ckpt
