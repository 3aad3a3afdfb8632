#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

#include "ckpt/eval.h"
#include "ckpt/version.h"
#include "datasets/dataset.h"
#include "devices/choose.h"
#include "distributed/world.h"
#include "loading.h"
#include "metrics/append.h"
#include "metrics/process.h"
#include "metrics/worst.h"
#include "ranks.h"
#include "runner/cuda_library.h"
#include "runner/engine.h"

namespace ckpt::eval {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begun) { return std::chrono::duration<double>(Clock::now() - begun).count(); }

/// Where a process stands in a run of several.
struct Standing {
  Shard shard;
  std::optional<std::uint64_t> local_rank;
  World* world = nullptr;
};

/// What there is to run on: looked for beside the reading of the model, since a GPU's driver and libtorch's CUDA half
/// take a second or more to start.
struct Accelerators {
  Machine machine;
  CudaLibrary cuda;
};

std::future<Accelerators> find_accelerators(const DeviceRequest& request) {
  if (request.kind == DeviceRequest::Kind::cpu) return {};
  return std::async(std::launch::async, [] {
    Accelerators found{this_machine(), {}};
    if (!found.machine.gpus.empty()) found.cuda = load_cuda();
    return found;
  });
}

/// One process's run, from the options to its counts.
class Run {
 public:
  Run(const Options& options, const Observer& observer, Standing standing)
      : options_(options), observer_(observer), standing_(standing), request_(parse_device(options.device)) {
    precision_ = options.bf16 ? Precision::bf16 : options.tf32 ? Precision::tf32 : Precision::fp32;
    result_.seconds.start = seconds_since_start();
  }

  /// This process's part; with predictions where they, or the worst samples, are asked for.
  Result part() {
    auto accelerators = find_accelerators(request_);
    const LoadedModel loaded = load_for_evaluation(options_, [&] { return cuda_is_there(accelerators); });
    result_.model = options_.model;
    result_.digest = loaded.digest;
    for (const std::string& remark : loaded.remarks) warn(remark);
    Model& model = *loaded.model;

    data_ = open_dataset({options_.data, options_.split, options_.model, model.arch()});
    result_.data = data_->path();
    if (!options_.data) note("the test set is " + data_->path() + "; --data PATH names another");
    model.bind(data_->input_shape(), data_->target_shape());
    data_->bind(model.signature());
    result_.arch = model.arch();
    result_.signature = model.signature();

    const auto engine = start_engine(model, choose_device(accelerators));
    feed(*engine);
    take(engine->finish());
    result_.version = CKPT_VERSION;
    result_.host_peak = host_peak();
    return result_;
  }

  /// What only the whole result can have: the worst samples of all.
  Result completed(Result result) {
    if (options_.worst > 0)
      result.worst = worst_pictures(*data_, result.predictions, result.signature, result.arch, options_.worst);
    if (!options_.predictions) result.predictions = {};
    return result;
  }

 private:
  void note(const std::string& text) const {
    if (observer_.note) observer_.note(text);
  }

  void warn(const std::string& text) {
    if (observer_.warning) observer_.warning(text);
    result_.warnings.push_back(text);
  }

  [[nodiscard]] bool cuda_is_there(std::future<Accelerators>& accelerators) {
    wait_for(accelerators);
    return found_ && found_->cuda.gpus > 0;
  }

  void wait_for(std::future<Accelerators>& accelerators) {
    if (accelerators.valid()) found_ = accelerators.get();
  }

  [[nodiscard]] DeviceChoice choose_device(std::future<Accelerators>& accelerators) {
    wait_for(accelerators);
    if (!found_) return {};
    Program program;
    if (standing_.local_rank) program.local_rank = static_cast<int>(*standing_.local_rank);
    program.lacks_cuda = found_->cuda.missing;
    program.has_mps = has_mps();
    DeviceChoice choice = choose(request_, found_->machine, program);
    for (const std::string& reason : choice.notes) note(reason);
    return choice;
  }

  [[nodiscard]] std::unique_ptr<Engine> start_engine(const Model& model, const DeviceChoice& choice) {
    const bool predictions = options_.predictions || options_.worst > 0;
    const EngineOptions wanted{options_.batch_size, precision_, predictions, options_.outputs};
    result_.machine = processor_text();
    switch (choice.kind) {
      case DeviceChoice::Kind::cuda:
        result_.device = "cuda:";
        for (const int gpu : choice.gpus) {
          result_.device += (result_.device.back() == ':' ? "" : ",") + std::to_string(gpu);
          result_.machine += "; " + found_->machine.gpus.at(static_cast<std::size_t>(gpu)).name;
        }
        return cuda_engine(model, choice.gpus, wanted);
      case DeviceChoice::Kind::mps:
        result_.device = "mps";
        return device_engine(model, {at::Device(at::kMPS)}, wanted);
      case DeviceChoice::Kind::cpu:
        break;
    }
    if (precision_ != Precision::fp32) note("--tf32 and --bf16 are for GPUs: the CPU computes in float32");
    result_.device = "cpu";
    return cpu_engine(model, wanted);
  }

  void feed(Engine& engine) {
    result_.data_samples = data_->size();
    const std::uint64_t begin = standing_.shard.begin(data_->size());
    const std::uint64_t end = standing_.shard.end(data_->size());
    const auto positions = static_cast<std::size_t>(result_.signature.positions);
    DataDigest digest;
    for (std::uint64_t at = begin; at < end;) {
      if (standing_.world != nullptr) standing_.world->check();
      Samples samples = data_->read(at, std::min(engine.chunk(), end - at));
      at += samples.count;
      digest.add(samples, positions);
      engine.submit(std::move(samples));
      if (observer_.progress) observer_.progress(engine.done(), end - begin);
    }
    result_.data_digest = digest.text();
    if (standing_.shard.count > 1) result_.shard = standing_.shard;
  }

  void take(Outcome outcome) {
    result_.counts = std::move(outcome.counts);
    result_.predictions = std::move(outcome.predictions);
    result_.outputs = std::move(outcome.outputs);
    result_.gpu_peak = outcome.gpu_peak;
    result_.seconds.upload = outcome.upload_seconds;
    result_.seconds.run = outcome.run_seconds;
    result_.seconds.read = std::max(0.0, seconds_since(begun_) - outcome.upload_seconds - outcome.run_seconds);
    for (const std::string& remark : outcome.notes) warn(remark);
  }

  const Options& options_;
  const Observer& observer_;
  Standing standing_;
  DeviceRequest request_;
  Precision precision_ = Precision::fp32;
  Clock::time_point begun_ = Clock::now();
  std::optional<Accelerators> found_;
  std::unique_ptr<Dataset> data_;
  Result result_;
};

/// All ranks' results as one, at rank 0; elsewhere this rank's own.
Result join(Result mine, World& world) {
  const std::vector<std::string> all = world.gather(packed(mine));
  for (std::size_t rank = 1; rank < all.size(); ++rank) append(mine, unpacked(all[rank]));
  mine.shard.reset();
  return mine;
}

Result run_as_rank(const Options& options, const Observer& observer, const Place& place) {
  if (options.shard)
    throw Error(ErrorCode::invalid_argument, "--shard divides the data by hand, and ranks divide it already")
        .hint("leave --shard out under torchrun or srun");
  World world(place);
  try {
    Run run(options, observer, {{place.rank, place.size}, place.local_rank, &world});
    Result result = join(run.part(), world);
    return place.rank == 0 ? run.completed(std::move(result)) : result;
  } catch (const std::exception& error) {
    world.fail(error.what());
    throw;
  }
}

}  // namespace

Result evaluate(const Options& options, const Observer& observer) {
  const std::optional<Place> place = find_place(process_environment());
  if (place && place->size > 1) return run_as_rank(options, observer, *place);
  const Shard shard = options.shard.value_or(Shard{});
  Run run(options, observer, {shard, place ? place->local_rank : std::nullopt, nullptr});
  return run.completed(run.part());
}

}  // namespace ckpt::eval
