#include "io/gzip_member.h"

#include <gtest/gtest.h>

#include "io/checksum.h"
#include "io/stream.h"
#include "io_testing.h"

namespace ckpt {
namespace {

using io_testing::by_index;
using io_testing::Bytes;
using io_testing::error_of;
using io_testing::gunzipped;
using io_testing::index_of;
using io_testing::MemorySink;
using io_testing::patchwork;
using io_testing::random_bytes;
using io_testing::read_in_steps;

Bytes written(const GzipOptions& options, const std::function<void(ByteSink&)>& write) {
  MemorySink target;
  const auto sink = gzip_sink(target, options);
  write(*sink);
  sink->commit();
  return target.bytes();
}

TEST(GzipSink, writes_the_same_whatever_the_threads) {
  const Bytes bytes = patchwork();
  const auto with = [&](std::size_t threads, int level) {
    return written({.level = level, .threads = threads}, [&](ByteSink& sink) { sink.write(bytes); });
  };
  for (const int level : {1, 2, 3, 6}) {
    const Bytes alone = with(1, level);
    for (const std::size_t threads : {2, 8, 40}) EXPECT_EQ(with(threads, level), alone) << level << ", " << threads;
  }
}

TEST(GzipSink, takes_no_more_once_it_is_committed) {
  MemorySink target;
  const auto sink = gzip_sink(target, {.threads = 1});
  sink->write(random_bytes(1000));
  sink->commit();
  const Bytes before = target.bytes();
  EXPECT_TRUE(error_of([&] { sink->write(random_bytes(1)); }));
  EXPECT_TRUE(error_of([&] { sink->write(random_bytes(5'000'000)); }));
  EXPECT_TRUE(error_of([&] { sink->announce(5'000'000); }));
  EXPECT_TRUE(error_of([&] { sink->commit(); }));
  EXPECT_EQ(target.bytes(), before);
}

/// 1 kB, a part of 2 MB, 1 kB, a part of 100 kB, and one that is too small to stand apart.
void write_parts(ByteSink& sink, const Bytes& bytes) {
  std::uint64_t at = 0;
  const auto source = memory_source(bytes, "parts");
  const auto take = [&](std::uint64_t count) {
    copy_range(*source, at, count, sink);
    at += count;
  };
  const auto plain = [&](std::size_t count) {
    sink.write(std::span(bytes).subspan(static_cast<std::size_t>(at), count));
    at += count;
  };
  plain(1000);
  take(2'000'000);
  plain(1000);
  take(100'000);
  plain(1000);
  take(1000);
  plain(1000);
}

TEST(GzipSink, begins_anew_where_a_part_is_announced_and_where_it_ends) {
  const Bytes bytes = random_bytes(3'000'000);
  const Bytes compressed = written({}, [&](ByteSink& sink) { write_parts(sink, bytes); });
  std::vector<std::uint32_t> sizes;
  for (const GzipMember& member : index_of(compressed).members) sizes.push_back(member.inflated);
  constexpr std::uint32_t block = gzip_block_bytes;
  EXPECT_EQ(sizes, (std::vector<std::uint32_t>{1000, block, block, block, 2'000'000 - 3 * block, 1000, 100'000, 3000}));
}

/// The parts of `compressed` once more, from its members.
Bytes copied(const Bytes& compressed, const GzipOptions& options) {
  const auto source = by_index(compressed);
  return written(options, [&](ByteSink& sink) {
    const Bytes head = read_in_steps(*slice(source, 0, 1000, "head"), 1000);
    sink.write(head);
    copy_all(*slice(source, 1000, 2'000'000, "weights"), sink);
    sink.write(read_in_steps(*slice(source, 2'001'000, 1000, "between"), 1000));
    copy_all(*slice(source, 2'002'000, 100'000, "bias"), sink);
    sink.write(read_in_steps(*slice(source, 2'102'000, 3000, "tail"), 3000));
  });
}

TEST(GzipSink, copies_members_as_they_are) {
  const Bytes bytes = random_bytes(3'000'000);
  const Bytes ours = written({}, [&](ByteSink& sink) { write_parts(sink, bytes); });
  EXPECT_EQ(copied(ours, {.copies = true}), ours);
  EXPECT_EQ(copied(ours, {}), ours) << "at the same level";
  const Bytes small = written({.level = 9}, [&](ByteSink& sink) { write_parts(sink, bytes); });
  EXPECT_EQ(copied(ours, {.level = 9}), small) << "at another level they are compressed anew";
  const Bytes mixed = copied(small, {.copies = true});
  EXPECT_EQ(read_in_steps(*gunzipped(mixed), 100'000), read_in_steps(*gunzipped(ours), 100'000));
  EXPECT_EQ(index_of(mixed).members[1].crc32, index_of(small).members[1].crc32);
  EXPECT_EQ(index_of(mixed).level, 0);
}

TEST(GzipSink, copies_no_member_that_is_damaged) {
  const Bytes bytes = random_bytes(3'000'000);
  Bytes ours = written({}, [&](ByteSink& sink) { write_parts(sink, bytes); });
  ours[index_of(ours).members[0].compressed + 5000] ^= std::byte{1};
  const auto error = error_of([&] { copied(ours, {.copies = true}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::corrupt);
}

TEST(GzipSink, tells_the_crc_of_what_it_copies) {
  const Bytes bytes = random_bytes(3'000'000);
  const auto source = by_index(written({}, [&](ByteSink& sink) { write_parts(sink, bytes); }));
  MemorySink target;
  const auto sink = gzip_sink(target);
  EXPECT_EQ(sink->take(*source, 1000, 2'000'000), crc32(0, std::span(bytes).subspan(1000, 2'000'000)));
  EXPECT_EQ(sink->offset(), 2'000'000);
  EXPECT_EQ(sink->take(*source, 1001, 1'999'999), std::nullopt) << "which are no whole members";
  EXPECT_EQ(sink->take(*memory_source(bytes, "bare"), 1000, 2'000'000), std::nullopt);
  EXPECT_EQ(sink->offset(), 2'000'000);
}

/// Takes all but the second of what it is given.
class FailsOnce final : public ByteSink {
 public:
  FailsOnce() : ByteSink("once") {}
  void commit() override {}

 private:
  void append(std::span<const std::byte> /*bytes*/) override {
    if (++calls_ == 2) throw std::bad_alloc();
  }
  int calls_ = 0;
};

TEST(GzipSink, fails_for_good) {
  for (const std::size_t threads : {1, 3}) {
    FailsOnce target;
    const auto sink = gzip_sink(target, {.threads = threads});
    const Bytes block = random_bytes(gzip_block_bytes);
    int failures = 0;
    for (int i = 0; i < 20; ++i) {
      try {
        sink->write(block);
      } catch (const std::bad_alloc&) {
        ++failures;
      }
    }
    EXPECT_GT(failures, 1);
    EXPECT_THROW(sink->commit(), std::bad_alloc);
  }
}

TEST(GzipMember, that_another_may_begin_in_is_not_plain) {
  const std::string header("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
  const auto is_plain = [](const std::string& text) { return is_plain_gzip_member(as_bytes(text)); };
  EXPECT_TRUE(is_plain(header));
  EXPECT_TRUE(is_plain(header + "....\x1f\x8b\x07\x1f\x8b"));
  EXPECT_FALSE(is_plain(header + "....\x1f\x8b\x08"));
  EXPECT_FALSE(is_plain(header + "\x1f\x1f\x8b\x08\xff")) << "flags that are reserved, but that Python takes";
  EXPECT_FALSE(is_plain(header + header));
  EXPECT_FALSE(is_plain(std::string(header).replace(3, 1, "\x08"))) << "a file name";
  EXPECT_FALSE(is_plain(header.substr(0, 9)));
  EXPECT_FALSE(is_plain(""));
}

}  // namespace
}  // namespace ckpt
