#include "setup.h"

#include <ATen/Context.h>

#include <cmath>
#include <utility>

#include "ckpt/cores.h"
#include "ckpt/error.h"
#include "ckpt/signals.h"
#include "metrics/process.h"

namespace ckpt::eval {
namespace {

/// What is no matter of the model's, the data's or the device's.
void check_options(const Options& options) {
  const auto refused = [](const std::string& found, const std::string& expected) {
    return Error(ErrorCode::invalid_argument, found).expected(expected);
  };
  if (options.batch_size == 0) throw refused("a batch size of 0", "1 sample or more");
  if (const auto& shard = options.shard; shard && shard->index >= shard->count)
    throw refused("shard " + std::to_string(shard->index) + " of " + std::to_string(shard->count),
                  "an index from 0 to one less than the count");
  if (const auto& scale = options.normalize;
      scale && !(std::isfinite(scale->first) && std::isfinite(scale->second) && scale->second > 0))
    throw refused("a normalisation by " + std::to_string(scale->first) + " and " + std::to_string(scale->second),
                  "a mean and a standard deviation above 0");
}

}  // namespace

Setup::Setup(const Options& options, Observer observer, std::optional<std::uint64_t> local_rank)
    : options_(options),
      observer_(std::move(observer)),
      local_rank_(local_rank),
      request_(parse_device(options.device)),
      machine_(processor_text()) {
  check_options(options_);
  if (request_.kind != DeviceRequest::Kind::cpu) {
    const SignalsBlocked blocked;
    // Deferred where no thread can be started.
    looking_ = std::async(std::launch::async | std::launch::deferred, [] {
      Accelerators found{this_machine(), {}};
      if (!found.machine.gpus.empty()) found.cuda = load_cuda();
      return found;
    });
  }
  loaded_ = load_for_evaluation(options_, [this] {
    const Accelerators* found = accelerators();
    return found != nullptr && found->cuda.gpus > 0;
  });
}

const Setup::Accelerators* Setup::accelerators() {
  if (looking_.valid()) found_ = looking_.get();
  return found_ ? &*found_ : nullptr;
}

DeviceChoice Setup::choose_device() {
  const Accelerators* found = accelerators();
  if (found == nullptr) return {};
  Program program;
  if (local_rank_) program.local_rank = static_cast<int>(*local_rank_);
  program.lacks_cuda = found->cuda.missing;
  program.has_mps = at::hasMPS();
  program.cuda_remedy = found->cuda.hint;
  return choose(request_, found->machine, program);
}

std::unique_ptr<Engine> Setup::start(bool predictions, bool outputs) {
  const DeviceChoice choice = choose_device();
  for (const std::string& reason : choice.notes) note(reason);
  EngineOptions wanted;
  wanted.batch_size = options_.batch_size;
  wanted.predictions = predictions;
  wanted.outputs = outputs;
  switch (choice.kind) {
    case DeviceChoice::Kind::cuda:
      wanted.precision = options_.bf16 ? Precision::bf16 : options_.tf32 ? Precision::tf32 : Precision::fp32;
      precision_ = options_.bf16 ? "bf16" : options_.tf32 ? "tf32" : "float32";
      device_ = "cuda:";
      for (const int gpu : choice.gpus) {
        device_ += (device_.back() == ':' ? "" : ",") + std::to_string(gpu);
        machine_ += "; " + found_->machine.gpus.at(static_cast<std::size_t>(gpu)).name;
      }
      return cuda_engine(model(), choice.gpus, wanted);
    case DeviceChoice::Kind::mps:
      device_ = "mps";
      return device_engine(model(), {at::Device(at::kMPS)}, wanted);
    case DeviceChoice::Kind::cpu:
      break;
  }
  const std::size_t workers = usable_cores();
  machine_ += ", " + std::to_string(workers) + (workers == 1 ? " worker" : " workers");
  return cpu_engine(model(), wanted);
}

}  // namespace ckpt::eval
