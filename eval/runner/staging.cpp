#include "runner/staging.h"

#include <ATen/ops/empty.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <chrono>
#include <cstring>

namespace ckpt::eval {

void Staging::wait_for(Buffer& buffer) {
  if (!buffer.ended) return;
  buffer.ended->synchronize();
  seconds_ += buffer.begun->elapsedTime(*buffer.ended) / 1000;  // milliseconds
  buffer.begun.reset();
  buffer.ended.reset();
}

double Staging::seconds() {
  for (Buffer& buffer : buffers_) wait_for(buffer);
  return seconds_;
}

Staging::Sent Staging::send(const Batch& batch) {
  const std::size_t label_bytes = batch.count * batch.positions() * sizeof(std::int32_t);
  const std::size_t inputs_at = (label_bytes + 255) / 256 * 256;  // aligned for any load
  const std::size_t input_bytes = batch.count * batch.sample_bytes();
  const auto all = static_cast<std::int64_t>(inputs_at + input_bytes);
  Buffer& buffer = buffers_[turn_];
  turn_ = (turn_ + 1) % buffers_.size();
  wait_for(buffer);
  const bool pinned = device_.is_cuda();
  if (!buffer.host.defined() || buffer.host.numel() < all) {
    buffer.host.reset();  // before the larger one
    buffer.host = at::empty({all}, at::TensorOptions(at::kByte).pinned_memory(pinned));
  }
  at::Tensor there = at::empty({all}, at::TensorOptions(at::kByte).device(device_));
  auto* bytes = buffer.host.mutable_data_ptr<std::uint8_t>();
  std::memcpy(bytes, batch.labels(), label_bytes);
  std::memcpy(bytes + inputs_at, batch.inputs(), input_bytes);

  const auto start = std::chrono::steady_clock::now();
  const at::Tensor from = buffer.host.narrow(0, 0, all);
  if (pinned) {
    const c10::Stream stream = c10::impl::VirtualGuardImpl(device_.type()).getStream(device_);
    c10::Event begun(device_.type(), c10::EventFlag::BACKEND_DEFAULT),
        ended(device_.type(), c10::EventFlag::BACKEND_DEFAULT);
    begun.record(stream);
    there.copy_(from, /*non_blocking=*/true);
    ended.record(stream);
    buffer.begun = std::move(begun);
    buffer.ended = std::move(ended);
  } else {
    there.copy_(from);
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  const auto count = static_cast<std::int64_t>(batch.count);
  const at::Tensor inputs =
      there.narrow(0, static_cast<std::int64_t>(inputs_at), static_cast<std::int64_t>(input_bytes));
  const at::Tensor labels = there.narrow(0, 0, static_cast<std::int64_t>(label_bytes));
  return {(batch.is_float() ? inputs.view(at::kFloat) : inputs).view({count, -1}),
          labels.view(at::kInt).view({count, -1})};
}

}  // namespace ckpt::eval
