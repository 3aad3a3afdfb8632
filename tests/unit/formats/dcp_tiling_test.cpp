#include <gtest/gtest.h>
#include <malloc.h>

#include <numeric>

#include "dcp/joined_source.h"
#include "dcp/tiling.h"
#include "io/io_testing.h"

namespace ckpt::dcp {
namespace {

using io_testing::Bytes;
using io_testing::error_of;
using io_testing::has;
using Numbers = std::vector<std::int64_t>;

struct Box {
  Numbers offsets, sizes;
};

Numbers flat(const std::vector<Box>& boxes) {
  Numbers numbers;
  for (const Box& box : boxes) {
    numbers.insert(numbers.end(), box.offsets.begin(), box.offsets.end());
    numbers.insert(numbers.end(), box.sizes.begin(), box.sizes.end());
  }
  return numbers;
}

Tiling tile(const Numbers& shape, const std::vector<Box>& boxes) {
  Steps steps(1000);
  return {shape, flat(boxes), steps};
}

std::uint64_t count_of(const Numbers& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::uint64_t{1},
                         [](std::uint64_t a, std::int64_t b) { return a * static_cast<std::uint64_t>(b); });
}

/// A tensor of bytes 0, 1, 2 …, cut into the boxes and joined again, read in steps of `step`.
Bytes joined(const Numbers& shape, const std::vector<Box>& boxes, std::size_t step) {
  std::vector<ByteSourcePtr> chunks;
  for (const Box& box : boxes) {
    Bytes bytes;
    for (std::uint64_t i = 0; i < count_of(box.sizes); ++i) {
      std::uint64_t rest = i, place = 0, scale = 1;
      for (std::size_t d = shape.size(); d-- > 0;) {
        const auto size = static_cast<std::uint64_t>(box.sizes[d]);
        place += (static_cast<std::uint64_t>(box.offsets[d]) + rest % size) * scale;
        rest /= size;
        scale *= static_cast<std::uint64_t>(shape[d]);
      }
      bytes.push_back(static_cast<std::byte>(place));
    }
    chunks.push_back(memory_source(bytes, "chunk"));
  }
  const auto source =
      joined_source("w", tile(shape, boxes), 1, count_of(shape), std::move(chunks), std::make_shared<ReadAhead>());
  return io_testing::read_in_steps(*source, step);
}

void expect_joined(const Numbers& shape, const std::vector<Box>& boxes) {
  Bytes expected(count_of(shape));
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<std::byte>(i);
  for (const std::size_t step : {1u, 2u, 3u, 7u, 1000u}) EXPECT_EQ(joined(shape, boxes, step), expected) << step;
}

std::string refusal(const Numbers& shape, const std::vector<Box>& boxes) {
  const auto error = error_of([&] { (void)tile(shape, boxes); });
  return error ? error->what() : "";
}

TEST(Tiling, ShardsOfRowsAreJoined) { expect_joined({5, 3}, {{{3, 0}, {2, 3}}, {{0, 0}, {3, 3}}}); }

TEST(Tiling, ShardsOfColumnsAreJoined) {
  expect_joined({4, 7}, {{{0, 0}, {4, 2}}, {{0, 2}, {4, 4}}, {{0, 6}, {4, 1}}});
}

TEST(Tiling, AGridIsJoined) {
  expect_joined({5, 5}, {{{0, 0}, {3, 2}}, {{0, 2}, {3, 3}}, {{3, 0}, {2, 2}}, {{3, 2}, {2, 3}}});
}

TEST(Tiling, BoxesThatAreNoGridAreJoined) {
  expect_joined({4, 4}, {{{0, 0}, {1, 3}}, {{0, 3}, {3, 1}}, {{3, 1}, {1, 3}}, {{1, 0}, {3, 1}}, {{1, 1}, {2, 2}}});
}

TEST(Tiling, ThreeDimensionsAreJoined) {
  expect_joined({2, 5, 3}, {{{0, 0, 0}, {2, 3, 3}}, {{0, 3, 0}, {2, 2, 1}}, {{0, 3, 1}, {2, 2, 2}}});
}

TEST(Tiling, EmptyBoxesHoldNothing) { expect_joined({2}, {{{0}, {2}}, {{2}, {0}}, {{9}, {0}}}); }

TEST(Tiling, AShardOfRowsIsOneRun) {
  const Tiling tiling = tile({4, 3}, {{{0, 0}, {2, 3}}, {{2, 0}, {2, 3}}});
  const auto run = tiling.run_at(7);
  EXPECT_EQ(run.box, 1u);
  EXPECT_EQ(run.first, 1u);
  EXPECT_EQ(run.count, 5u);
}

TEST(Tiling, AnElementThatNoBoxHoldsIsNamed) {
  EXPECT_TRUE(has(refusal({4, 4}, {{{0, 0}, {4, 2}}, {{0, 2}, {3, 2}}}), "no chunk holds the element [3, 2]"));
  EXPECT_TRUE(has(refusal({4}, {{{1}, {3}}}), "no chunk holds the element [0]"));
  EXPECT_TRUE(has(refusal({4}, {}), "no chunk holds the element [0]"));
}

TEST(Tiling, AnElementThatTwoBoxesHoldIsNamed) {
  EXPECT_TRUE(has(refusal({4}, {{{0}, {3}}, {{2}, {2}}}), "2 chunks hold the element [2]"));
  EXPECT_TRUE(has(refusal({2, 4}, {{{0, 0}, {2, 3}}, {{1, 2}, {1, 2}}, {{0, 3}, {1, 1}}}), "hold the element [1, 2]"));
}

TEST(Tiling, ABoxThatLeavesTheTensorIsNamed) {
  EXPECT_TRUE(has(refusal({4}, {{{2}, {3}}}), "a chunk at [2] of shape [3], expected one within"));
  EXPECT_TRUE(has(refusal({4}, {{{INT64_MAX}, {INT64_MAX}}}), "a chunk at ["));
}

TEST(Tiling, WhatLiesInChunksBehindAFailedReadIsReadAgain) {
  // Windows are given back as they are used up: reading twice gives the same.
  const std::vector<Box> boxes{{{0, 0}, {3, 1}}, {{0, 1}, {3, 2}}};
  const auto source = joined_source("w", tile({3, 3}, boxes), 1, 9,
                                    {memory_source(Bytes(3, std::byte{1}), "a"), memory_source(Bytes(6), "b")},
                                    std::make_shared<ReadAhead>());
  EXPECT_EQ(io_testing::read_in_steps(*source, 2), io_testing::read_in_steps(*source, 5));
}

TEST(Tiling, WhatChunksHeldIsGivenBackOnceItHasBeenRead) {
  constexpr std::size_t rows = 50'000, tensors = 20;
  const auto room = std::make_shared<ReadAhead>();
  const ByteSourcePtr column = memory_source(Bytes(rows), "column");
  std::vector<ByteSourcePtr> sources;
  for (std::size_t i = 0; i < tensors; ++i)
    sources.push_back(joined_source("w", tile({rows, 2}, {{{0, 0}, {rows, 1}}, {{0, 1}, {rows, 1}}}), 1, 2 * rows,
                                    {column, column}, room));
  const std::size_t before = ::mallinfo2().uordblks;
  Bytes piece(1000);
  for (const ByteSourcePtr& source : sources)
    for (std::uint64_t at = 0; at < source->size(); at += piece.size()) source->read_exactly(at, piece);
  EXPECT_LT(::mallinfo2().uordblks, before + tensors * rows / 10);
}

}  // namespace
}  // namespace ckpt::dcp
