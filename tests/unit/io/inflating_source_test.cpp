#include "io/inflating_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "io/checksum.h"
#include "io/deflater.h"
#include "io/inflate.h"
#include "io/stream.h"
#include "io_testing.h"

namespace ckpt {
namespace {

using io_testing::Bytes;
using io_testing::bytes_of;
using io_testing::error_of;
using io_testing::gunzipped;
using io_testing::gzipped;
using io_testing::random_bytes;

constexpr std::size_t large = 24'000'000;

Bytes deflated(const Bytes& bytes, int level = 6) {
  Bytes out;
  out.resize(zlib_deflater(level)->deflate(bytes, out, 0));
  return out;
}

ByteSourcePtr inflated(const Bytes& compressed, std::uint64_t size) {
  return inflate_raw(memory_source(compressed, "test.zip"), size, "member", std::nullopt);
}

/// Counts the compressed bytes that were read through it.
class CountingSource final : public ByteSource {
 public:
  explicit CountingSource(Bytes bytes) : ByteSource("counted"), inner_(memory_source(std::move(bytes), "counted")) {}
  [[nodiscard]] std::uint64_t size() const override { return inner_->size(); }
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    const std::size_t got = inner_->read_at(offset, out);
    count += got;
    return got;
  }
  mutable std::uint64_t count = 0;

 private:
  ByteSourcePtr inner_;
};

void expect_equal_at(const ByteSource& source, const Bytes& bytes, std::uint64_t offset, std::size_t size) {
  Bytes out(size);
  const std::size_t expected = std::min<std::uint64_t>(size, bytes.size() - offset);
  ASSERT_EQ(source.read_at(offset, out), expected);
  ASSERT_EQ(std::memcmp(out.data(), bytes.data() + offset, expected), 0) << "at " << offset;
}

/// A decoder takes input for what it holds back, which stands for something.
TEST(InflatingSourceTest, PassesOverWhatDoesNotShrinkCostNoMoreThanTheirBytes) {
  const Bytes bytes = random_bytes(2'000'000);
  const auto source = gunzipped(gzipped(bytes));
  Bytes out(limits::copy_chunk);
  const auto pass = [&] {
    for (std::uint64_t at = 0; at < bytes.size(); at += out.size()) static_cast<void>(source->read_at(at, out));
  };
  EXPECT_FALSE(error_of([&] {
    for (int i = 0; i < 100; ++i) pass();
  }));
}

TEST(InflatingSourceTest, ReadsBackwardOverALargeStream) {
  const Bytes bytes = random_bytes(large);
  const auto source = gunzipped(gzipped(bytes));
  for (std::uint64_t offset = large - 1000; offset > 1'500'000; offset -= 1'234'567) {
    expect_equal_at(*source, bytes, offset, 100'000);
  }
  expect_equal_at(*source, bytes, 0, 10);
}

TEST(InflatingSourceTest, ReadsAnywhereInAnyOrder) {
  const Bytes bytes = random_bytes(large);
  const auto source = gunzipped(io_testing::joined({gzipped(Bytes(bytes.begin(), bytes.begin() + 9'000'000)),
                                                    gzipped(Bytes(bytes.begin() + 9'000'000, bytes.end()))}));
  std::mt19937 random(5);
  for (int i = 0; i < 60; ++i) {
    expect_equal_at(*source, bytes, random() % large, 1 + random() % (i % 2 == 0 ? 100 : 400'000));
  }
}

TEST(InflatingSourceTest, GoingBackInflatesFromANearbyPositionOnly) {
  const auto compressed = std::make_shared<CountingSource>(gzipped(random_bytes(large)));
  const auto source = gunzip(compressed);
  EXPECT_EQ(source->size(), large);
  const std::uint64_t once = compressed->count;
  Bytes out(1000);
  source->read_exactly(large - 6'000'000, out);
  source->read_exactly(large / 2, out);
  EXPECT_LT(compressed->count - once, once * 2 / 3);
}

TEST(InflatingSourceTest, AfterTheFirstPassGoingForwardUsesPositionsToo) {
  const auto compressed = std::make_shared<CountingSource>(gzipped(random_bytes(large)));
  const auto source = gunzip(compressed);
  (void)source->size();
  Bytes out(1000);
  source->read_exactly(0, out);
  const std::uint64_t before = compressed->count;
  source->read_exactly(large - 2000, out);
  EXPECT_LT(compressed->count - before, compressed->size() / 3);
}

TEST(InflatingSourceTest, KeepsPositionsWhenThereAreMoreThanFit) {
  // 64 positions at 4 MiB are 256 MiB: zeros get there in a moment, with marks to tell where one is.
  constexpr std::uint64_t mark_spacing = 10'000'000;
  io_testing::MemorySink target;
  const auto sink = gzip_sink(target);
  Bytes piece(mark_spacing);
  for (std::uint32_t i = 0; i < 60; ++i) {
    std::memcpy(piece.data(), &i, sizeof i);
    sink->write(piece);
  }
  sink->commit();
  const auto source = gunzipped(target.bytes());
  EXPECT_EQ(source->size(), 60 * mark_spacing);
  for (const std::uint32_t i : {59u, 3u, 58u, 0u, 31u, 30u, 1u}) {
    std::uint32_t mark = 0;
    source->read_exactly(i * mark_spacing, std::as_writable_bytes(std::span(&mark, 1)));
    EXPECT_EQ(mark, i);
  }
}

TEST(InflatingSourceTest, ManySmallReadsDoNotRereadTheCompressedBytes) {
  const auto compressed = std::make_shared<CountingSource>(gzipped(random_bytes(2'000'000)));
  const auto source = gunzip(compressed);
  Bytes out(30);
  for (std::uint64_t offset = 0; offset + 30 < 2'000'000; offset += 25) source->read_exactly(offset, out);
  EXPECT_LE(compressed->count, compressed->size() + 100);
}

TEST(InflatingSourceTest, SmallStepsBackAfterALargeReadDoNotInflateAgain) {
  const auto compressed = std::make_shared<CountingSource>(gzipped(random_bytes(2'000'000)));
  const auto source = gunzip(compressed);
  Bytes out(1'000'000);
  source->read_exactly(0, out);
  const std::uint64_t before = compressed->count;
  source->read_exactly(1'000'000 - InflatingSource::history_bytes,
                       std::span(out).first(InflatingSource::history_bytes));
  EXPECT_EQ(compressed->count, before);
}

TEST(InflatingSourceTest, GzipInGzipReads) {
  const Bytes bytes = random_bytes(3'000'000);
  const auto source = gunzip(gunzipped(gzipped(gzipped(bytes), 6)));
  expect_equal_at(*source, bytes, 2'900'000, 200'000);
  expect_equal_at(*source, bytes, 100, 50);
}

TEST(InflateRawTest, ReadsAMember) {
  const Bytes bytes = random_bytes(1'000'000);
  const auto source = inflated(deflated(bytes), bytes.size());
  EXPECT_TRUE(source->size_is_known());
  EXPECT_EQ(source->size(), bytes.size());
  EXPECT_EQ(read_all(*source, UINT64_MAX), bytes);
  expect_equal_at(*source, bytes, 500'000, 1000);  // again, after the buffers were given back
  expect_equal_at(*source, bytes, 10, 1000);
}

// Views of one storage may lie at its beginning and at its end, each in turn.
TEST(InflateRawTest, WhatIsReadHereAndThereKeepsItsPositionsPastTheEnd) {
  const Bytes bytes = random_bytes(large);
  const auto compressed = std::make_shared<CountingSource>(deflated(bytes, 1));
  const auto source = inflate_raw(compressed, large, "member", std::nullopt);
  for (const std::size_t step : {1, 2}) {  // the second time there are positions
    expect_equal_at(*source, bytes, step * 1000, 1000);
    expect_equal_at(*source, bytes, large - 1000, 1000);
  }
  const std::uint64_t before = compressed->count;
  expect_equal_at(*source, bytes, 5000, 1000);
  expect_equal_at(*source, bytes, large - 1000, 1000);
  EXPECT_LT(compressed->count - before, compressed->size() / 2);
}

// An archive may have tens of thousands of members, and a view end before its storage does.
TEST(InflateRawTest, OfManyThatAreReadInPartFewHoldBuffers) {
  const Bytes bytes = random_bytes(1000);
  const auto shared = std::make_shared<InflatingShare>();
  std::vector<ByteSourcePtr> compressed, sources;
  for (std::size_t i = 0; i < 3 * InflatingShare::most_at_once; ++i) {
    compressed.push_back(memory_source(deflated(bytes), "z"));
    sources.push_back(inflate_raw(compressed.back(), bytes.size(), "member", std::nullopt, nullptr, shared));
  }
  for (int pass = 0; pass < 2; ++pass) {
    for (const ByteSourcePtr& source : sources) expect_equal_at(*source, bytes, 300 * pass, 500);
    const auto inflates = [](const ByteSourcePtr& source) { return source.use_count() > 2; };
    EXPECT_EQ(std::count_if(compressed.begin(), compressed.end(), inflates), InflatingShare::most_at_once);
  }
  sources.clear();
  for (const ByteSourcePtr& source : compressed) EXPECT_EQ(source.use_count(), 1);
}

TEST(InflateRawTest, ReadsStoredAndFixedBlocks) {
  const Bytes bytes = random_bytes(200'000);
  EXPECT_EQ(read_all(*inflated(deflated(bytes, 0), bytes.size()), UINT64_MAX), bytes);
  const Bytes tiny = bytes_of("aaaaaaaaaaaaaaaaaaab");
  EXPECT_EQ(read_all(*inflated(deflated(tiny), tiny.size()), UINT64_MAX), tiny);
}

TEST(InflateRawTest, ReadsToTheEndWhereNobodySaysHowFarThatIs) {
  Bytes stream = deflated(bytes_of("123456789"));
  stream.push_back(std::byte{7});
  const ByteSourcePtr source = inflated(stream, unknown_size);
  EXPECT_FALSE(source->size_is_known());
  EXPECT_EQ(read_all(*source, 100), bytes_of("123456789"));
  EXPECT_EQ(source->size(), 9U);
  EXPECT_TRUE(source->size_is_known());
}

TEST(InflateRawTest, KeepsTheRecordedChecksum) {
  const auto source = inflate_raw(memory_source(deflated(bytes_of("123456789")), "z"), 9, "z: member 'x'", 0xcbf43926);
  EXPECT_EQ(source->recorded_crc32(), 0xcbf43926u);
  EXPECT_EQ(as_text(read_all(*source, 9)), "123456789");
  const auto wrong = inflate_raw(memory_source(deflated(bytes_of("123456789")), "z"), 9, "z: member 'x'", 1);
  EXPECT_THROW((void)read_all(*wrong, 9), Error);
}

TEST(InflateRawTest, MoreBytesThanTheContainerSaysAreCorrupt) {
  const auto source = inflated(deflated(random_bytes(1000)), 999);
  const auto error = error_of([&] { (void)read_all(*source, UINT64_MAX); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::corrupt);
  EXPECT_STREQ(error->what(), "member: inflates to more than 999 bytes, expected 999");
}

TEST(InflateRawTest, MoreBytesThanNoneAreCorrupt) {
  const auto error = error_of([&] { stream_all(*inflated(deflated(bytes_of("some")), 0), [](auto) {}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::corrupt);
}

TEST(InflateRawTest, NoStreamIsNoBytes) {
  EXPECT_EQ(stream_all(*inflated({}, 0), [](auto) {}), 0U);
  EXPECT_EQ(stream_all(*inflated(deflated({}), 0), [](auto) {}), 0U);
}

TEST(InflateRawTest, FewerBytesThanTheContainerSaysAreCorrupt) {
  const auto error = error_of([&] { (void)read_all(*inflated(deflated(random_bytes(1000)), 1001), UINT64_MAX); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::corrupt);
}

TEST(InflateRawTest, AFaultLiesWithinTheCompressedBytes) {
  const Bytes whole = deflated(bytes_of("to be, or not to be: that is the question"));
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    Bytes mutant = whole;
    mutant[bit / 8] ^= std::byte{1} << (bit % 8);
    const auto error = error_of([&] { (void)read_all(*inflated(mutant, 41), 41); });
    if (!error || !error->offset()) continue;
    EXPECT_LE(*error->offset(), mutant.size()) << bit << ": " << error->what();
  }
}

TEST(InflateRawTest, AStreamThatIsCutOffIsTruncated) {
  const Bytes bytes = random_bytes(1000);
  const Bytes whole = deflated(bytes);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const auto error = error_of([&] { (void)read_all(*inflated(cut, bytes.size()), UINT64_MAX); });
    ASSERT_TRUE(error) << size;
    EXPECT_EQ(error->code(), ErrorCode::truncated) << size;
  }
}

}  // namespace
}  // namespace ckpt
