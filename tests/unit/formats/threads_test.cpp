#include <gtest/gtest.h>

#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "ckpt/assemble.h"
#include "ckpt/average.h"
#include "ckpt/ops.h"
#include "ckpt/tensor_ops.h"
#include "formats/torch_files.h"

namespace ckpt {
namespace {

using io_testing::Bytes;

constexpr std::int64_t side = 200;

/// Matrices of 160 KB, every third one transposed.
Checkpoint model(std::uint32_t matrices = 12, ByteOrder order = ByteOrder::little) {
  std::vector<TensorSource> tensors;
  for (std::uint32_t i = 0; i < matrices; ++i) {
    TensorSource tensor{.name = "w" + std::to_string(i), .dtype = DType::float32, .shape = {side, side}};
    std::vector<float> numbers(side * side);
    for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = static_cast<float>(i + k * 7919 % 104729);
    tensor.bytes = memory_source(torch_testing::floats(numbers), tensor.name);
    tensor.byte_order = order;
    if (i % 3 == 0) tensor.stride = {1, side};
    tensors.push_back(std::move(tensor));
  }
  return assemble(std::move(tensors));
}

/// In members without an index of them.
Bytes gzipped_in_pieces(const Bytes& bytes) {
  constexpr std::size_t piece = 300'000;
  std::vector<Bytes> parts;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    const auto size = static_cast<std::ptrdiff_t>(std::min(piece, bytes.size() - at));
    parts.push_back(io_testing::gzipped(Bytes(begin, begin + size)));
  }
  return io_testing::joined(parts);
}

/// What threads make of copies of one checkpoint, all at once, each of them twice.
std::vector<std::string> in_threads(const Checkpoint& checkpoint) {
  constexpr std::size_t threads = 3;
  std::vector<std::string> totals(2 * threads);
  std::latch begin(threads);
  std::vector<std::thread> running;
  for (std::size_t i = 0; i < threads; ++i)
    running.emplace_back([&begin, copy = checkpoint, total = totals.data() + 2 * i] {
      begin.arrive_and_wait();
      for (const std::size_t turn : {0, 1}) {
        const auto error = io_testing::error_of([&] { total[turn] = digest(copy).total; });
        if (error) total[turn] = error->what();
      }
    });
  for (std::thread& thread : running) thread.join();
  return totals;
}

/// `make` gives the same checkpoint each time.
void expect_the_same_in_threads(const std::function<Checkpoint()>& make) {
  const std::string total = digest(make()).total;
  EXPECT_EQ(in_threads(make()), std::vector<std::string>(6, total));
}

TEST(Threads, ReadCopiesOfWhatIsReadFromGzip) {
  const Bytes file = torch_testing::written(model());
  expect_the_same_in_threads([compressed = gzipped_in_pieces(file)] { return torch_testing::read_bytes(compressed); });
}

TEST(Threads, ReadCopiesOfWhatIsReadFromGzipByItsIndex) {
  const Bytes compressed = io_testing::gzipped(torch_testing::written(model(48)));
  EXPECT_FALSE(io_testing::index_of(compressed).members.empty());
  expect_the_same_in_threads([&] { return torch_testing::read_bytes(compressed); });
}

TEST(Threads, ReadCopiesOfLegacyFilesInGzip) {
  const Bytes file = torch_testing::written_as(model(), "torch-legacy");
  expect_the_same_in_threads([compressed = gzipped_in_pieces(file)] { return torch_testing::read_bytes(compressed); });
}

TEST(Threads, ReadCopiesOfWhatIsCastAndMadeContiguous) {
  const Bytes file = torch_testing::written(model());
  expect_the_same_in_threads(
      [&] { return make_contiguous(cast(torch_testing::read_bytes(file), DType::float16).first).first; });
}

TEST(Threads, ReadCopiesOfAnAverage) {
  expect_the_same_in_threads([] { return average({model(), model(12, ByteOrder::big)}).first; });
}

}  // namespace
}  // namespace ckpt
