#include <ATen/Context.h>

#include <utility>

#include "ckpt/error.h"
#include "runner/device_worker.h"
#include "runner/engine.h"
#include "runner/pool.h"

namespace ckpt::eval {
namespace {

/// TF32 on GPUs is libtorch's setting for the whole process, on for convolutions unless told otherwise.
class Tf32 {
 public:
  explicit Tf32(bool allowed)
      : convolutions_(at::globalContext().allowTF32CuDNN()), products_(at::globalContext().allowTF32CuBLAS()) {
    set(allowed, allowed);
  }
  ~Tf32() { set(convolutions_, products_); }
  Tf32(const Tf32&) = delete;
  Tf32& operator=(const Tf32&) = delete;

 private:
  static void set(bool convolutions, bool products) {
    at::globalContext().setAllowTF32CuDNN(convolutions);
    at::globalContext().setAllowTF32CuBLAS(products);
  }
  bool convolutions_, products_;
};

}  // namespace

std::unique_ptr<Engine> device_engine(const Model& model, const std::vector<at::Device>& devices,
                                      const EngineOptions& options) {
  if (devices.empty()) throw Error(ErrorCode::invalid_argument, "no device to run on");
  const auto tf32 = std::make_shared<Tf32>(options.precision == Precision::tf32);  // as long as the plans live
  std::vector<WorkerPlan> plans;
  for (const at::Device device : devices) {
    plans.push_back({device.str(), [&model, device, options, tf32] { return device_worker(model, device, options); }});
  }
  const BatchSize size = batch_size(model.signature(), options.batch_size, !devices.front().is_cpu());
  return std::make_unique<Pool>(std::move(plans), size, model.signature());
}

std::unique_ptr<Engine> cuda_engine(const Model& model, const std::vector<int>& gpus, const EngineOptions& options) {
  std::vector<at::Device> devices;
  for (const int gpu : gpus) devices.emplace_back(at::kCUDA, static_cast<c10::DeviceIndex>(gpu));
  return device_engine(model, devices, options);
}

}  // namespace ckpt::eval
