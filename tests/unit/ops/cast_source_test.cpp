#include "ops/cast_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "ckpt/error.h"
#include "io/checksum.h"
#include "ops/cast_elements.h"

namespace ckpt {
namespace {

using Bytes = std::vector<std::byte>;

/// Float32 bits of every kind, more than one window of them.
Bytes floats(std::size_t count) {
  Bytes bytes(count * 4);
  std::uint32_t state = 1;
  for (auto& byte : bytes) byte = std::byte((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

Storage storage(const Bytes& bytes, std::optional<std::uint32_t> recorded = std::nullopt) {
  Storage result;
  result.key = "0";
  result.dtype = DType::float32;
  result.nbytes = bytes.size();
  result.bytes = slice(memory_source(bytes, "whole"), 0, bytes.size(), "member", recorded);
  return result;
}

Bytes expected(const Bytes& in, DType to) {
  Bytes out(in.size() / 4 * dtype_size(to));
  cast_elements(DType::float32, to, in, out);
  return out;
}

Bytes read(const ByteSource& source, std::uint64_t offset, std::size_t size) {
  Bytes out(size);
  out.resize(source.read_at(offset, out));
  return out;
}

TEST(CastSource, ReadsForwardInAnyPieces) {
  const Bytes in = floats(200'000);
  for (const DType to : {DType::float64, DType::float16, DType::float8_e5m2}) {
    const Bytes wanted = expected(in, to);
    for (const std::size_t piece : {std::size_t{4099}, std::size_t{65536}, wanted.size() + 1}) {
      const auto source = cast_source(storage(in), DType::float32, to);
      ASSERT_EQ(source->size(), wanted.size());
      Bytes got;
      for (Bytes now; !(now = read(*source, got.size(), piece)).empty();) got.insert(got.end(), now.begin(), now.end());
      EXPECT_EQ(got, wanted) << dtype_name(to) << " by " << piece;
    }
  }
}

TEST(CastSource, ReadsFromTheMiddleOfAnElement) {
  const Bytes in = floats(16), wanted = expected(in, DType::float64);
  const auto source = cast_source(storage(in), DType::float32, DType::float64);
  for (std::size_t begin = 0; begin < wanted.size(); ++begin)
    for (const std::size_t size : {1, 7, 8, 9, 30}) {
      const std::size_t end = std::min(begin + size, wanted.size());
      ASSERT_EQ(read(*source, begin, size), Bytes(wanted.begin() + static_cast<std::ptrdiff_t>(begin),
                                                  wanted.begin() + static_cast<std::ptrdiff_t>(end)));
    }
  EXPECT_TRUE(read(*source, wanted.size(), 1).empty());
  EXPECT_TRUE(read(*source, UINT64_MAX, 1).empty());
}

TEST(CastSource, GoesBack) {
  const Bytes in = floats(200'000), wanted = expected(in, DType::bfloat16);
  const auto source = cast_source(storage(in), DType::float32, DType::bfloat16);
  EXPECT_EQ(read(*source, 0, wanted.size()), wanted);
  EXPECT_EQ(read(*source, 0, wanted.size()), wanted);
}

TEST(CastSource, SwapsWhatIsBigEndian) {
  const Bytes in = floats(1000);
  Storage big = storage(in);
  Bytes turned = in;
  for (std::size_t i = 0; i < turned.size(); i += 4)
    std::reverse(turned.begin() + static_cast<std::ptrdiff_t>(i), turned.begin() + static_cast<std::ptrdiff_t>(i + 4));
  big.bytes = memory_source(turned, "big");
  big.byte_order = ByteOrder::big;
  const Bytes wanted = expected(in, DType::float16);
  EXPECT_EQ(read(*cast_source(big, DType::float32, DType::float16), 0, wanted.size()), wanted);
}

TEST(CastSource, ComparesTheRecordedChecksumAtItsEnd) {
  const Bytes in = floats(200'000);  // more than is read ahead
  const std::uint32_t right = crc32(0, in);
  const auto good = cast_source(storage(in, right), DType::float32, DType::float16);
  EXPECT_EQ(read(*good, 0, 400'000).size(), 400'000U);
  const auto bad = cast_source(storage(in, right ^ 1), DType::float32, DType::float16);
  EXPECT_EQ(read(*bad, 0, 200'000).size(), 200'000U);
  EXPECT_THROW(read(*bad, 200'000, 200'000), Error);
}

TEST(CastSource, LeavesOutWhatMakesNoElementAndStillChecksIt) {
  Bytes in = floats(3);
  in.resize(14);
  const auto good = cast_source(storage(in, crc32(0, in)), DType::float32, DType::float16);
  EXPECT_EQ(good->size(), 6U);
  EXPECT_EQ(read(*good, 0, 100), expected(in, DType::float16));
  EXPECT_THROW(read(*cast_source(storage(in, 1), DType::float32, DType::float16), 0, 6), Error);
}

TEST(CastSource, IsEmptyWhereTheStorageIs) {
  const auto source = cast_source(storage({}), DType::float32, DType::float16);
  EXPECT_EQ(source->size(), 0U);
  EXPECT_TRUE(read(*source, 0, 8).empty());
}

TEST(CastSource, SaysWhereTheStorageIsCut) {
  const Bytes in = floats(10);
  Storage cut = storage(in);
  cut.nbytes = 80;
  const auto source = cast_source(cut, DType::float32, DType::float16);
  EXPECT_EQ(source->size(), 40U);
  EXPECT_THROW(read(*source, 0, 40), Error);
}

}  // namespace
}  // namespace ckpt
