#include "ops/tensor_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "io/bytes.h"
#include "io/io_testing.h"

namespace ckpt {
namespace {

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
Storage storage_of(const std::vector<T>& values, DType dtype) {
  Storage storage;
  storage.key = "0";
  storage.dtype = dtype;
  storage.nbytes = values.size() * sizeof(T);
  storage.bytes = memory_source(bytes_of(values), "memory");
  return storage;
}

TensorInfo view(DType dtype, std::vector<std::int64_t> shape, std::vector<std::int64_t> stride,
                std::int64_t offset = 0) {
  TensorInfo info;
  info.dtype = dtype;
  info.shape = std::move(shape);
  info.stride = std::move(stride);
  info.offset = offset;
  return info;
}

template <class T>
std::vector<T> elements(const Storage& storage, const TensorInfo& info) {
  std::vector<std::byte> bytes;
  stream_tensor(storage, info,
                [&](std::span<const std::byte> piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); });
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

/// The elements one by one, as torch defines strides.
template <class T>
std::vector<T> by_definition(const std::vector<T>& values, const TensorInfo& info) {
  std::vector<T> result;
  std::vector<std::int64_t> index(info.shape.size(), 0);
  const std::uint64_t count = element_count(info);
  for (std::uint64_t n = 0; n < count; ++n) {
    std::int64_t at = info.offset;
    for (std::size_t i = 0; i < index.size(); ++i) at += index[i] * info.stride[i];
    result.push_back(values[static_cast<std::size_t>(at)]);
    for (std::size_t i = index.size(); i-- > 0;) {
      if (++index[i] < info.shape[i]) break;
      index[i] = 0;
    }
  }
  return result;
}

std::vector<std::int32_t> counted(std::size_t n) {
  std::vector<std::int32_t> values(n);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

void expect_as_defined(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& stride,
                       std::int64_t offset = 0) {
  const auto values = counted(5000);
  const TensorInfo info = view(DType::int32, shape, stride, offset);
  EXPECT_EQ(elements<std::int32_t>(storage_of(values, DType::int32), info), by_definition(values, info));
}

TEST(TensorBytes, Contiguous) { expect_as_defined({50, 100}, {100, 1}); }
TEST(TensorBytes, ContiguousFromAnOffset) { expect_as_defined({7, 3}, {3, 1}, 1001); }
TEST(TensorBytes, ZeroDimensional) { expect_as_defined({}, {}, 17); }
TEST(TensorBytes, Transposed) { expect_as_defined({100, 50}, {1, 100}); }
TEST(TensorBytes, ColumnSlice) { expect_as_defined({50, 30}, {100, 1}, 40); }
TEST(TensorBytes, EverySecond) { expect_as_defined({20, 25}, {200, 2}, 3); }
TEST(TensorBytes, ExpandedRows) { expect_as_defined({6, 9}, {0, 1}, 5); }
TEST(TensorBytes, ExpandedColumns) { expect_as_defined({9, 6}, {1, 0}, 5); }
TEST(TensorBytes, ExpandedFromOneElement) { expect_as_defined({4, 5}, {0, 0}, 4999); }
TEST(TensorBytes, ChannelsLast) { expect_as_defined({2, 3, 4, 5}, {60, 1, 15, 3}); }
TEST(TensorBytes, ThreeDimensionsReversed) { expect_as_defined({10, 12, 14}, {1, 10, 120}); }
TEST(TensorBytes, OverlappingWindows) { expect_as_defined({30, 8}, {3, 1}); }
TEST(TensorBytes, DimensionsOfOneWithOddStrides) { expect_as_defined({1, 5, 1, 7}, {999, 14, 12345, 2}); }
TEST(TensorBytes, Diagonal) { expect_as_defined({50}, {101}); }

TEST(TensorBytes, EmptyReadsNothing) {
  Storage storage = storage_of(counted(4), DType::int32);
  storage.bytes = nullptr;
  EXPECT_TRUE(elements<std::int32_t>(storage, view(DType::int32, {3, 0}, {1, 1}, 1000)).empty());
}

TEST(TensorBytes, ManyBlocksOfATransposeAreAsDefined) {
  const auto values = counted(2100 * 1999);  // 16 MiB and a bit: three blocks of different heights
  const TensorInfo info = view(DType::int32, {1999, 2100}, {1, 1999});
  EXPECT_EQ(elements<std::int32_t>(storage_of(values, DType::int32), info), by_definition(values, info));
}

TEST(TensorBytes, RowsLongerThanABlockAreAsDefined) {
  const auto values = counted(3 * 2500000);
  const TensorInfo info = view(DType::int32, {3, 2500000}, {1, 3});
  EXPECT_EQ(elements<std::int32_t>(storage_of(values, DType::int32), info), by_definition(values, info));
}

TEST(TensorBytes, OuterDimensionsBeyondABlockAreAsDefined) {
  const auto values = counted(2 * 3 * 1100000);
  const TensorInfo info = view(DType::int32, {3, 2, 1100000}, {1, 3, 6});
  EXPECT_EQ(elements<std::int32_t>(storage_of(values, DType::int32), info), by_definition(values, info));
}

TEST(TensorBytes, ATransposeIsReadInWindowsNotByElement) {
  const std::size_t side = 2048;
  auto source = std::make_shared<io_testing::CountingSource>(bytes_of(counted(side * side)));
  Storage storage = storage_of(counted(0), DType::int32);
  storage.nbytes = source->size();
  storage.bytes = source;
  elements<std::int32_t>(storage, view(DType::int32, {2048, 2048}, {1, 2048}));
  EXPECT_LE(source->read, 3 * source->size());
  EXPECT_LE(source->reads, 3 * source->size() / limits::copy_chunk);
  EXPECT_LE(source->largest, limits::copy_chunk);
}

template <class T>
void expect_transposed(DType dtype, std::int64_t rows, std::int64_t columns) {
  std::vector<T> values(static_cast<std::size_t>(rows * columns));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i * 2654435761U >> 5);
  const TensorInfo info = view(dtype, {rows, columns}, {1, rows});
  EXPECT_EQ(elements<T>(storage_of(values, dtype), info), by_definition(values, info)) << rows << " x " << columns;
}

TEST(TensorBytes, ATransposeOfAnySizeAndWidthIsAsDefined) {
  for (const std::int64_t rows : {2, 15, 64, 67, 5000})
    for (const std::int64_t columns : {2, 17, 64, 301}) {
      expect_transposed<std::uint8_t>(DType::uint8, rows, columns);
      expect_transposed<std::int16_t>(DType::int16, rows, columns);
      expect_transposed<std::int32_t>(DType::int32, rows, columns);
      expect_transposed<std::int64_t>(DType::int64, rows, columns);
    }
  expect_transposed<std::int32_t>(DType::int32, 3000, 4100);   // several blocks, of lines that are read alone
  expect_transposed<std::int32_t>(DType::int32, 400'000, 31);  // lines longer than a tile
}

TEST(TensorBytes, AColumnOfAWideMatrixDoesNotReadTheMatrix) {
  auto source = std::make_shared<io_testing::CountingSource>(bytes_of(counted(256 * 16384)));
  Storage storage = storage_of(counted(0), DType::int32);
  storage.nbytes = source->size();
  storage.bytes = source;
  const auto column = elements<std::int32_t>(storage, view(DType::int32, {256}, {16384}, 5));
  EXPECT_EQ(column[255], 255 * 16384 + 5);
  EXPECT_LE(source->read, 256 * 4096u);
}

TEST(TensorBytes, ASmallViewOfALargeStorageReadsOnlyItself) {
  auto source = std::make_shared<io_testing::CountingSource>(bytes_of(counted(1000000)));
  Storage storage = storage_of(counted(0), DType::int32);
  storage.nbytes = source->size();
  storage.bytes = source;
  EXPECT_EQ(elements<std::int32_t>(storage, view(DType::int32, {2}, {1}, 500001)),
            (std::vector<std::int32_t>{500001, 500002}));
  EXPECT_LE(source->read, 32u);
}

TEST(TensorBytes, BigEndianTypedStorageIsSwapped) {
  Storage storage = storage_of<std::int32_t>({0x01020304, 0x05060708}, DType::int32);
  storage.byte_order = ByteOrder::big;
  EXPECT_EQ(elements<std::int32_t>(storage, view(DType::int32, {2}, {1})),
            (std::vector<std::int32_t>{0x04030201, 0x08070605}));
  EXPECT_EQ(elements<std::int32_t>(storage, view(DType::int32, {1}, {1}, 1)), (std::vector<std::int32_t>{0x08070605}));
}

TEST(TensorBytes, BigEndianComplexSwapsItsHalvesApart) {
  Storage storage = storage_of<std::uint32_t>({0x01020304, 0x05060708}, DType::complex64);
  storage.byte_order = ByteOrder::big;
  EXPECT_EQ(elements<std::uint32_t>(storage, view(DType::complex64, {1}, {1})),
            (std::vector<std::uint32_t>{0x04030201, 0x08070605}));
}

TEST(TensorBytes, BigEndianUntypedStorageIsNotSwapped) {
  Storage storage = storage_of<std::int32_t>({0x01020304}, DType::uint8);
  storage.typed = false;
  storage.byte_order = ByteOrder::big;
  EXPECT_EQ(elements<std::int32_t>(storage, view(DType::int32, {1}, {1})), (std::vector<std::int32_t>{0x01020304}));
}

TEST(TensorBytes, ConjugateTurnsImaginaryParts) {
  TensorInfo info = view(DType::complex64, {2}, {1});
  info.conjugate = true;
  EXPECT_EQ(elements<float>(storage_of<float>({1, 2, 3, -4}, DType::complex64), info),
            (std::vector<float>{1, -2, 3, 4}));
}

TEST(TensorBytes, NegativeTurnsEveryPart) {
  TensorInfo info = view(DType::float32, {2}, {1});
  info.negative = true;
  EXPECT_EQ(elements<float>(storage_of<float>({1, -2}, DType::float32), info), (std::vector<float>{-1, 2}));
  info = view(DType::complex64, {1}, {1});
  info.negative = info.conjugate = true;
  EXPECT_EQ(elements<float>(storage_of<float>({1, 2}, DType::complex64), info), (std::vector<float>{-1, 2}));
}

TEST(TensorBytes, NegativeIntegersAreModuloTwoToTheBits) {
  TensorInfo info = view(DType::int16, {4}, {1});
  info.negative = true;
  EXPECT_EQ(elements<std::int16_t>(storage_of<std::int16_t>({1, -2, 0, INT16_MIN}, DType::int16), info),
            (std::vector<std::int16_t>{-1, 2, 0, INT16_MIN}));
  info = view(DType::uint8, {2}, {1});
  info.negative = true;
  EXPECT_EQ(elements<std::uint8_t>(storage_of<std::uint8_t>({1, 0}, DType::uint8), info),
            (std::vector<std::uint8_t>{255, 0}));
}

void expect_corrupt(const TensorInfo& info) {
  try {
    elements<std::int32_t>(storage_of(counted(10), DType::int32), info);
    FAIL() << "was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::corrupt) << error.what();
  }
}

TEST(TensorBytes, GeometryThatLeavesTheStorageIsCorrupt) {
  expect_corrupt(view(DType::int32, {11}, {1}));
  expect_corrupt(view(DType::int32, {2}, {1}, 9));
  expect_corrupt(view(DType::int64, {6}, {1}));
  expect_corrupt(view(DType::int32, {2}, {INT64_MAX}));
  expect_corrupt(view(DType::int32, {3}, {INT64_MAX}, INT64_MAX));
}

TEST(TensorBytes, NegativeGeometryIsCorrupt) {
  expect_corrupt(view(DType::int32, {2}, {-1}, 5));
  expect_corrupt(view(DType::int32, {2}, {1}, -1));
  expect_corrupt(view(DType::int32, {-2}, {1}));
}

TEST(TensorBytes, ShapeWithoutItsStridesIsCorrupt) { expect_corrupt(view(DType::int32, {2, 2}, {1})); }

TEST(TensorBytes, ShapeThatOverflowsIsCorrupt) { expect_corrupt(view(DType::int32, {INT64_MAX, INT64_MAX}, {0, 0})); }

TEST(TensorBytes, ExpansionIsAllowedWithinItsLimits) {
  Storage storage;
  storage.nbytes = 4;
  EXPECT_NO_THROW(check_expansion("w", view(DType::float32, {1 << 28}, {0}), storage));
  storage.nbytes = limits::gib;
  EXPECT_NO_THROW(check_expansion("w", view(DType::uint8, {64, 1 << 30}, {0, 1}), storage));
}

TEST(TensorBytes, ExpansionPastItsLimitsNamesTheTensor) {
  Storage storage;
  storage.nbytes = 4;
  try {
    check_expansion("layer.w", view(DType::float32, {(1 << 28) + 1}, {0}), storage);
    FAIL() << "was allowed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::limit_exceeded);
    EXPECT_NE(std::string(error.what()).find("'layer.w'"), std::string::npos);
  }
}

}  // namespace
}  // namespace ckpt
