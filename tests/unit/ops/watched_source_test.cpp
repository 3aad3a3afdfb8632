#include "ops/watched_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "ckpt/error.h"
#include "io/bytes.h"
#include "io/checksum.h"

namespace ckpt {
namespace {

constexpr std::string_view text = "0123456789";

std::shared_ptr<WatchedSource> watched(std::uint32_t recorded, Compared compared = Compared::at_once) {
  const auto bytes = as_bytes(text);
  auto whole = memory_source(std::vector<std::byte>(bytes.begin(), bytes.end()), "whole");
  return std::make_shared<WatchedSource>(slice(std::move(whole), 0, text.size(), "member", recorded), compared);
}

void read(const WatchedSource& source, std::uint64_t offset, std::size_t size) {
  std::vector<std::byte> out(size);
  source.read_exactly(offset, out);
}

const std::uint32_t right = crc32(0, as_bytes(text)), wrong = right ^ 1;

TEST(WatchedSource, TheReadThatCompletesItCompares) {
  const auto good = watched(right), bad = watched(wrong);
  for (const auto& source : {good, bad}) read(*source, 0, 4);
  read(*good, 4, 6);
  EXPECT_THROW(read(*bad, 4, 6), Error);
}

TEST(WatchedSource, OverlapsAndRepetitionsCountOnce) {
  const auto good = watched(right), bad = watched(wrong);
  for (const auto& source : {good, bad}) {
    read(*source, 0, 6);
    read(*source, 2, 2);
    read(*source, 0, 6);
  }
  read(*good, 3, 7);
  EXPECT_THROW(read(*bad, 3, 7), Error);
}

TEST(WatchedSource, WhatIsReadAheadIsPutTogether) {
  const auto good = watched(right), bad = watched(wrong);
  for (const auto& source : {good, bad}) {
    read(*source, 6, 2);
    read(*source, 8, 2);
    read(*source, 7, 2);
    read(*source, 0, 3);
  }
  read(*good, 3, 3);
  EXPECT_THROW(read(*bad, 3, 3), Error);
}

TEST(WatchedSource, WhatIsAskedTellsThenAndNotBefore) {
  const auto good = watched(right, Compared::when_asked), bad = watched(wrong, Compared::when_asked);
  for (const auto& source : {good, bad}) {
    read(*source, 0, 4);
    source->compare();
    read(*source, 4, 6);
  }
  good->compare();
  good->finish();
  EXPECT_THROW(bad->compare(), Error);
  EXPECT_THROW(bad->finish(), Error);
}

TEST(WatchedSource, WhatWasReadAheadIsJoinedByAReadThatOverlaps) {
  const auto good = watched(right), bad = watched(wrong);
  for (const auto& source : {good, bad}) {
    read(*source, 0, 4);
    read(*source, 6, 4);
  }
  read(*good, 2, 4);
  EXPECT_THROW(read(*bad, 2, 4), Error);
}

TEST(WatchedSource, SeveralThreadsMayReadIt) {
  for (const bool is_right : {true, false}) {
    std::vector<std::byte> bytes(1 << 20);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 >> 3);
    const std::uint32_t crc = crc32(0, bytes) ^ (is_right ? 0 : 1);
    const std::uint64_t size = bytes.size();
    const WatchedSource source(slice(memory_source(std::move(bytes), "whole"), 0, size, "member", crc));
    std::atomic<std::uint64_t> next = 0;
    std::atomic<int> refused = 0;
    const auto read_some = [&] {
      for (std::uint64_t at = next.fetch_add(1000); at < size; at = next.fetch_add(1000)) {
        try {
          read(source, at, static_cast<std::size_t>(std::min<std::uint64_t>(1000, size - at)));
        } catch (const Error&) {
          ++refused;
        }
      }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(read_some);
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(refused,
              is_right ? 0 : 1);  // the one that completed it; none, where gaps were left by who was far behind
    bool told = false;
    try {
      source.finish();
    } catch (const Error&) {
      told = true;
    }
    EXPECT_EQ(told, !is_right);
  }
}

TEST(WatchedSource, FinishReadsWhatIsLeft) {
  const auto good = watched(right), bad = watched(wrong);
  for (const auto& source : {good, bad}) read(*source, 8, 2);
  good->finish();
  EXPECT_THROW(bad->finish(), Error);
}

TEST(WatchedSource, IsWatchedOnce) {
  const auto once = watched(right);
  EXPECT_EQ(watch(once), once);
  EXPECT_NE(watch(memory_source({}, "bare")), nullptr);
}

TEST(WatchedSource, OnlyStoragesWithAChecksumAreReadToTheirEnd) {
  Checkpoint checkpoint;
  checkpoint.storages.resize(2);
  checkpoint.storages[0].bytes = slice(memory_source({}, "cut"), 0, 0, "cut");
  checkpoint.storages[1].bytes = watched(right);
  EXPECT_NO_THROW(finish_watching(watched_storages(checkpoint)));
  checkpoint.storages[1].bytes = watched(wrong);
  EXPECT_THROW(finish_watching(watched_storages(checkpoint)), Error);
}

}  // namespace
}  // namespace ckpt
