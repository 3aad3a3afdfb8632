#include "ckpt/storage.h"

#include <gtest/gtest.h>

#include <array>

#include "ckpt/error.h"

namespace ckpt {
namespace {

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> all;
  for (const int value : values) all.push_back(static_cast<std::byte>(value));
  return all;
}

Storage storage_of(DType dtype, ByteOrder order, std::initializer_list<int> values) {
  return {.key = "0",
          .dtype = dtype,
          .location = "cpu",
          .nbytes = values.size(),
          .byte_order = order,
          .bytes = memory_source(bytes(values), "storage")};
}

std::vector<std::byte> read(const Storage& storage) {
  std::vector<std::byte> out(static_cast<std::size_t>(storage.nbytes));
  read_storage(storage, out);
  return out;
}

TEST(StorageTest, LittleEndianBytesStay) {
  EXPECT_EQ(read(storage_of(DType::int16, ByteOrder::little, {1, 2, 3, 4})), bytes({1, 2, 3, 4}));
}

TEST(StorageTest, BigEndianElementsAreTurned) {
  EXPECT_EQ(read(storage_of(DType::int16, ByteOrder::big, {1, 2, 3, 4})), bytes({2, 1, 4, 3}));
}

TEST(StorageTest, ComplexElementsAreTurnedByHalves) {
  EXPECT_EQ(read(storage_of(DType::complex64, ByteOrder::big, {1, 2, 3, 4, 5, 6, 7, 8})),
            bytes({4, 3, 2, 1, 8, 7, 6, 5}));
}

TEST(StorageTest, UntypedBytesHaveNoOrder) {
  Storage storage = storage_of(DType::uint8, ByteOrder::big, {1, 2});
  storage.typed = false;
  EXPECT_EQ(read(storage), bytes({1, 2}));
}

TEST(StorageTest, AnotherChecksumIsCorrupt) {
  Storage storage = storage_of(DType::uint8, ByteOrder::little, {1, 2});
  storage.bytes = slice(storage.bytes, 0, 2, "member", 0x12345678);
  std::array<std::byte, 2> out{};
  EXPECT_THROW(read_storage(storage, out), Error);
}

TEST(StorageTest, AMetaStorageHasNoBytes) {
  Storage storage = storage_of(DType::uint8, ByteOrder::little, {});
  storage.bytes = nullptr;
  EXPECT_THROW(read_storage(storage, {}), Error);
}

TEST(StorageTest, ABufferOfAnotherSizeIsNoDamage) {
  Storage storage = storage_of(DType::uint8, ByteOrder::little, {1, 2});
  storage.bytes = slice(storage.bytes, 0, 2, "member", 0x12345678);
  for (const std::size_t size : {0, 1, 3}) {
    std::vector<std::byte> out(size);
    try {
      read_storage(storage, out);
      ADD_FAILURE() << size;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << size;
    }
  }
}

}  // namespace
}  // namespace ckpt
