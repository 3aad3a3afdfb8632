#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "ckpt/eval.h"
#include "datasets/dataset.h"

namespace ckpt::eval {

/// What goes through a model at once: some consecutive ones of the samples that were submitted together.
struct Batch {
  std::shared_ptr<const Samples> samples;
  std::uint64_t offset = 0, count = 0;

  [[nodiscard]] std::uint64_t first() const { return samples->first + offset; }
  [[nodiscard]] const std::byte* inputs() const { return samples->inputs.data() + offset * sample_bytes(); }
  [[nodiscard]] std::size_t sample_bytes() const { return samples->inputs.size() / samples->count; }
  [[nodiscard]] bool is_float() const { return samples->dtype == DType::float32; }
  /// `positions` a sample.
  [[nodiscard]] const std::int32_t* labels() const { return samples->labels.data() + offset * positions(); }
  [[nodiscard]] std::size_t positions() const { return samples->labels.size() / samples->count; }
  [[nodiscard]] Batch part(std::uint64_t from, std::uint64_t most) const;
};

/// How many samples go at once.
struct BatchSize {
  std::uint64_t most = 1;
  bool exact = false;  ///< the user's own: never less where there are as many
};

/// The user's own, or what suits the device.
[[nodiscard]] BatchSize batch_size(const Signature& signature, std::optional<std::uint64_t> wanted, bool on_gpu);

/// Numbers in one sample's input; 1 where the signature does not tell.
[[nodiscard]] std::uint64_t input_elements(const Signature& signature);

/// Cuts what was submitted into batches of about the same size, so that each of `workers` gets some. How depends on
/// nothing but the numbers: the same run gives the same batches.
[[nodiscard]] std::vector<Batch> cut(Samples samples, const BatchSize& size, std::size_t workers);

/// Batches on their way to workers, in order. Holds some MiB of them, or those of one submission.
class BatchQueue {
 public:
  /// Waits while the queue is full. False once it was aborted.
  bool push(std::vector<Batch> batches);
  /// Waits for a batch. None when all are gone and the queue is closed, or once it was aborted.
  [[nodiscard]] std::optional<Batch> pop();
  /// No more will come, until it is opened again.
  void close();
  void open();
  /// Nobody waits any longer, and what is in the queue is dropped.
  void abort();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> batches_;
  std::uint64_t bytes_ = 0;
  bool closed_ = false, aborted_ = false;
};

}  // namespace ckpt::eval
