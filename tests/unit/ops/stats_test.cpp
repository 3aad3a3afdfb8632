#include "ckpt/stats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ckpt/assemble.h"
#include "ckpt/error.h"
#include "io/io_testing.h"

namespace ckpt {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

/// One tensor over these numbers; contiguous where no stride is told.
template <class T>
TensorSource source(DType dtype, const std::vector<T>& numbers, std::vector<std::int64_t> shape = {},
                    std::vector<std::int64_t> stride = {}, std::int64_t offset = 0) {
  if (shape.empty()) shape = {static_cast<std::int64_t>(numbers.size())};
  return {.name = "t",
          .dtype = dtype,
          .shape = std::move(shape),
          .stride = std::move(stride),
          .bytes = memory_source(bytes_of(numbers), "numbers"),
          .offset = offset};
}

Figures figures(TensorSource tensor, std::size_t bins = 0) {
  std::vector<TensorSource> tensors;
  tensors.push_back(std::move(tensor));
  return stats(assemble(std::move(tensors)), {{}, {}, bins}).tensors.at(0).figures.value();
}

using Counts = std::vector<std::uint64_t>;

TEST(Stats, OfDoublesAreThoseOfPyTorch) {
  const Figures found = figures(source<double>(DType::float64, {1, 2, 3, 4, 0, -0.0}), 4);
  EXPECT_EQ(found.elements, 6U);
  EXPECT_EQ(found.zeros, 2U);
  EXPECT_EQ(found.min, 0);
  EXPECT_EQ(found.max, 4);
  EXPECT_DOUBLE_EQ(found.mean, 10.0 / 6);
  EXPECT_DOUBLE_EQ(found.std, 1.6329931618554521);
  EXPECT_DOUBLE_EQ(found.norm, std::sqrt(30.0));
  EXPECT_EQ(found.histogram.counts, (Counts{2, 1, 1, 2}));
}

TEST(Stats, LeaveOutWhatIsNotFinite) {
  const Figures found = figures(source<double>(DType::float64, {nan, 1, inf, 3, -inf, -inf}), 2);
  EXPECT_EQ(found.nan, 1U);
  EXPECT_EQ(found.positive_infinity, 1U);
  EXPECT_EQ(found.negative_infinity, 2U);
  EXPECT_EQ(found.min, 1);
  EXPECT_EQ(found.max, 3);
  EXPECT_EQ(found.mean, 2);
  EXPECT_DOUBLE_EQ(found.std, std::sqrt(2.0));
  EXPECT_EQ(found.histogram.counts, (Counts{1, 1}));
}

TEST(Stats, OfNothingFiniteAreNone) {
  const Figures found = figures(source<double>(DType::float64, {nan, inf}), 4);
  EXPECT_TRUE(std::isnan(found.min) && std::isnan(found.max) && std::isnan(found.mean) && std::isnan(found.std));
  EXPECT_EQ(found.norm, 0);
  EXPECT_TRUE(found.histogram.counts.empty());
}

TEST(Stats, OfNoElementsAreNone) {
  const Figures found = figures(source<double>(DType::float64, {}, {0, 3}), 4);
  EXPECT_EQ(found.elements, 0U);
  EXPECT_TRUE(std::isnan(found.mean));
}

TEST(Stats, OfOneElementHaveNoDeviation) {
  const Figures found = figures(source<double>(DType::float64, {5}), 4);
  EXPECT_TRUE(std::isnan(found.std));
  EXPECT_EQ(found.histogram.min, 4);
  EXPECT_EQ(found.histogram.max, 6);
  EXPECT_EQ(found.histogram.counts, (Counts{0, 0, 1, 0}));
}

TEST(Stats, KeepTheirPrecisionBesideALargeMean) {
  std::vector<double> numbers;
  for (int i = 0; i < 100'000; ++i) numbers.push_back(1e9 + i % 2);
  const Figures found = figures(source(DType::float64, numbers));
  EXPECT_DOUBLE_EQ(found.mean, 1e9 + 0.5);
  EXPECT_NEAR(found.std, 0.5000025000187502, 1e-12);
}

TEST(Stats, OfIntegersOf64BitsHaveExactEnds) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min() + 1;
  const Figures found = figures(source<std::int64_t>(DType::int64, {least, 9'007'199'254'740'993}));
  EXPECT_EQ(found.min, static_cast<long double>(least));
  EXPECT_EQ(found.max, 9'007'199'254'740'993.0L);
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(figures(source<std::uint64_t>(DType::uint64, {1, most})).max, static_cast<long double>(most));
}

TEST(Stats, OfComplexNumbersAreOfTheirAbsoluteValues) {
  const Figures found = figures(source<float>(DType::complex64, {3, 4, 0, 0, NAN, 1}, {3}));
  EXPECT_EQ(found.min, 0);
  EXPECT_EQ(found.max, 5);
  EXPECT_EQ(found.zeros, 1U);
  EXPECT_EQ(found.nan, 1U);
}

TEST(Stats, OfAViewCountItsOwnElementsAlone) {
  const std::vector<float> numbers{1, 100, 2, 100, 3, 100};
  const Figures found = figures(source(DType::float32, numbers, {3}, {2}), 2);
  EXPECT_EQ(found.max, 3);
  EXPECT_EQ(found.mean, 2);
  EXPECT_EQ(found.histogram.counts, (Counts{1, 2}));
}

TEST(Stats, OfAnExpandedViewCountWhatItShows) {
  const Figures found = figures(source<float>(DType::float32, {1, 3}, {4, 2}, {0, 1}), 2);
  EXPECT_EQ(found.elements, 8U);
  EXPECT_EQ(found.mean, 2);
  EXPECT_DOUBLE_EQ(found.std, std::sqrt(8.0 / 7));
  EXPECT_EQ(found.histogram.counts, (Counts{4, 4}));
}

TEST(Stats, OfOverlappingWindowsCountWhatTheyShow) {
  const Figures found = figures(source<float>(DType::float32, {1, 2, 3}, {2, 2}, {1, 1}), 2);
  EXPECT_EQ(found.elements, 4U);
  EXPECT_EQ(found.mean, 2);
  EXPECT_EQ(found.histogram.counts, (Counts{1, 3}));
}

TEST(Stats, OfARangeThatADoubleCannotHoldHaveAHistogram) {
  const double most = std::numeric_limits<double>::max();
  EXPECT_EQ(figures(source<double>(DType::float64, {-most, 0, most}), 3).histogram.counts, (Counts{1, 1, 1}));
}

TEST(Stats, OfAllFloatingTensorsAreJoined) {
  TensorSource a = source<float>(DType::float32, {1, 2}), b = source<double>(DType::float64, {6}),
               c = source<std::int64_t>(DType::int64, {1000});
  a.name = "a", b.name = "b", c.name = "c";
  const CheckpointStats found = stats(assemble({a, b, c}), {{}, {}, 5});
  EXPECT_EQ(found.floating_tensors, 2U);
  EXPECT_EQ(found.floating.elements, 3U);
  EXPECT_EQ(found.floating.mean, 3);
  EXPECT_DOUBLE_EQ(found.floating.std, std::sqrt(7.0));
  EXPECT_EQ(found.floating.histogram.counts, (Counts{1, 1, 0, 0, 1}));
}

TEST(Stats, OfSharedNumbersAreCountedOnceInAll) {
  TensorSource a = source<float>(DType::float32, {1, 2});
  TensorSource b = a;
  a.name = "a", b.name = "b";
  const CheckpointStats found = stats(assemble({a, b}));
  EXPECT_EQ(found.tensors.size(), 2U);
  EXPECT_EQ(found.floating_tensors, 1U);
  EXPECT_EQ(found.floating.elements, 2U);
}

TEST(Stats, AreOfWhatTheGlobsName) {
  TensorSource a = source<float>(DType::float32, {1, 2}), b = source<float>(DType::float32, {3});
  a.name = "a.weight", b.name = "a.bias";
  const CheckpointStats found = stats(assemble({a, b}), {{}, {"*.bias"}});
  ASSERT_EQ(found.tensors.size(), 1U);
  EXPECT_EQ(found.tensors[0].name, "a.bias");
  EXPECT_EQ(found.floating.elements, 1U);
}

/// 'w.values' is the part of one tensor and the name of another.
TEST(Stats, SayOfWhichTensorAPartIs) {
  TensorSource a = source<float>(DType::float32, {3}), b = source<float>(DType::float32, {7});
  a.name = "w", b.name = "w.values";
  Checkpoint made = assemble({a, b});
  Tensor& sparse = made.tensors.at(0);
  sparse.parts.push_back({"values", sparse});
  sparse.storage.reset();
  const CheckpointStats found = stats(made);
  ASSERT_EQ(found.tensors.size(), 2U);
  for (const auto& [i, whole] : {std::pair(0, "w"), std::pair(1, "w.values")}) {
    EXPECT_EQ(found.tensors[i].name, "w.values");
    EXPECT_EQ(found.tensors[i].whole, whole);
  }
  EXPECT_EQ(found.tensors[0].figures->max, 3);
}

TEST(Stats, OfARootThatIsNotThereAreRefused) {
  EXPECT_THROW(stats(assemble({source<float>(DType::float32, {1})}), {"nowhere"}), Error);
}

TEST(Stats, ReadAStorageOnceAPassHoweverManyViewIt) {
  constexpr std::int64_t rows = 3000, columns = 100;
  const auto counted = std::make_shared<io_testing::CountingSource>(bytes_of(std::vector<float>(rows * columns, 1.0F)));
  std::vector<TensorSource> tensors;
  for (std::int64_t i = 0; i < columns; ++i) {
    TensorSource column{.name = "c" + std::to_string(i), .dtype = DType::float32, .shape = {rows}};
    column.stride = {columns}, column.offset = i;
    column.bytes = counted;
    tensors.push_back(std::move(column));
  }
  const Checkpoint checkpoint = assemble(std::move(tensors));
  counted->read = 0;
  EXPECT_EQ(stats(checkpoint).floating.elements, static_cast<std::uint64_t>(rows * columns));
  EXPECT_EQ(counted->read, 2 * counted->size());
}

/// Numbers of every kind, in views of every kind, more than a stretch of them.
Checkpoint many_views() {
  constexpr std::int64_t rows = 700, columns = 900;
  std::vector<float> floats(rows * columns);
  for (std::size_t i = 0; i < floats.size(); ++i)
    floats[i] = static_cast<float>(std::sin(static_cast<double>(i) * 0.37) * (i % 1000 == 7 ? 100 : 1));
  floats[123'456] = std::numeric_limits<float>::quiet_NaN();
  std::vector<std::int64_t> integers(100'000);
  for (std::size_t i = 0; i < integers.size(); ++i) integers[i] = static_cast<std::int64_t>(i * i) - 77'777;
  std::vector<TensorSource> tensors;
  const auto add = [&](std::string name, TensorSource tensor) {
    tensor.name = std::move(name);
    tensors.push_back(std::move(tensor));
  };
  add("all", source(DType::float32, floats, {rows, columns}));
  TensorSource view = tensors[0];
  view.shape = {columns, rows}, view.stride = {1, columns};
  add("transposed", view);
  view.shape = {rows - 3, 10}, view.stride = {columns, 3}, view.offset = 5;
  add("columns", view);
  view.shape = {1000, 4}, view.stride = {2, 1}, view.offset = 300'000;
  add("overlapping", view);
  add("integers", source(DType::int64, integers));
  for (int i = 0; i < 600; ++i) add("few" + std::to_string(i), source<double>(DType::float64, {1.0 * i, -0.5, 3}));
  return assemble(std::move(tensors));
}

TEST(Stats, AreTheSameWhateverTheThreads) {
  const Checkpoint checkpoint = many_views();
  const CheckpointStats one = stats(checkpoint, {{}, {}, 20, 1});
  const auto expect_same = [](const Figures& a, const Figures& b) {
    EXPECT_EQ(a.mean, b.mean);
    EXPECT_EQ(a.std, b.std);
    EXPECT_EQ(a.norm, b.norm);
    EXPECT_EQ(a.min, b.min);
    EXPECT_EQ(a.max, b.max);
    EXPECT_EQ(a.nan, b.nan);
    EXPECT_EQ(a.histogram.counts, b.histogram.counts);
  };
  for (const std::size_t threads : {2U, 8U}) {
    const CheckpointStats found = stats(checkpoint, {{}, {}, 20, threads});
    ASSERT_EQ(found.tensors.size(), one.tensors.size());
    for (std::size_t i = 0; i < one.tensors.size(); ++i)
      expect_same(*found.tensors[i].figures, *one.tensors[i].figures);
    expect_same(found.floating, one.floating);
  }
}

TEST(Stats, OfBinsThatFillNoByteAreCounted) {
  std::vector<float> numbers(3000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  for (const std::size_t bins : {255U, 256U, 1000U}) {
    const Figures found = figures(source(DType::float32, numbers), bins);
    ASSERT_EQ(found.histogram.counts.size(), bins);
    for (std::size_t bin = 0; bin < bins; ++bin)
      EXPECT_NEAR(static_cast<double>(found.histogram.counts[bin]), 3000.0 / static_cast<double>(bins), 1.0);
  }
}

TEST(Stats, OfMoreBinsThanStayInMemoryAreRefusedBeforeAnythingIsRead) {
  const auto source_without_bytes = [] {
    return assemble({{.name = "t",
                      .dtype = DType::float32,
                      .shape = {4},
                      .bytes = std::make_shared<io_testing::CountingSource>(io_testing::Bytes(16))}});
  };
  for (const std::size_t bins : {std::size_t{1} << 40, SIZE_MAX}) {
    const Checkpoint checkpoint = source_without_bytes();
    const auto error = io_testing::error_of([&] { stats(checkpoint, {{}, {}, bins}); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::limit_exceeded);
  }
  const Checkpoint empty = assemble({});
  EXPECT_NO_THROW(stats(empty, {{}, {}, SIZE_MAX}));
}

}  // namespace
}  // namespace ckpt
