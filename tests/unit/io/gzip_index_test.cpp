#include "io/gzip_index.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ckpt/limits.h"
#include "io/checksum.h"
#include "io_testing.h"

namespace ckpt {
namespace {

using io_testing::by_index;
using io_testing::Bytes;
using io_testing::error_of;
using io_testing::gunzipped;
using io_testing::gzipped;
using io_testing::index_of;
using io_testing::joined;
using io_testing::MemorySink;
using io_testing::random_bytes;
using io_testing::read_in_steps;

constexpr std::size_t size = 3'000'000;

bool has_index(const Bytes& compressed) { return by_index(compressed)->size_is_known(); }

Bytes index_bytes(const GzipIndex& index) {
  MemorySink sink;
  write_gzip_index(index, sink);
  return sink.bytes();
}

/// The members of a file without its index.
Bytes members_of(const Bytes& compressed) {
  Bytes bytes = compressed;
  bytes.resize(compressed.size() - index_bytes(index_of(compressed)).size());
  return bytes;
}

TEST(GzipIndex, tells_where_each_member_is) {
  const Bytes compressed = gzipped(random_bytes(size));
  const GzipIndex index = index_of(compressed);
  ASSERT_EQ(index.members.size(), size / gzip_block_bytes + 1);
  EXPECT_EQ(index.level, 1);
  std::size_t at = 0;
  for (const GzipMember& member : index.members) {
    const Bytes one(compressed.begin() + static_cast<std::ptrdiff_t>(at),
                    compressed.begin() + static_cast<std::ptrdiff_t>(at + member.compressed));
    EXPECT_EQ(crc32(0, one), member.crc32);
    EXPECT_EQ(gunzipped(one)->size(), member.inflated);
    at += member.compressed;
  }
}

TEST(GzipIndex, is_not_written_of_a_single_member) {
  for (const std::size_t few : {std::size_t{0}, std::size_t{1}, std::size_t{gzip_block_bytes}})
    EXPECT_FALSE(has_index(gzipped(random_bytes(few)))) << few;
  EXPECT_TRUE(has_index(gzipped(random_bytes(gzip_block_bytes + 1))));
}

TEST(GzipIndex, takes_as_many_members_as_there_are) {
  GzipIndex index{.members = std::vector<GzipMember>(20'000, {20, 1, 7}), .level = 3};
  Bytes file(20'000 * 20);
  file = joined({file, index_bytes(index)});
  const GzipIndex back = index_of(file);
  EXPECT_EQ(back.members.size(), 20'000);
  EXPECT_EQ(back.members.back().crc32, 7);
  EXPECT_EQ(back.level, 3);
}

TEST(GzipIndex, is_skipped_by_who_does_not_know_it) {
  const Bytes bytes = random_bytes(size);
  const auto source = gunzipped(gzipped(bytes));
  EXPECT_EQ(read_in_steps(*source, 65'536), bytes);
  EXPECT_EQ(gzip_trailing_bytes(*source), 0);
}

TEST(GzipIndex, that_is_damaged_or_not_at_the_end_is_none) {
  const Bytes bytes = random_bytes(size);
  const Bytes compressed = gzipped(bytes);
  const std::size_t begin = members_of(compressed).size();
  for (std::size_t at = begin; at < compressed.size(); ++at) {
    Bytes damaged = compressed;
    damaged[at] ^= std::byte{0x10};
    const bool is_level =
        has_index(damaged) && index_of(damaged).level != 1;  // which no sum covers, and nothing rests on
    EXPECT_TRUE(!has_index(damaged) || is_level) << at - begin;
  }
  EXPECT_FALSE(has_index(joined({compressed, Bytes(1)})));
  EXPECT_FALSE(has_index(Bytes(compressed.begin(), compressed.end() - 1)));
  EXPECT_FALSE(has_index(Bytes(compressed.begin() + 1, compressed.end())));
  EXPECT_FALSE(has_index(joined({compressed, compressed})) &&
               by_index(joined({compressed, compressed}))->size() == size);
}

TEST(GunzipByIndex, reads_forward_and_back_the_same) {
  const Bytes bytes = random_bytes(size);
  const Bytes compressed = gzipped(bytes, 6);
  for (const std::size_t step : {9'973u, 131'072u, 524'288u, 1'048'577u, 3'000'000u})
    EXPECT_EQ(read_in_steps(*by_index(compressed), step), bytes) << step;
  const auto source = by_index(compressed);
  EXPECT_EQ(source->size(), size);
  for (std::size_t at = size; at > 60'000; at -= 60'000) {
    Bytes piece(70'000);
    const std::size_t got = source->read_at(at - 60'000, piece);
    ASSERT_EQ(got, std::min<std::size_t>(70'000, size - (at - 60'000)));
    ASSERT_TRUE(std::equal(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got),
                           bytes.begin() + static_cast<std::ptrdiff_t>(at - 60'000)));
  }
  Bytes none(5);
  EXPECT_EQ(source->read_at(size, none), 0);
}

TEST(GunzipByIndex, says_which_member_is_damaged) {
  Bytes compressed = gzipped(random_bytes(size));
  const GzipIndex index = index_of(compressed);
  const std::size_t third = index.members[0].compressed + index.members[1].compressed;
  compressed[third + 1000] ^= std::byte{1};
  const auto source = by_index(compressed);
  Bytes piece(1000);
  EXPECT_EQ(source->read_at(0, piece), 1000);
  const auto error = error_of([&] { static_cast<void>(source->read_at(2 * gzip_block_bytes, piece)); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::corrupt);
  EXPECT_NE(std::string(error->what()).find("gzip member 3"), std::string::npos) << error->what();
  EXPECT_GE(error->offset(), third);
  EXPECT_EQ(source->read_at(3 * gzip_block_bytes, piece), 1000) << "those behind it can be read";
  EXPECT_TRUE(error_of([&] { static_cast<void>(read_in_steps(*source, 100'000)); }));
}

/// An index that agrees with itself and with the file's size, and not with the members.
TEST(GunzipByIndex, finds_an_index_out_that_lies) {
  const Bytes compressed = gzipped(random_bytes(size));
  const Bytes members = members_of(compressed);
  const auto lies = [&](const std::function<void(GzipIndex&)>& change) {
    GzipIndex index = index_of(compressed);
    change(index);
    const auto source = by_index(joined({members, index_bytes(index)}));
    if (!source->size_is_known()) return std::string("no index");
    const auto error = error_of([&] { static_cast<void>(read_in_steps(*source, 100'000)); });
    return error ? std::string(error->what()) : std::string();
  };
  EXPECT_EQ(lies([](GzipIndex&) {}), "");
  EXPECT_NE(lies([](GzipIndex& index) { ++index.members[0].compressed, --index.members[1].compressed; }), "");
  EXPECT_NE(lies([](GzipIndex& index) { --index.members[0].inflated; }), "");
  EXPECT_NE(lies([](GzipIndex& index) { std::swap(index.members[0], index.members.back()); }), "");
  EXPECT_EQ(lies([](GzipIndex& index) { index.members[0].inflated = gzip_block_bytes + 1; }), "no index");
  EXPECT_EQ(lies([](GzipIndex& index) { index.members[0].inflated = 0; }), "no index");
  EXPECT_EQ(lies([](GzipIndex& index) { index.members.pop_back(); }), "no index");
}

TEST(GunzipByIndex, finds_a_second_member_where_the_index_tells_of_one) {
  const Bytes a = gzipped(random_bytes(100, 1)), b = gzipped(random_bytes(200, 2));
  const auto both = static_cast<std::uint32_t>(a.size() + b.size());
  for (const std::uint32_t told : {100u, 200u, 300u}) {
    const Bytes members = joined({a, b});
    const GzipIndex index{.members = {{both, told, crc32(0, members)}}, .level = 1};
    const auto source = by_index(joined({members, index_bytes(index)}));
    ASSERT_EQ(source->size(), told);
    EXPECT_TRUE(error_of([&] { static_cast<void>(read_in_steps(*source, 100'000)); })) << told;
    const auto run = gzip_run(*source, 0, told);
    ASSERT_TRUE(run);
    Bytes bytes;
    EXPECT_TRUE(error_of([&] { read_gzip_member(*run, run->begin, run->members[0], bytes); })) << told;
  }
}

TEST(GunzipByIndex, copies_no_member_with_another_header_and_none_with_flags_that_python_takes) {
  const Bytes a = gzipped(random_bytes(100, 1));
  Bytes b = gzipped(random_bytes(200, 2));
  b[3] = std::byte{0x80};
  Bytes named = b;
  named[3] = std::byte{0x08};
  for (const auto& [members, told] : {std::pair{joined({a, b}), 200u}, std::pair{named, 200u}}) {
    const auto bytes = static_cast<std::uint32_t>(members.size());
    const GzipIndex index{.members = {{bytes, told, crc32(0, members)}}, .level = 1};
    const auto source = by_index(joined({members, index_bytes(index)}));
    const auto run = gzip_run(*source, 0, told);
    ASSERT_TRUE(run);
    Bytes copy;
    EXPECT_TRUE(error_of([&] { read_gzip_member(*run, run->begin, run->members[0], copy); }));
  }
}

TEST(GunzipByIndex, jumps_here_and_there) {
  const Bytes bytes = random_bytes(20 * gzip_block_bytes);
  const auto source = by_index(gzipped(bytes));
  std::mt19937 random(7);
  for (int jump = 0; jump < 200; ++jump) {
    const std::size_t at = random() % (bytes.size() - 2 * gzip_block_bytes);
    for (std::size_t here = at; here < at + 2 * gzip_block_bytes; here += gzip_block_bytes) {
      Bytes piece(1000);
      source->read_exactly(here, piece);
      ASSERT_TRUE(std::equal(piece.begin(), piece.end(), bytes.begin() + static_cast<std::ptrdiff_t>(here)));
    }
  }
}

TEST(GunzipByIndex, may_be_told_what_to_expect) {
  const Bytes bytes = random_bytes(6 * gzip_block_bytes);
  const auto source = by_index(gzipped(bytes));
  const auto part = slice(source, 1000, 3 * gzip_block_bytes, "part");
  for (const std::uint64_t begin :
       {std::uint64_t{0}, std::uint64_t{gzip_block_bytes}, std::uint64_t{5}, bytes.size(), UINT64_MAX})
    for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2'000'000}, UINT64_MAX}) {
      source->expect(begin, count);
      part->expect(begin, count);
      EXPECT_EQ(read_in_steps(*part, 300'000),
                Bytes(bytes.begin() + 1000, bytes.begin() + 1000 + 3 * gzip_block_bytes));
    }
}

TEST(GunzipByIndex, is_gunzip_where_several_threads_may_not_read) {
  const Bytes bytes = random_bytes(size);
  const auto source = gunzip_by_index(gunzipped(gzipped(gzipped(bytes))));
  EXPECT_FALSE(source->size_is_known());
  EXPECT_EQ(read_in_steps(*source, 100'000), bytes);
}

TEST(GunzipByIndex, keeps_to_what_may_come_out) {
  const Bytes compressed = gzipped(random_bytes(size));
  EXPECT_TRUE(error_of([&] { static_cast<void>(gunzip_by_index(memory_source(compressed, "test.gz"), size - 1)); }));
  EXPECT_EQ(gunzip_by_index(memory_source(compressed, "test.gz"), size)->size(), size);
}

}  // namespace
}  // namespace ckpt
