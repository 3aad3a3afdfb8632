#include "ckpt/byte_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "io/checksum.h"
#include "io/stream.h"
#include "io_testing.h"

namespace ckpt {
namespace {

using io_testing::Bytes;
using io_testing::bytes_of;
using io_testing::error_of;
using io_testing::random_bytes;

/// Claims `size` bytes and has `real` of them, all zero.
class ClaimingSource final : public ByteSource {
 public:
  ClaimingSource(std::uint64_t size, std::uint64_t real) : ByteSource("claim"), size_(size), real_(real) {}
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    largest = std::max(largest, out.size());
    const std::size_t count = offset >= real_ ? 0 : std::min<std::uint64_t>(out.size(), real_ - offset);
    std::fill_n(out.begin(), count, std::byte{0});
    return count;
  }
  mutable std::size_t largest = 0;

 private:
  std::uint64_t size_;
  std::uint64_t real_;
};

TEST(MemorySourceTest, ReadsShortOnlyAtTheEnd) {
  const auto source = memory_source(bytes_of("checkpoint"), "m");
  std::array<std::byte, 4> out{};
  EXPECT_EQ(source->read_at(0, out), 4u);
  EXPECT_EQ(as_text(out), "chec");
  EXPECT_EQ(source->read_at(8, out), 2u);
  EXPECT_EQ(source->read_at(10, out), 0u);
  EXPECT_EQ(source->read_at(UINT64_MAX, out), 0u);
}

TEST(ByteSourceTest, ReadExactlyNamesTheByteWhereTheSourceEnds) {
  const auto source = memory_source(bytes_of("checkpoint"), "m");
  std::array<std::byte, 4> out{};
  const auto error = error_of([&] { source->read_exactly(8, out); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::truncated);
  EXPECT_EQ(error->offset(), 10u);
  EXPECT_STREQ(error->what(), "m: the bytes end here, expected 2 more (at byte 10)");
}

TEST(SliceTest, ReadsItsPartAndNoMore) {
  const auto part = slice(memory_source(bytes_of("checkpoint"), "m"), 2, 5, "part");
  std::array<std::byte, 8> out{};
  EXPECT_EQ(part->size(), 5u);
  EXPECT_EQ(part->read_at(0, out), 5u);
  EXPECT_EQ(as_text(std::span(out).first(5)), "eckpo");
  EXPECT_EQ(part->read_at(5, out), 0u);
}

TEST(SliceTest, OfASliceCountsFromTheInnerOne) {
  const auto inner = slice(memory_source(bytes_of("checkpoint"), "m"), 2, 5, "inner");
  EXPECT_EQ(as_text(read_all(*slice(inner, 1, 3, "outer"), 10)), "ckp");
}

TEST(SliceTest, RefusesToReachPastTheInnerSlice) {
  const auto inner = slice(memory_source(bytes_of("checkpoint"), "m"), 2, 5, "inner");
  const auto error = error_of([&] { (void)slice(inner, 1, 5, "outer"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::truncated);
}

TEST(SliceTest, RefusesOffsetsThatOverflow) {
  const auto whole = memory_source(bytes_of("checkpoint"), "m");
  EXPECT_THROW((void)slice(whole, UINT64_MAX, 2, "s"), Error);
  EXPECT_THROW((void)slice(whole, 2, UINT64_MAX, "s"), Error);
  EXPECT_EQ(slice(whole, 10, 0, "s")->size(), 0u);
}

TEST(SliceTest, OfAStreamOfUnknownSizeIsShortPastItsEnd) {
  const auto part = slice(io_testing::gunzipped(io_testing::gzipped(bytes_of("checkpoint"))), 6, 100, "part");
  std::array<std::byte, 100> out{};
  EXPECT_EQ(part->read_at(0, out), 4u);
  const auto error = error_of([&] { (void)read_all(*part, 1000); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::truncated);
}

TEST(ReadAllTest, GivesAllBytes) {
  const Bytes bytes = random_bytes(3'000'001);
  EXPECT_EQ(read_all(*memory_source(bytes, "m"), bytes.size()), bytes);
}

TEST(ReadAllTest, RefusesMoreThanTheLimit) {
  const auto error = error_of([] { (void)read_all(*memory_source(Bytes(11), "m"), 10); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::limit_exceeded);
}

TEST(ReadAllTest, RefusesAStreamThatGrowsPastTheLimit) {
  const auto stream = io_testing::gunzipped(io_testing::gzipped(Bytes(5'000'000)));
  const auto error = error_of([&] { (void)read_all(*stream, 1'000'000); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::limit_exceeded);
}

TEST(ReadAllTest, DoesNotAllocateWhatIsOnlyClaimed) {
  const ClaimingSource source(std::uint64_t{1} << 50, 100);
  const auto error = error_of([&] { (void)read_all(source, UINT64_MAX); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::truncated);
  EXPECT_LT(source.largest, 1u << 20);
}

TEST(ReadAllTest, ComparesTheRecordedChecksum) {
  const auto whole = memory_source(bytes_of("123456789"), "m");
  EXPECT_EQ(read_all(*slice(whole, 0, 9, "good", 0xcbf43926), 9).size(), 9u);
  const auto error = error_of([&] { (void)read_all(*slice(whole, 0, 9, "m: member 'x'", 0xcbf43927), 9); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::corrupt);
  EXPECT_STREQ(error->what(), "m: member 'x': the bytes have CRC-32 cbf43926, expected cbf43927 as recorded");
}

TEST(ChecksumTest, Crc32OfTheCheckString) { EXPECT_EQ(crc32(0, as_bytes("123456789")), 0xcbf43926u); }

TEST(ChecksumTest, Crc32GoesOnWhereItStopped) {
  EXPECT_EQ(crc32(crc32(0, as_bytes("1234")), as_bytes("56789")), 0xcbf43926u);
  EXPECT_EQ(crc32(7, {}), 7u);
}

TEST(ChecksumTest, Sha256OfAbc) {
  Sha256 sha;
  sha.update(as_bytes("a"));
  sha.update(as_bytes("bc"));
  EXPECT_EQ(sha.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(StreamAllTest, HandsOutEverythingInOrder) {
  const Bytes bytes = random_bytes(1'000'003);
  Bytes seen;
  const auto crc =
      stream_all(*memory_source(bytes, "m"), [&](auto piece) { seen.insert(seen.end(), piece.begin(), piece.end()); });
  EXPECT_EQ(seen, bytes);
  EXPECT_EQ(crc, crc32(0, bytes));
}

TEST(StreamAllTest, ReportsAWrongChecksumAfterEverythingWasConsumed) {
  std::size_t seen = 0;
  const auto part = slice(memory_source(Bytes(600'000), "m"), 0, 600'000, "part", 1);
  EXPECT_THROW(stream_all(*part, [&](auto piece) { seen += piece.size(); }), Error);
  EXPECT_EQ(seen, 600'000u);
}

TEST(StreamAllTest, ReportsASourceThatIsShorterThanItsSize) {
  const auto error = error_of([] { stream_all(ClaimingSource(1000, 999), [](auto) {}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::truncated);
}

}  // namespace
}  // namespace ckpt
