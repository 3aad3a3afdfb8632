#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/eval.h"
#include "runner/batch.h"

namespace ckpt::eval {

/// What was said of one batch, where it was asked for.
struct BatchReading {
  std::uint64_t first = 0, count = 0;
  std::vector<std::int32_t> labels, predicted;
  std::vector<float> confidence, truth, outputs;
};

/// All that one worker has to say.
struct WorkerOutcome {
  Counts counts;
  std::vector<BatchReading> parts;
  double upload_seconds = 0;
  std::uint64_t gpu_peak = 0;
  std::vector<std::string> notes;
};

/// Runs batches on one device. Lives in one thread.
class Worker {
 public:
  virtual ~Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// What the first batch would otherwise wait for.
  virtual void warm_up(std::uint64_t batch_size) = 0;
  /// Counts all of it, or throws and has counted nothing.
  virtual void run(const Batch& batch) = 0;
  /// After an allocation was refused: gives back what is kept for later. Returns the bytes that are free now.
  virtual std::optional<std::uint64_t> relieve() = 0;
  /// What was counted since the last call.
  [[nodiscard]] virtual WorkerOutcome finish() = 0;

 protected:
  Worker() = default;
};

/// A worker that is not there yet. `make` is called in the worker's own thread, so that several get ready at once.
struct WorkerPlan {
  std::string device;  ///< for messages: "cpu", "cuda:1"
  std::function<std::unique_ptr<Worker>()> make;
};

}  // namespace ckpt::eval
