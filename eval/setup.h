#pragma once

#include <future>
#include <memory>
#include <optional>

#include "ckpt/eval.h"
#include "devices/choose.h"
#include "loading.h"
#include "runner/engine.h"
#include "runner/torch_cuda.h"

namespace ckpt::eval {

/// A model that has been loaded, and the devices to run it on: what evaluation and reading begin with. GPUs are looked
/// for beside the reading of the model, since their driver and libtorch's CUDA half take a second or more to start.
class Setup {
 public:
  /// `options` must outlive it. `local_rank`: among the ranks of this machine. Throws Error: what load_for_evaluation()
  /// throws, and invalid_argument for the device, the shard, the batch size and the normalisation.
  Setup(const Options& options, Observer observer, std::optional<std::uint64_t> local_rank = std::nullopt);

  [[nodiscard]] Model& model() { return *loaded_.model; }
  [[nodiscard]] const LoadedModel& loaded() const { return loaded_; }

  /// Chooses the devices and makes the model ready on them; after Model::bind(). Throws Error: unavailable,
  /// out_of_memory.
  [[nodiscard]] std::unique_ptr<Engine> start(bool predictions, bool outputs);
  /// Of the engine: "cpu", "cuda:0,2"; and the processor with the GPUs' names.
  [[nodiscard]] const std::string& device() const { return device_; }
  [[nodiscard]] const std::string& precision() const { return precision_; }
  [[nodiscard]] const std::string& machine() const { return machine_; }

  void note(const std::string& text) const {
    if (observer_.note) observer_.note(text);
  }

 private:
  struct Accelerators {
    Machine machine;
    TorchCuda cuda;
  };

  [[nodiscard]] const Accelerators* accelerators();
  [[nodiscard]] DeviceChoice choose_device();

  const Options& options_;
  Observer observer_;
  std::optional<std::uint64_t> local_rank_;
  DeviceRequest request_;
  std::future<Accelerators> looking_;
  std::optional<Accelerators> found_;
  LoadedModel loaded_;
  std::string device_ = "cpu", precision_ = "float32", machine_;
};

}  // namespace ckpt::eval
