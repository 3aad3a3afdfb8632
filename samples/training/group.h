#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace training {

/// Those that train together, each with a copy of the model on a device of its own: processes under torchrun, or
/// threads of this process. All take the same steps: a global batch is divided among them, and gradients are added up.
class Group {
 public:
  virtual ~Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  /// Adds up every rank's `values` (contiguous, on the rank's device), in place. All ranks call it in the same order.
  virtual void sum(at::Tensor& values) = 0;

  /// Replaces `tensors` by rank 0's.
  void share(const std::vector<at::Tensor>& tensors);
  /// Adds up gradients, in buckets: a message of 25 MB is faster than many small ones. A parameter without a gradient
  /// counts as zeros.
  void sum_gradients(const std::vector<at::Tensor>& parameters);
  /// Replaces floating `tensors` by their means.
  void average(const std::vector<at::Tensor>& tensors);

  /// Of `count` samples those of this rank: [count * rank / size, count * (rank + 1) / size).
  [[nodiscard]] std::int64_t begin(std::int64_t count) const { return count * rank_ / size_; }
  [[nodiscard]] std::int64_t end(std::int64_t count) const { return count * (rank_ + 1) / size_; }

 protected:
  Group(int rank, int size) : rank_(rank), size_(size) {}

 private:
  void sum_in_buckets(const std::vector<at::Tensor>& tensors);

  const int rank_, size_;
};

/// Calls `train` once for each device that `word` means (device.h), with its group: once in this process under
/// torchrun, else in a thread a device. The first exception ends all and is thrown on.
void train_on(const std::string& word, const std::function<void(Group&, at::Device)>& train);

}  // namespace training
