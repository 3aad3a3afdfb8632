#include "ckpt/tensor_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "ckpt/error.h"
#include "formats/torch_files.h"

namespace ckpt {
namespace {

using torch_testing::checkpoint_of;
using torch_testing::storage;
using torch_testing::tensor;

/// A checkpoint whose only tensor looks at the floats 0, 1, 2, 3.
Checkpoint view(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& stride,
                std::int64_t offset = 0) {
  return checkpoint_of(py::dict({{py::str("w"), tensor(storage(), shape, stride, offset)}}));
}

std::vector<float> rows(const Checkpoint& checkpoint, std::uint64_t first, std::uint64_t count) {
  const TensorReader reader(checkpoint, tensor_names(checkpoint).at(0));
  std::vector<std::byte> bytes(static_cast<std::size_t>(count * reader.row_bytes()));
  reader.read(first, count, bytes);
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

using Floats = std::vector<float>;

TEST(TensorReader, AllRows) { EXPECT_EQ(rows(view({2, 2}, {2, 1}), 0, 2), (Floats{0, 1, 2, 3})); }
TEST(TensorReader, OneRow) { EXPECT_EQ(rows(view({2, 2}, {2, 1}), 1, 1), (Floats{2, 3})); }
TEST(TensorReader, ARowOfATransposedView) { EXPECT_EQ(rows(view({2, 2}, {1, 2}), 1, 1), (Floats{1, 3})); }
TEST(TensorReader, FromAnOffset) { EXPECT_EQ(rows(view({2}, {1}, 2), 0, 2), (Floats{2, 3})); }
TEST(TensorReader, ATensorWithoutDimensionsIsOneRow) { EXPECT_EQ(rows(view({}, {}, 3), 0, 1), Floats{3}); }
TEST(TensorReader, NoRows) { EXPECT_TRUE(rows(view({2, 2}, {2, 1}), 2, 0).empty()); }
TEST(TensorReader, RowsWithoutElements) { EXPECT_TRUE(rows(view({3, 0}, {1, 1}), 0, 3).empty()); }

TEST(TensorReader, RowsPastTheLastAreRefused) {
  const auto error = io_testing::error_of([] { rows(view({2, 2}, {2, 1}), 1, 2); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  EXPECT_NE(std::string(error->what()).find("'w'"), std::string::npos);
}

TEST(TensorReader, OutlivesTheCheckpoint) {
  std::optional<TensorReader> reader;
  {
    const Checkpoint checkpoint = view({4}, {1});
    reader.emplace(checkpoint, tensor_names(checkpoint).at(0));
  }
  float last = 0;
  reader->read(3, 1, std::as_writable_bytes(std::span(&last, 1)));
  EXPECT_EQ(last, 3);
}

TEST(TensorReader, TheLastRowComparesTheChecksum) {
  const Floats values{7, 8, 9, 10, 11, 12, 13, 14};
  auto bytes = torch_testing::bytes_of(
      torch_testing::ZipFile{.object = py::dict({{py::str("w"), tensor(storage({.elements = 8}), {2, 4}, {4, 1})}}),
                             .data = {{"data/0", torch_testing::floats(values)}}});
  const auto needle = torch_testing::floats({7, 8});
  const auto at = std::search(bytes.begin(), bytes.end(), needle.begin(), needle.end());
  ASSERT_NE(at, bytes.end());
  at[1] ^= std::byte{1};
  const Checkpoint checkpoint = torch_testing::read_bytes(bytes);
  EXPECT_NO_THROW(rows(checkpoint, 0, 1));
  EXPECT_THROW(rows(checkpoint, 0, 2), Error);
}

TEST(TensorReader, WhatIsNotStridedIsRefused) {
  Checkpoint checkpoint = view({4}, {1});
  checkpoint.tensors[0].info.layout = Layout::sparse_coo;
  const auto error = io_testing::error_of([&] { rows(checkpoint, 0, 1); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsupported);
}

}  // namespace
}  // namespace ckpt
