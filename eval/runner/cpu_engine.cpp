#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>

#include <atomic>
#include <mutex>
#include <utility>

#include "ckpt/cores.h"
#include "runner/engine.h"
#include "runner/memory.h"
#include "runner/pool.h"
#include "runner/sample_layout.h"

namespace ckpt::eval {
namespace {

/// What all workers share. The network is made by the first that gets there.
class CpuPart {
 public:
  CpuPart(const Model& its_model, const EngineOptions& its_options)
      : model(its_model), options(its_options), layout(its_model.signature()), threads_before_(at::get_num_threads()) {}
  ~CpuPart() {
    if (is_single_) at::set_num_threads(threads_before_);
  }
  CpuPart(const CpuPart&) = delete;
  CpuPart& operator=(const CpuPart&) = delete;

  /// For the calling thread. (OpenMP and MKL keep this number a thread; libtorch keeps one for threads that are yet to
  /// come, and starts those, for which it would wait for ever where none can be started.)
  void use_one_thread() {
    is_single_ = true;
    at::set_num_threads(1);
  }

  const Network& network() {
    std::call_once(once_, [this] {
      network_ = model.prepare(at::Device(at::kCPU), Precision::fp32);
      release_cached_memory(at::Device(at::kCPU));  // what reading and preparing took
    });
    return *network_;
  }

  const Model& model;
  const EngineOptions options;
  const SampleLayout layout;

 private:
  int threads_before_;
  std::atomic_bool is_single_ = false;
  std::once_flag once_;
  std::shared_ptr<const Network> network_;
};

class CpuWorker final : public Worker {
 public:
  explicit CpuWorker(std::shared_ptr<CpuPart> part) : part_(std::move(part)) {
    part_->use_one_thread();
    static_cast<void>(part_->network());
  }

  void warm_up(std::uint64_t) override {}  // nothing is worth a batch's time

  void run(const Batch& batch) override {
    const SampleLayout& layout = part_->layout;
    const at::Tensor outputs = layout.checked(part_->network().logits(inputs(batch)), batch.count);
    const auto* values = outputs.const_data_ptr<float>();
    const bool predictions = part_->options.predictions, keep = part_->options.outputs;
    if (predictions || keep) {
      BatchReading part = part_of(batch, predictions);
      read_outputs(part, values, layout, predictions, keep);
      parts_.push_back(std::move(part));
    }
    const Scale scale = layout.scale();
    for (std::uint64_t at = 0; at < batch.count; ++at, values += scale.positions * scale.classes) {
      const auto [finite, correct] =
          judge(values, batch.labels() + at * batch.positions(), scale, counts_.confusion.data(), nullptr);
      counts_.correct += correct;
      counts_.not_finite += !finite;
    }
    counts_.samples += batch.count;
  }

  std::optional<std::uint64_t> relieve() override {
    scratch_.reset();
    release_cached_memory(at::Device(at::kCPU));
    return free_host_memory();
  }

  WorkerOutcome finish() override {
    return {.counts = std::exchange(counts_, none()), .parts = std::exchange(parts_, {})};
  }

 private:
  [[nodiscard]] Counts none() const {
    Counts counts;
    counts.confusion.resize(part_->layout.bins());
    return counts;
  }

  at::Tensor inputs(const Batch& batch) {
    const SampleLayout& layout = part_->layout;
    const std::vector<std::int64_t> sizes = layout.sizes(batch);
    if (batch.is_float() && layout.channels() == 1) {  // as they lie there; nobody writes to them
      return at::from_blob(const_cast<std::byte*>(batch.inputs()), sizes, at::TensorOptions(at::kFloat));
    }
    if (!scratch_.defined() || scratch_.size(0) < sizes[0]) {
      scratch_ = at::empty(sizes, at::TensorOptions(at::kFloat), layout.memory_format());
    }
    lay_out(batch, layout, scratch_.mutable_data_ptr<float>());
    return scratch_.narrow(0, 0, sizes[0]);
  }

  const c10::InferenceMode inference_;  // of this thread
  std::shared_ptr<CpuPart> part_;
  at::Tensor scratch_;
  Counts counts_ = none();
  std::vector<BatchReading> parts_;
};

}  // namespace

std::unique_ptr<Engine> cpu_engine(const Model& model, const EngineOptions& options) {
  const auto part = std::make_shared<CpuPart>(model, options);
  const std::vector<WorkerPlan> plans(usable_cores(), {"cpu", [part] { return std::make_unique<CpuWorker>(part); }});
  return std::make_unique<Pool>(plans, batch_size(model.signature(), options.batch_size, false), model.signature());
}

}  // namespace ckpt::eval
