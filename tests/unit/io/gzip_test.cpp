#include "ckpt/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <cstring>

#include "io/checksum.h"
#include "io_testing.h"

namespace ckpt {
namespace {

using io_testing::Bytes;
using io_testing::bytes_of;
using io_testing::error_of;
using io_testing::gunzipped;
using io_testing::gzipped;
using io_testing::joined;
using io_testing::random_bytes;
using io_testing::read_in_steps;

/// zlib's own reading of gzip members: a second opinion.
Bytes zlib_gunzip(const Bytes& compressed, std::size_t size) {
  z_stream stream{};
  inflateInit2(&stream, 15 + 16);
  Bytes out(size + 1);
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  int result = Z_STREAM_END;
  while (result == Z_STREAM_END && stream.avail_in > 0) {
    result = inflate(&stream, Z_FINISH);
    if (stream.avail_in > 0) inflateReset(&stream);
  }
  out.resize(out.size() - stream.avail_out);
  inflateEnd(&stream);
  EXPECT_EQ(result, Z_STREAM_END);
  return out;
}

/// A member with every optional field of RFC 1952, around the deflate stream of gzipped(bytes).
Bytes member_with_all_fields(const Bytes& bytes) {
  const Bytes plain = gzipped(bytes);
  Bytes member = bytes_of(std::string_view("\x1f\x8b\x08\x1f\x01\x02\x03\x04\x00\x03", 10));
  append_le<std::uint16_t>(member, 3);
  const Bytes text = bytes_of(std::string_view("xyzname\0a comment\0", 18));
  member.insert(member.end(), text.begin(), text.end());
  append_le(member, static_cast<std::uint16_t>(crc32(0, member)));
  member.insert(member.end(), plain.begin() + 10, plain.end());
  return member;
}

class GzipLevelTest : public testing::TestWithParam<int> {};

TEST_P(GzipLevelTest, ZlibReadsWhatIsWritten) {
  const Bytes bytes = random_bytes(1'500'000);
  EXPECT_EQ(zlib_gunzip(gzipped(bytes, GetParam()), bytes.size()), bytes);
}

TEST_P(GzipLevelTest, ReadsBackEqual) {
  for (const std::size_t size : {0u, 1u, 255u, 262'144u, 262'145u, 700'000u}) {
    const Bytes bytes = random_bytes(size);
    EXPECT_EQ(read_all(*gunzipped(gzipped(bytes, GetParam())), UINT64_MAX), bytes) << size;
  }
}

TEST_P(GzipLevelTest, TheBytesDoNotDependOnHowTheyWereCut) {
  const Bytes bytes = random_bytes(1'000'000);
  io_testing::MemorySink target;
  const auto sink = gzip_sink(target, {.level = GetParam()});
  for (std::size_t at = 0, step = 1; at < bytes.size(); at += step, step = step * 3 % 300'007 + 1) {
    sink->write(std::span(bytes).subspan(at, std::min(step, bytes.size() - at)));
  }
  sink->commit();
  EXPECT_EQ(target.bytes(), gzipped(bytes, GetParam()));
}

INSTANTIATE_TEST_SUITE_P(AllLevels, GzipLevelTest, testing::Range(1, 10));

TEST(GzipSinkTest, HeaderSaysNothingOfTimeOrMachine) {
  for (const int level : {1, 3, 4, 9}) {
    const Bytes bytes = gzipped(bytes_of("x"), level);
    EXPECT_EQ(as_text(std::span(bytes).first(10)), std::string_view("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10)) << level;
  }
}

TEST(GzipSinkTest, RefusesOtherLevels) {
  io_testing::MemorySink target;
  for (const int level : {-1, 0, 10}) {
    const auto error = error_of([&] { (void)gzip_sink(target, {.level = level}); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  }
  EXPECT_TRUE(target.bytes().empty());
}

TEST(GzipSinkTest, WithoutCommitTheStreamIsUnfinished) {
  io_testing::MemorySink target;
  gzip_sink(target)->write(random_bytes(500'000));
  const auto error = error_of([&] { (void)gunzipped(target.bytes())->size(); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::truncated);
}

TEST(IsGzipTest, LooksAtTheHeaderAlone) {
  const auto is = [](std::string_view text) { return is_gzip(*memory_source(bytes_of(text), "m")); };
  EXPECT_TRUE(is(std::string_view("\x1f\x8b\x08\x00", 4)));
  EXPECT_TRUE(is("\x1f\x8b\x08\x1f"));
  EXPECT_FALSE(is("\x1f\x8b\x08\x20"));  // reserved flag
  EXPECT_FALSE(is("\x1f\x8b\x07\x01"));  // method
  EXPECT_FALSE(is("\x1f\x8b\x08"));
  EXPECT_FALSE(is("PK\x03\x04"));
}

TEST(GunzipTest, ReadsEveryStepTheSame) {
  const Bytes bytes = random_bytes(700'000);
  const Bytes compressed = gzipped(bytes);
  for (const std::size_t step : {997u, 65'536u, 131'072u, 131'073u, 700'000u}) {
    EXPECT_EQ(read_in_steps(*gunzipped(compressed), step), bytes) << step;
  }
}

TEST(GunzipTest, SizeIsUnknownUntilItWasMeasured) {
  const auto source = gunzipped(gzipped(random_bytes(10'000)));
  EXPECT_FALSE(source->size_is_known());
  EXPECT_EQ(source->size(), 10'000u);
  EXPECT_TRUE(source->size_is_known());
}

TEST(GunzipTest, ReadsMembersInSequence) {
  const Bytes a = random_bytes(100'000, 1);
  const Bytes b = random_bytes(200'001, 2);
  const Bytes empty;
  const Bytes compressed = joined({gzipped(a), gzipped(empty), gzipped(b, 6), gzipped(empty, 9), gzipped(a)});
  EXPECT_EQ(read_all(*gunzipped(compressed), UINT64_MAX), joined({a, b, a}));
}

TEST(GunzipTest, ReadsThousandsOfTinyMembers) {
  std::vector<Bytes> parts;
  std::string expected;
  for (int i = 0; i < 3000; ++i) {
    parts.push_back(gzipped(bytes_of(std::to_string(i))));
    expected += std::to_string(i);
  }
  EXPECT_EQ(as_text(read_in_steps(*gunzipped(joined(parts)), 777)), expected);
}

TEST(GunzipTest, SkipsEveryOptionalHeaderField) {
  const Bytes bytes = random_bytes(50'000);
  const Bytes compressed = joined({member_with_all_fields(bytes), member_with_all_fields(bytes)});
  EXPECT_EQ(read_all(*gunzipped(compressed), UINT64_MAX), joined({bytes, bytes}));
}

TEST(GunzipTest, ChecksTheHeadersOwnChecksum) {
  Bytes compressed = member_with_all_fields(bytes_of("x"));
  compressed[16] ^= std::byte{1};  // a letter of the name
  const auto error = error_of([&] { (void)gunzipped(compressed)->size(); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::corrupt);
  EXPECT_NE(std::string(error->what()).find("gzip member 1: the header has CRC-16"), std::string::npos);
}

TEST(GunzipTest, SkipsZeroPadding) {
  const Bytes bytes = random_bytes(1000);
  const auto source = gunzipped(joined({gzipped(bytes), Bytes(600'000), gzipped(bytes), Bytes(511)}));
  EXPECT_EQ(source->size(), 2000u);
  EXPECT_EQ(gzip_trailing_bytes(*source), 0u);
}

TEST(GunzipTest, OtherBytesAtTheEndEndTheStreamAndAreCounted) {
  const Bytes bytes = random_bytes(1000);
  const auto source = gunzipped(joined({gzipped(bytes), Bytes(100), bytes_of("garbage")}));
  EXPECT_EQ(gzip_trailing_bytes(*source), 0u);
  EXPECT_EQ(read_all(*source, UINT64_MAX), bytes);
  EXPECT_EQ(gzip_trailing_bytes(*source), 7u);
}

TEST(GunzipTest, ASecondMemberWithADamagedHeaderIsAnError) {
  const Bytes bytes = random_bytes(1000);
  Bytes second = gzipped(bytes);
  second[2] = std::byte{9};
  const auto error = error_of([&] { (void)gunzipped(joined({gzipped(bytes), second}))->size(); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsupported);
  EXPECT_EQ(error->offset(), gzipped(bytes).size() + 2);
  EXPECT_NE(std::string(error->what()).find("gzip member 2"), std::string::npos);
}

TEST(GunzipTest, WhatIsNoGzipIsRefused) {
  EXPECT_EQ(error_of([] { (void)gunzipped(bytes_of("PK\x03\x04 a zip"))->size(); })->code(), ErrorCode::corrupt);
  EXPECT_EQ(error_of([] { (void)gunzipped({})->size(); })->code(), ErrorCode::truncated);
}

TEST(GunzipTest, AWrongChecksumIsReportedAtTheEndWithBothValues) {
  const Bytes bytes = random_bytes(300'000);
  Bytes compressed = gzipped(bytes);
  compressed[compressed.size() - 8] ^= std::byte{1};
  const auto source = gunzipped(compressed);
  Bytes out(bytes.size());
  EXPECT_EQ(source->read_at(0, std::span(out).first(1000)), 1000u);
  const auto error = error_of([&] { source->read_exactly(0, out); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::corrupt);
  EXPECT_EQ(error->file(), "test.gz");
  EXPECT_EQ(error->offset(), compressed.size() - 8);
  EXPECT_NE(std::string(error->what()).find(hexadecimal(crc32(0, bytes))), std::string::npos);
}

TEST(GunzipTest, AWrongLengthIsReported) {
  Bytes compressed = gzipped(random_bytes(1000));
  compressed[compressed.size() - 1] ^= std::byte{1};
  const auto error = error_of([&] { (void)read_in_steps(*gunzipped(compressed), 100); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::corrupt);
  EXPECT_EQ(error->offset(), compressed.size() - 4);
}

TEST(GunzipTest, AReaderOfExactlyAllBytesMeetsTheCheckAtTheEnd) {
  for (const std::size_t size : {100u, 131'072u, 262'144u, 1'000'000u}) {
    Bytes compressed = gzipped(random_bytes(size));
    compressed[compressed.size() - 8] ^= std::byte{1};
    const auto source = gunzipped(compressed);
    Bytes out(size);
    EXPECT_THROW(source->read_exactly(0, out), Error) << size;
  }
}

TEST(GunzipTest, ATruncatedFileIsTruncatedAtEveryByteAndNeverReadsAsWhole) {
  const Bytes bytes = random_bytes(700);
  for (const Bytes& whole : {member_with_all_fields(bytes), gzipped(bytes, 1), gzipped(bytes, 9)}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      const auto error = error_of([&] { (void)gunzipped(cut)->size(); });
      ASSERT_TRUE(error) << size;
      EXPECT_EQ(error->code(), ErrorCode::truncated) << size << " " << error->what();
      EXPECT_EQ(error->offset(), size) << error->what();
    }
  }
}

TEST(GunzipTest, ATruncatedSecondMemberIsTruncatedAtEveryByte) {
  const Bytes first = gzipped(random_bytes(300));
  const Bytes second = gzipped(random_bytes(200));
  for (std::size_t size = 1; size < second.size(); ++size) {
    const Bytes cut(second.begin(), second.begin() + static_cast<std::ptrdiff_t>(size));
    const auto error = error_of([&] { (void)gunzipped(joined({first, cut}))->size(); });
    ASSERT_TRUE(error) << size;
    EXPECT_EQ(error->code(), ErrorCode::truncated) << size << " " << error->what();
  }
}

TEST(GunzipTest, WhatComesBeforeTheCutCanBeRead) {
  const Bytes bytes = random_bytes(2'000'000);
  Bytes compressed = gzipped(bytes);
  compressed.resize(compressed.size() / 2);
  const auto source = gunzipped(compressed);
  Bytes out(800'000);
  source->read_exactly(0, out);
  EXPECT_TRUE(std::equal(out.begin(), out.end(), bytes.begin()));
  std::size_t have = 0;
  const auto error = error_of([&] {
    for (std::array<std::byte, 100> piece{}; source->read_at(have, piece) == piece.size(); have += piece.size()) {
      ASSERT_EQ(std::memcmp(piece.data(), bytes.data() + have, piece.size()), 0);
    }
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::truncated);
  EXPECT_GT(have, 900'000u);
  EXPECT_EQ(source->read_at(5, out), out.size());  // and it goes on being readable
}

TEST(GunzipTest, AFlippedBitNeverReadsAsOtherBytes) {
  const Bytes bytes = random_bytes(200);
  for (const int level : {1, 9}) {
    const Bytes whole = joined({gzipped(bytes, level), gzipped(bytes, level)});
    for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
      Bytes damaged = whole;
      damaged[bit / 8] ^= std::byte{1} << (bit % 8);
      const auto source = gunzipped(damaged);
      Bytes read;
      const auto error = error_of([&] { read = read_in_steps(*source, 5000); });
      if (error) continue;
      // Time, extra flags and operating system carry nothing; a lost second magic leaves bytes that are counted.
      const bool second_lost = gzip_trailing_bytes(*source) == whole.size() / 2;
      EXPECT_EQ(read, second_lost ? bytes : joined({bytes, bytes})) << "bit " << bit;
    }
  }
}

TEST(GunzipTest, RandomDamageNeverCrashesNorHangs) {
  const Bytes bytes = random_bytes(60'000);
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    Bytes damaged = gzipped(bytes, 1 + round % 9);
    for (int i = 0; i < 1 + round % 5; ++i) damaged[10 + random() % (damaged.size() - 10)] = std::byte(random() & 0xff);
    Bytes read;
    const auto error = error_of([&] { read = read_in_steps(*gunzipped(damaged), 4096); });
    EXPECT_TRUE(error || read == bytes);
  }
}

}  // namespace
}  // namespace ckpt
