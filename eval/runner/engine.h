#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/eval.h"
#include "datasets/dataset.h"
#include "models/model.h"

namespace ckpt::eval {

struct EngineOptions {
  std::optional<std::uint64_t> batch_size;
  Precision precision = Precision::fp32;
  bool predictions = false, outputs = false;
};

/// What an engine has to say at the end.
struct Outcome {
  Counts counts;
  Predictions predictions;     ///< in the order of the samples, where asked for
  std::vector<float> outputs;  ///< likewise
  double upload_seconds = 0;   ///< until a device was ready, and for copying to it
  double run_seconds = 0;      ///< from the first batch begun until all were counted, without copying
  std::uint64_t gpu_peak = 0;
  std::vector<std::string> notes;  ///< a batch that was halved
};

/// Runs samples through a model on one kind of device. Feeding and computing overlap: submit() returns as soon as the
/// samples are queued, and waits only where the queue is full.
///
///     auto engine = cpu_engine(model, {});
///     while (…) engine->submit(data->read(at, n));
///     Outcome outcome = engine->finish();
class Engine {
 public:
  virtual ~Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Throws what a worker has thrown meanwhile.
  virtual void submit(Samples samples) = 0;
  /// How many samples at a time suit submit(): a batch for every worker.
  [[nodiscard]] virtual std::uint64_t chunk() const = 0;
  /// Samples that have been counted so far; from any thread.
  [[nodiscard]] virtual std::uint64_t done() const = 0;
  /// Nothing more will be submitted before finish(): waits for all, at most `patience`. True where all is done, or
  /// something has failed: then finish() will not wait.
  [[nodiscard]] virtual bool ended(std::chrono::milliseconds patience) = 0;
  /// Waits for all that was submitted. Then more may be, for another outcome. Throws what a worker has thrown:
  /// out_of_memory (needed and free bytes, hint: --device cpu).
  [[nodiscard]] virtual Outcome finish() = 0;

 protected:
  Engine() = default;
};

/// One worker a core, each with one intra-op thread. `model` must outlive it.
[[nodiscard]] std::unique_ptr<Engine> cpu_engine(const Model& model, const EngineOptions& options);

/// One worker a device, each with a copy of the weights: what MPS takes, and what cuda_engine() is made of. `model`'s
/// prepare() is called from several threads at once.
[[nodiscard]] std::unique_ptr<Engine> device_engine(const Model& model, const std::vector<at::Device>& devices,
                                                    const EngineOptions& options);

/// One worker a GPU: logical indices of some that load_cuda() has found.
[[nodiscard]] std::unique_ptr<Engine> cuda_engine(const Model& model, const std::vector<int>& gpus,
                                                  const EngineOptions& options);

}  // namespace ckpt::eval
