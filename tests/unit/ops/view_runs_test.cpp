#include "ops/view_runs.h"

#include <gtest/gtest.h>

#include <utility>

#include "ckpt/error.h"

namespace ckpt {
namespace {

using Runs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

ViewRuns runs_of(std::vector<std::int64_t> shape, std::vector<std::int64_t> stride, std::int64_t offset = 0) {
  Storage storage;
  storage.nbytes = 1000;
  TensorInfo info;
  info.dtype = DType::uint8;
  info.shape = std::move(shape), info.stride = std::move(stride), info.offset = offset;
  return {storage, info};
}

/// Addresses and sizes; that what went before is told right is looked at on the way.
Runs within(const ViewRuns& runs, std::uint64_t first, std::uint64_t last) {
  Runs found;
  std::uint64_t before = 0;
  runs.within(0, first, [&](std::uint64_t, std::uint64_t size, std::uint64_t) { before += size; });
  runs.within(first, last, [&](std::uint64_t at, std::uint64_t size, std::uint64_t done) {
    EXPECT_EQ(done, before);
    before += size;
    found.emplace_back(at, size);
  });
  return found;
}

TEST(ViewRuns, OfATransposedTensorAreOne) {
  const ViewRuns runs = runs_of({4, 5}, {1, 4}, 10);
  EXPECT_EQ(within(runs, 0, 1000), (Runs{{10, 20}}));
  EXPECT_EQ(within(runs, 12, 15), (Runs{{12, 3}}));
  EXPECT_EQ(within(runs, 30, 40), Runs());
}

TEST(ViewRuns, OfAColumnAreItsElements) {
  const ViewRuns runs = runs_of({5}, {10}, 3);
  EXPECT_EQ(within(runs, 0, 1000), (Runs{{3, 1}, {13, 1}, {23, 1}, {33, 1}, {43, 1}}));
  EXPECT_EQ(within(runs, 4, 24), (Runs{{13, 1}, {23, 1}}));
  EXPECT_EQ(within(runs, 44, 100), Runs());
}

TEST(ViewRuns, TellWhereTheyGoOn) {
  const ViewRuns column = runs_of({5}, {10}, 3), rows = runs_of({3, 2, 4}, {100, 10, 1}, 7);
  EXPECT_EQ(column.next_at(0), 3u);
  EXPECT_EQ(column.next_at(3), 3u);
  EXPECT_EQ(column.next_at(4), 13u);
  EXPECT_EQ(column.next_at(43), 43u);
  EXPECT_EQ(column.next_at(44), std::nullopt);
  EXPECT_EQ(rows.next_at(19), 19u);
  EXPECT_EQ(rows.next_at(21), 107u);
  EXPECT_EQ(rows.next_at(121), 207u);
}

TEST(ViewRuns, AreCutWhereTheyAreAskedFor) {
  const ViewRuns runs = runs_of({3, 2, 4}, {100, 10, 1}, 7);
  EXPECT_EQ(within(runs, 0, 1000), (Runs{{7, 4}, {17, 4}, {107, 4}, {117, 4}, {207, 4}, {217, 4}}));
  EXPECT_EQ(within(runs, 19, 109), (Runs{{19, 2}, {107, 2}}));
  EXPECT_EQ(within(runs, 50, 90), Runs());
  EXPECT_EQ(within(runs, 121, 208), (Runs{{207, 1}}));
}

TEST(ViewRuns, AnywhereTogetherAreAll) {
  const ViewRuns runs = runs_of({3, 2, 4}, {100, 10, 1}, 7);
  for (std::uint64_t cut = 0; cut < 230; ++cut) {
    std::uint64_t bytes = 0;
    for (const auto& [at, size] : within(runs, 0, cut)) bytes += size;
    for (const auto& [at, size] : within(runs, cut, 1000)) bytes += size;
    EXPECT_EQ(bytes, 24U) << cut;
  }
}

TEST(ViewRuns, LeaveTheStorageNever) { EXPECT_THROW(runs_of({1001}, {1}), Error); }

}  // namespace
}  // namespace ckpt
