#include "io/buffer_ring.h"

#include <utility>

namespace ckpt {

void BufferRing::throw_where_stopped() const {
  if (stop_failure_) std::rethrow_exception(stop_failure_);
}

std::span<std::byte> BufferRing::room() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return filled_ - emptied_ < slots_.size() || stopped_; });
  throw_where_stopped();
  if (stopped_) return {};
  Slot& slot = slots_[filled_ % slots_.size()];
  if (!slot.bytes) slot.bytes = std::make_unique_for_overwrite<std::byte[]>(bytes_);
  return {slot.bytes.get(), bytes_};
}

void BufferRing::filled(std::size_t count) {
  const std::lock_guard lock(mutex_);
  slots_[filled_++ % slots_.size()].count = count;
  changed_.notify_one();
}

void BufferRing::end(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  end_failure_ = std::move(failure);
  changed_.notify_one();
}

void BufferRing::wait_until_empty() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return filled_ == emptied_ || stopped_; });
  throw_where_stopped();
}

std::span<const std::byte> BufferRing::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return filled_ > emptied_ || ended_; });
  if (filled_ > emptied_) {
    const Slot& slot = slots_[emptied_ % slots_.size()];
    return {slot.bytes.get(), slot.count};
  }
  if (end_failure_) std::rethrow_exception(std::exchange(end_failure_, nullptr));
  return {};
}

void BufferRing::emptied() {
  const std::lock_guard lock(mutex_);
  ++emptied_;
  changed_.notify_one();
}

void BufferRing::stop(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  stop_failure_ = std::move(failure);
  changed_.notify_one();
}

}  // namespace ckpt
