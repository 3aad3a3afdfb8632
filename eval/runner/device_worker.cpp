#include "runner/device_worker.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <utility>

#include "runner/device_steps.h"
#include "runner/memory.h"
#include "runner/sample_layout.h"
#include "runner/staging.h"

namespace ckpt::eval {
namespace {

// What samples say is held on the device until the end, unless there are more numbers than this.
constexpr std::int64_t held_most = 64 << 20;

/// What the device has to say of one batch, still there.
struct Held {
  BatchReading part;
  at::Tensor outputs;  // undefined where neither asked for nor needed
  DeviceSteps::Said said;
};

template <typename T>
std::vector<T> values_of(const at::Tensor& here) {
  const T* values = here.const_data_ptr<T>();
  return {values, values + here.numel()};
}

class DeviceWorker final : public Worker {
 public:
  DeviceWorker(const Model& model, at::Device device, const EngineOptions& options)
      : device_(device), guard_(device), options_(options), layout_(model.signature()), staging_(device) {
    // cuda_engine() has loaded it; what follows asks for memory before anything else would do this.
    at::globalContext().lazyInitDevice(device.type());
    if (device.is_cuda()) {
      steps_ = kernel_steps(device, layout_);
      if (!steps_) notes_.emplace_back("libckpt_cuda_kernels.so is not there: ATen's operators do its work");
    }
    if (!steps_) steps_ = aten_steps(device, layout_);
    counters_ = at::zeros({static_cast<std::int64_t>(layout_.bins()) + 3}, at::TensorOptions(at::kLong).device(device));
    network_ = model.prepare(device, options.precision);
  }

  // Libraries are loaded and initialised, kernels found, memory taken: all by a batch that counts for nothing.
  void warm_up(std::uint64_t wanted) override {
    const Signature& signature = layout_.signature();
    const std::uint64_t count = std::min(wanted, batch_size(signature, {}, true).most);
    if (device_.is_cpu() || signature.input.empty()) return;
    auto nothing = std::make_shared<Samples>();
    nothing->count = count;
    nothing->inputs.resize(count * input_elements(signature));
    nothing->labels.resize(count * static_cast<std::size_t>(signature.positions), -1);
    const Batch batch{std::move(nothing), 0, count};
    const auto [inputs, labels] = staging_.send(batch);
    const at::Tensor outputs =
        layout_.checked(network_->logits(steps_->lay_out(inputs, layout_.sizes(batch))), batch.count);
    static_cast<void>(steps_->count(outputs, labels, at::zeros_like(counters_), options_.predictions));
    synchronize();
    seconds_before_ = staging_.seconds();
  }

  void run(const Batch& batch) override {
    if (held_numbers_ > held_most) read_back();
    const auto [inputs, labels] = staging_.send(batch);
    const at::Tensor outputs =
        layout_.checked(network_->logits(steps_->lay_out(inputs, layout_.sizes(batch))), batch.count);
    Held held{part_of(batch, options_.predictions), {}, {}};
    if (held_.size() == held_.capacity()) held_.reserve(2 * held_.size() + 16);  // nothing may fail after counting
    held.said = steps_->count(outputs, labels, counters_, options_.predictions);
    counted_ += batch.count;
    if (!options_.predictions && !options_.outputs) return;
    if (options_.outputs || !held.said.predicted.defined()) held.outputs = outputs;
    held_.push_back(std::move(held));
    held_numbers_ += outputs.numel() + labels.numel();
  }

  std::optional<std::uint64_t> relieve() override {
    release_cached_memory(device_);
    return free_memory(device_);
  }

  WorkerOutcome finish() override {
    const at::Tensor counters = download(counters_);
    read_back();  // waits for the counters, too
    const auto* values = counters.const_data_ptr<std::int64_t>();
    WorkerOutcome tally{
        .parts = std::exchange(parts_, {}), .gpu_peak = peak_memory(device_), .notes = std::exchange(notes_, {})};
    tally.upload_seconds = staging_.seconds() - seconds_before_;
    seconds_before_ += tally.upload_seconds;
    tally.counts = {.samples = std::exchange(counted_, 0),
                    .correct = static_cast<std::uint64_t>(values[0]),
                    .not_finite = static_cast<std::uint64_t>(values[1])};
    tally.counts.confusion.assign(values + 2, values + 2 + layout_.bins());
    counters_.zero_();
    return tally;
  }

 private:
  void synchronize() const {
    if (!device_.is_cpu()) c10::impl::VirtualGuardImpl(device_.type()).getStream(device_).synchronize();
  }

  /// Under way only: there once the stream has been waited for. What an earlier try that ran out of memory has brought
  /// down stays as it is.
  [[nodiscard]] at::Tensor download(const at::Tensor& there) const {
    if (!there.defined() || there.is_cpu()) return there;
    at::Tensor here = at::empty(there.sizes(), at::TensorOptions(there.scalar_type()).pinned_memory(device_.is_cuda()));
    here.copy_(there, /*non_blocking=*/true);
    return here;
  }

  void read_back() {
    for (Held& held : held_) {
      held.outputs = download(held.outputs);
      held.said = {download(held.said.predicted), download(held.said.confidence), download(held.said.truth)};
    }
    synchronize();
    for (; !held_.empty(); held_.pop_back()) {
      const Held& held = held_.back();
      BatchReading part = held.part;
      if (held.said.predicted.defined()) {
        part.predicted = values_of<std::int32_t>(held.said.predicted);
        part.confidence = values_of<float>(held.said.confidence);
        part.truth = values_of<float>(held.said.truth);
        if (held.outputs.defined()) part.outputs = values_of<float>(held.outputs);
      } else {
        const auto* outputs = held.outputs.const_data_ptr<float>();
        read_outputs(part, outputs, layout_, options_.predictions, options_.outputs);
      }
      parts_.push_back(std::move(part));
    }
    held_numbers_ = 0;
  }

  const c10::InferenceMode inference_;  // of this thread
  at::Device device_;
  const c10::DeviceGuard guard_;
  EngineOptions options_;
  SampleLayout layout_;
  std::unique_ptr<DeviceSteps> steps_;
  Staging staging_;
  at::Tensor counters_;
  std::shared_ptr<const Network> network_;
  std::uint64_t counted_ = 0;
  std::vector<Held> held_;
  std::int64_t held_numbers_ = 0;
  std::vector<BatchReading> parts_;
  std::vector<std::string> notes_;
  double seconds_before_ = 0;  // that copies took which are not of this round
};

}  // namespace

std::unique_ptr<Worker> device_worker(const Model& model, at::Device device, const EngineOptions& options) {
  return std::make_unique<DeviceWorker>(model, device, options);
}

}  // namespace ckpt::eval
