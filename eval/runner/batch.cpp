#include "runner/batch.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace ckpt::eval {
namespace {

constexpr std::uint64_t queue_bytes = 8 << 20;

}  // namespace

Batch Batch::part(std::uint64_t from, std::uint64_t most) const {
  return {samples, offset + from, std::min(most, count - from)};
}

std::uint64_t input_elements(const Signature& signature) {
  std::uint64_t elements = 1;
  for (const std::int64_t extent : signature.input)
    elements *= static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 1));
  return elements;
}

BatchSize batch_size(const Signature& signature, std::optional<std::uint64_t> wanted, bool on_gpu) {
  if (wanted) return {std::max<std::uint64_t>(*wanted, 1), true};
  // Pictures go through convolutions, which make some 16 numbers of each that goes in. A core's batch should stay in
  // its caches with them; a GPU wants work for all of its multiprocessors, and memory that every card has.
  const std::uint64_t growth = signature.input.size() == 3 ? 16 : 1;
  const std::uint64_t numbers = input_elements(signature) * growth;
  const std::uint64_t room = on_gpu ? 1U << 26 : 1U << 19;
  const auto fits = [numbers](std::uint64_t some) {
    return std::bit_floor(std::max<std::uint64_t>(some / numbers, 1));
  };
  // Past the caches some at once are faster still, as far as memory is not the matter.
  const std::uint64_t least = std::min<std::uint64_t>(fits(on_gpu ? 1U << 30 : 1U << 26), on_gpu ? 64 : 16);
  const std::uint64_t most = on_gpu ? 8192 : 512;
  return {std::clamp(fits(room), least, most), false};
}

std::vector<Batch> cut(Samples samples, const BatchSize& size, std::size_t workers) {
  const auto shared = std::make_shared<const Samples>(std::move(samples));
  const std::uint64_t all = shared->count;
  std::vector<Batch> batches;
  if (size.exact) {
    for (std::uint64_t at = 0; at < all; at += size.most)
      batches.push_back({shared, at, std::min(size.most, all - at)});
    return batches;
  }
  const std::uint64_t fair = std::max<std::uint64_t>((all + workers - 1) / workers, 1);
  const std::uint64_t most = std::min(size.most, fair);
  const std::uint64_t pieces = (all + most - 1) / most;
  for (std::uint64_t piece = 0; piece < pieces; ++piece) {
    const std::uint64_t from = all * piece / pieces;
    batches.push_back({shared, from, all * (piece + 1) / pieces - from});
  }
  return batches;
}

bool BatchQueue::push(std::vector<Batch> batches) {
  std::uint64_t bytes = 0;
  for (const Batch& batch : batches) bytes += batch.count * batch.sample_bytes();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return aborted_ || batches_.empty() || bytes_ + bytes <= queue_bytes; });
  if (aborted_) return false;
  bytes_ += bytes;
  for (Batch& batch : batches) batches_.push_back(std::move(batch));
  changed_.notify_all();
  return true;
}

std::optional<Batch> BatchQueue::pop() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return aborted_ || closed_ || !batches_.empty(); });
  if (aborted_ || batches_.empty()) return std::nullopt;
  Batch batch = std::move(batches_.front());
  batches_.pop_front();
  bytes_ -= batch.count * batch.sample_bytes();
  changed_.notify_all();
  return batch;
}

void BatchQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void BatchQueue::open() {
  const std::lock_guard lock(mutex_);
  closed_ = false;
}

void BatchQueue::abort() {
  const std::lock_guard lock(mutex_);
  aborted_ = true;
  batches_.clear();
  changed_.notify_all();
}

}  // namespace ckpt::eval
