#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "runner/sample_layout.h"

namespace ckpt::eval {

/// What is done to a batch on a device before the model and after it.
class DeviceSteps {
 public:
  virtual ~DeviceSteps() = default;
  DeviceSteps(const DeviceSteps&) = delete;
  DeviceSteps& operator=(const DeviceSteps&) = delete;

  /// `inputs` is [count, elements], uint8 or float32; the result float32 [sizes…], channels side by side.
  [[nodiscard]] virtual at::Tensor lay_out(const at::Tensor& inputs, const std::vector<std::int64_t>& sizes) = 0;

  /// What is said of each sample, on the device; undefined where only outputs are kept.
  struct Said {
    at::Tensor predicted, confidence, truth;
  };
  /// Adds to `counters` (int64: correct, not finite, confusion, one to spare). `outputs` is float32 [count, positions *
  /// classes], `labels` int32 [count, positions]. Fails before it has added anything, or not at all.
  virtual Said count(const at::Tensor& outputs, const at::Tensor& labels, const at::Tensor& counters, bool say) = 0;

 protected:
  DeviceSteps() = default;
};

/// Out of ATen's operators: on any device. Says nothing of samples.
[[nodiscard]] std::unique_ptr<DeviceSteps> aten_steps(at::Device device, const SampleLayout& layout);

/// Out of our kernels, on a GPU. Null where libckpt_cuda_kernels.so is not there.
[[nodiscard]] std::unique_ptr<DeviceSteps> kernel_steps(at::Device device, const SampleLayout& layout);

}  // namespace ckpt::eval
