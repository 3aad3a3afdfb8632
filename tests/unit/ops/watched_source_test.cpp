#include "ops/watched_source.h"

#include <gtest/gtest.h>

#include <array>

#include "ckpt/error.h"
#include "io/bytes.h"
#include "io/checksum.h"

namespace ckpt {
namespace {

constexpr std::string_view text = "0123456789";

std::shared_ptr<WatchedSource> watched(std::uint32_t recorded) {
  const auto bytes = as_bytes(text);
  auto whole = memory_source(std::vector<std::byte>(bytes.begin(), bytes.end()), "whole");
  return std::make_shared<WatchedSource>(slice(std::move(whole), 0, text.size(), "member", recorded));
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
