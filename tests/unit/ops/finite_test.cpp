#include <gtest/gtest.h>

#include <limits>

#include "ckpt/error.h"
#include "ckpt/ops.h"
#include "formats/torch_files.h"

namespace ckpt {
namespace {

using torch_testing::Bytes;
using torch_testing::floats;
using torch_testing::storage;
using torch_testing::tensor;
using torch_testing::ZipFile;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float inf = std::numeric_limits<float>::infinity();

Checkpoint holding(const py::Code& object, const std::vector<float>& values) {
  return torch_testing::read_bytes(bytes_of(ZipFile{.object = object, .data = {{"data/0", floats(values)}}}));
}

/// A view of the storage "0", of `elements` floats.
py::Code view(std::int64_t elements, const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& stride,
              std::int64_t offset = 0) {
  return tensor(storage({.elements = elements}), shape, stride, offset);
}

/// "name nan/+inf/-inf [first]" a line.
std::string found(const Checkpoint& checkpoint) {
  std::string out;
  for (const NonFinite& each : find_non_finite(checkpoint)) {
    out += each.name + " " + std::to_string(each.nan) + "/" + std::to_string(each.positive) + "/" +
           std::to_string(each.negative) + " [";
    for (std::size_t i = 0; i < each.first.size(); ++i) out += (i == 0 ? "" : ",") + std::to_string(each.first[i]);
    out += "]\n";
  }
  return out;
}

TEST(Finite, FindsNothingInFiniteTensors) {
  EXPECT_EQ(found(holding(view(4, {4}, {1}), {0, -0.0F, std::numeric_limits<float>::max(), 1e-45F})), "");
}

TEST(Finite, CountsEachKindAndNamesTheFirst) {
  EXPECT_EQ(found(holding(py::dict({{py::str("w"), view(6, {2, 3}, {3, 1})}}), {1, 2, -inf, nan, inf, nan})),
            "w 2/1/1 [0,2]\n");
}

TEST(Finite, OfAViewCountsItsOwnElements) {
  const auto code = py::dict({{py::str("front"), view(6, {2}, {1})}, {py::str("back"), view(6, {3}, {1}, 3)}});
  EXPECT_EQ(found(holding(code, {1, 2, nan, 3, 4, inf})), "back 0/1/0 [2]\n");
}

TEST(Finite, OfAStridedViewLeavesWhatIsBetween) {
  EXPECT_EQ(found(holding(view(6, {3}, {2}), {0, nan, 0, nan, inf, nan})), " 0/1/0 [2]\n");
  EXPECT_EQ(found(holding(view(6, {2, 2}, {3, 1}), {0, 0, nan, 0, nan, nan})), " 1/0/0 [1,1]\n");
}

TEST(Finite, OfATransposedViewTheFirstIsByItsOwnIndices) {
  // Stored 0 1 2 / 3 4 5 and seen as its transpose: element 3 is [0,1], element 2 is [2,0].
  EXPECT_EQ(found(holding(view(6, {3, 2}, {1, 3}), {0, 0, inf, nan, 0, 0})), " 1/1/0 [0,1]\n");
}

TEST(Finite, OfAnExpandedViewCountsWhatItShows) {
  EXPECT_EQ(found(holding(view(2, {3, 2}, {0, 1}), {0, nan})), " 3/0/0 [0,1]\n");
}

TEST(Finite, OfOverlappingWindowsCountsWhatTheyShow) {
  EXPECT_EQ(found(holding(view(4, {3, 2}, {1, 1}), {0, nan, 0, 0})), " 2/0/0 [0,1]\n");
}

TEST(Finite, OfNoElementsIsFine) { EXPECT_EQ(found(holding(view(1, {0, 3}, {3, 1}), {nan})), ""); }

TEST(Finite, OfAScalarNamesTheEmptyIndex) { EXPECT_EQ(found(holding(view(1, {}, {}), {nan})), " 1/0/0 []\n"); }

TEST(Finite, LooksAtTensorsThatNoNameLeadsTo) {
  EXPECT_EQ(found(holding(py::dict({{view(1, {1}, {1}), py::none()}}), {nan})), "(of storage 0) 1/0/0 [0]\n");
  const py::Code attributes = py::dict({{py::str("main_grad"), view(2, {1}, {1}, 1)}});
  const Checkpoint checkpoint = holding(py::dict({{py::str("w"), py::build(view(2, {1}, {1}), attributes)}}), {1, inf});
  EXPECT_EQ(found(checkpoint), "(of storage 0) 0/1/0 [0]\n");
  EXPECT_EQ(unnamed_tensors(checkpoint).size(), 1U);
  const py::Code parameter = py::call(py::global("torch._utils", "_rebuild_parameter"),
                                      {view(1, {1}, {1}), py::boolean(true), py::ordered_dict({})});
  EXPECT_EQ(found(holding(py::dict({{parameter, py::none()}}), {nan})), "(of storage 0) 1/0/0 [0]\n");
  const py::Code twice = py::dict({{py::str("w"), view(1, {1}, {1})}, {view(1, {1}, {1}), py::none()}});
  EXPECT_EQ(found(holding(twice, {nan})), "w 1/0/0 [0]\n");
}

TEST(Finite, LooksAtATensorOfTwoNamesOnce) {
  const auto code = py::dict({{py::str("a"), py::put(view(1, {1}, {1}), 9)}, {py::str("b"), py::get(9)}});
  EXPECT_EQ(found(holding(code, {nan})), "a 1/0/0 [0]\n");
}

TEST(Finite, ReadsPastTheFirstPiece) {
  constexpr std::int64_t count = 300'000;
  std::vector<float> values(count, 1);
  values[0] = values[70'000] = values[count - 1] = nan;
  EXPECT_EQ(found(holding(view(count, {count}, {1}), values)), " 3/0/0 [0]\n");
  values[0] = values[70'000] = 1;
  EXPECT_EQ(found(holding(view(count, {count}, {1}), values)), " 1/0/0 [299999]\n");
  EXPECT_EQ(found(holding(view(count, {count - 1}, {1}, 1), values)), " 1/0/0 [299998]\n");
}

TEST(Finite, OfABigEndianFileReadsTheNumbers) {
  ZipFile file{.object = view(2, {2}, {1}), .data = {{"data/0", floats({1, 1})}}, .byteorder = "big"};
  for (int i = 0; i < 4; ++i) file.data[0].bytes[static_cast<std::size_t>(i)] = std::byte{0};
  const Bytes infinity{std::byte{0xFF}, std::byte{0x80}, std::byte{0}, std::byte{0}};
  std::copy(infinity.begin(), infinity.end(), file.data[0].bytes.begin() + 4);
  EXPECT_EQ(found(torch_testing::read_bytes(bytes_of(file))), " 0/0/1 [1]\n");
}

TEST(Finite, OfALazilyNegatedTensorTurnsTheSign) {
  Checkpoint checkpoint = holding(view(2, {2}, {1}), {inf, 0});
  checkpoint.tensors[0].info.negative = true;
  EXPECT_EQ(found(checkpoint), " 0/0/1 [0]\n");
}

TEST(Finite, OfComplexNumbersCountsThePartsApart) {
  Checkpoint checkpoint = torch_testing::read_bytes(
      bytes_of(ZipFile{.object = tensor(storage({.type = "ComplexFloatStorage", .elements = 2}), {2}, {1}),
                       .data = {{"data/0", floats({1, 2, nan, inf})}}}));
  EXPECT_EQ(found(checkpoint), " 1/1/0 [1]\n");
  checkpoint.tensors[0].info.conjugate = true;
  EXPECT_EQ(found(checkpoint), " 1/0/1 [1]\n");
}

TEST(Finite, LeavesIntegersAlone) {
  const auto checkpoint = torch_testing::read_bytes(
      bytes_of(ZipFile{.object = tensor(storage({.type = "IntStorage", .elements = 2}), {2}, {1}),
                       .data = {{"data/0", Bytes(8, std::byte{0xFF})}}}));
  EXPECT_EQ(found(checkpoint), "");
}

TEST(Finite, GoesOnWhereAStorageCannotBeRead) {
  const auto code = py::dict(
      {{py::str("a"), view(1, {1}, {1})}, {py::str("b"), tensor(storage({.key = "1", .elements = 1}), {1}, {1})}});
  Checkpoint checkpoint = torch_testing::read_bytes(
      bytes_of(ZipFile{.object = code, .data = {{"data/0", floats({1})}, {"data/1", floats({nan})}}}));
  checkpoint.storages.at(0).bytes = memory_source({}, "gone");
  std::vector<Error> unread;
  const auto results = find_non_finite(checkpoint, &unread);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].name, "b");
  ASSERT_EQ(unread.size(), 1U);
  EXPECT_NE(std::string(unread[0].what()).find("tensor 'a'"), std::string::npos);
  EXPECT_TRUE(io_testing::error_of([&] { find_non_finite(checkpoint); }));
}

TEST(Finite, RefusesViewsThatStandTogetherForTooMuch) {
  const auto code = py::dict({{py::str("wide"), view(1, {1 << 28}, {0})}, {py::str("more"), view(1, {1}, {1})}});
  const Checkpoint checkpoint = holding(code, {1});
  const auto error = io_testing::error_of([&] { find_non_finite(checkpoint); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::limit_exceeded);
  std::vector<Error> unread;
  EXPECT_TRUE(find_non_finite(checkpoint, &unread).empty());
  ASSERT_EQ(unread.size(), 1U);
  EXPECT_EQ(unread[0].code(), ErrorCode::limit_exceeded);
}

TEST(Finite, ATensorThatCannotBeLaidOutNamesTheFile) {
  const Checkpoint checkpoint = holding(view(1, {(1 << 28) + 1}, {0}), {1});
  const auto error = io_testing::error_of([&] { find_non_finite(checkpoint); });
  ASSERT_TRUE(error);
  EXPECT_EQ(std::string(error->what()).find(checkpoint.file + ": "), 0U) << error->what();
}

}  // namespace
}  // namespace ckpt
