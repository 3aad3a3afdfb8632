#include <ATen/ops/empty.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include "ckpt/error.h"
#include "kernels/kernels.h"
#include "runner/device_steps.h"

namespace ckpt::eval {
namespace {

struct Kernels {
  ckpt_cuda_layout_function* lay_out = nullptr;
  ckpt_cuda_count_function* count = nullptr;
};

Kernels load_kernels() {
  // Found by this library's own search path, which begins with the folder that it lies in. Never unloaded.
  void* library = dlopen("libckpt_cuda_kernels.so", RTLD_NOW | RTLD_LOCAL);
  if (!library) return {};
  auto* version = reinterpret_cast<ckpt_cuda_version_function*>(dlsym(library, "ckpt_cuda_version"));
  if (!version || version() != ckpt_cuda_kernels_version) return {};
  return {reinterpret_cast<ckpt_cuda_layout_function*>(dlsym(library, "ckpt_cuda_lay_out")),
          reinterpret_cast<ckpt_cuda_count_function*>(dlsym(library, "ckpt_cuda_count_outputs"))};
}

class KernelSteps final : public DeviceSteps {
 public:
  KernelSteps(at::Device device, const SampleLayout& layout, const Kernels& kernels)
      : device_(device), layout_(layout), kernels_(kernels) {}

  at::Tensor lay_out(const at::Tensor& inputs, const std::vector<std::int64_t>& sizes) override {
    const bool is_float = inputs.scalar_type() == at::kFloat;
    if (is_float && layout_.channels() == 1) return inputs.view(sizes);
    at::Tensor output = at::empty(sizes, at::TensorOptions(at::kFloat).device(device_), layout_.memory_format());
    check(kernels_.lay_out, ckpt_cuda_layout{
                                .device = device_.index(),
                                .stream = stream(),
                                .input = inputs.const_data_ptr(),
                                .is_float = is_float,
                                .output = output.mutable_data_ptr<float>(),
                                .samples = inputs.size(0),
                                .channels = layout_.channels(),
                                .pixels = inputs.size(1) / layout_.channels(),
                                .mean = layout_.mean(),
                                .std = layout_.std(),
                            });
    return output;
  }

  Said count(const at::Tensor& outputs, const at::Tensor& labels, const at::Tensor& counters, bool say) override {
    Said said;
    if (say) {
      said.predicted = at::empty(labels.sizes(), labels.options());
      said.confidence = at::empty({outputs.size(0)}, outputs.options());
      said.truth = at::empty({outputs.size(0)}, outputs.options());
    }
    const auto [positions, classes] = layout_.scale();
    check(kernels_.count, ckpt_cuda_count{
                              .device = device_.index(),
                              .stream = stream(),
                              .outputs = outputs.const_data_ptr<float>(),
                              .labels = labels.const_data_ptr<std::int32_t>(),
                              .samples = outputs.size(0),
                              .positions = positions,
                              .classes = classes,
                              .counters = static_cast<std::uint64_t*>(counters.mutable_data_ptr()),
                              .predicted = say ? said.predicted.mutable_data_ptr<std::int32_t>() : nullptr,
                              .confidence = say ? said.confidence.mutable_data_ptr<float>() : nullptr,
                              .truth = say ? said.truth.mutable_data_ptr<float>() : nullptr,
                          });
    return said;
  }

 private:
  [[nodiscard]] void* stream() const {
    return c10::impl::VirtualGuardImpl(device_.type()).getStream(device_).native_handle();
  }

  template <typename Job>
  void check(const char* (*launch)(const Job*), const Job& job) const {
    if (const char* words = launch(&job)) {
      throw Error(ErrorCode::unavailable, device_.str() + " does not run our kernels: " + words).hint("--device cpu");
    }
  }

  at::Device device_;
  const SampleLayout& layout_;
  const Kernels kernels_;
};

}  // namespace

std::unique_ptr<DeviceSteps> kernel_steps(at::Device device, const SampleLayout& layout) {
  static const Kernels kernels = load_kernels();
  if (!kernels.lay_out || !kernels.count) return nullptr;
  return std::make_unique<KernelSteps>(device, layout, kernels);
}

}  // namespace ckpt::eval
