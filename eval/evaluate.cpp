#include <algorithm>
#include <chrono>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/eval.h"
#include "ckpt/version.h"
#include "datasets/sample_picture.h"
#include "distributed/world.h"
#include "metrics/join.h"
#include "metrics/process.h"
#include "metrics/signature.h"
#include "metrics/worst.h"
#include "ranks.h"
#include "setup.h"

namespace ckpt::eval {
namespace {

using Clock = std::chrono::steady_clock;

/// One process's run, from the options to its counts.
class Run {
 public:
  Run(const Options& options, const Observer& observer, World* world)
      : options_(options), observer_(observer), world_(world) {
    if (world_ != nullptr)
      shard_ = {world_->place().rank, world_->place().size};
    else if (options.shard)
      shard_ = *options.shard;
    result_.seconds.start = seconds_since_start();
    result_.version = CKPT_VERSION;
  }

  /// This process's part; with predictions where they, or the worst samples, are asked for.
  Result part() {
    Setup setup(options_, observer_, world_ == nullptr ? std::nullopt : world_->place().local_rank);
    Model& model = setup.model();
    result_.model = options_.model;
    result_.digest = setup.loaded().digest;
    for (const std::string& warning : setup.loaded().warnings) warn(warning);
    for (const std::string& note : setup.loaded().notes) {
      setup.note(options_.model + ": " + note);
      result_.warnings.push_back(note);
    }

    data_ = open_dataset({options_.data, options_.split, options_.model, model.arch()});
    result_.data = data_->path();
    tell_files(setup.loaded().files);
    if (!options_.data) setup.note("the test set is " + data_->path() + "; --data PATH names another");
    model.bind(data_->input_shape(), data_->target_shape());
    check_signature(model.signature());
    data_->bind(model.signature());
    result_.arch = model.arch();
    result_.activation = model.activation();
    result_.layers = setup.loaded().layers;
    result_.signature = model.signature();

    const Clock::time_point loaded = Clock::now();
    const auto engine = setup.start(options_.predictions || options_.worst > 0, options_.outputs);
    started_ = seconds_since(loaded);
    result_.device = setup.device();
    result_.precision = setup.precision();
    result_.machine = setup.machine();
    feed(*engine);
    take(engine->finish());
    for (const std::string& warning : data_->warnings()) warn("test set " + warning);
    result_.host_peak = host_peak();
    return result_;
  }

  /// What only the whole result can have: the worst samples of all.
  Result completed(Result result) {
    if (options_.worst > 0)
      result.worst = worst_pictures(*data_, result.predictions, options_.worst, [&](const Samples& one, Picture& out) {
        Pixels pixels = to_pixels(one, 0, result.signature);
        out.width = static_cast<std::uint32_t>(pixels.width);
        out.height = static_cast<std::uint32_t>(pixels.height);
        out.channels = static_cast<std::uint32_t>(bytes_a_pixel(pixels.mode));
        out.pixels = std::move(pixels.bytes);
      });
    if (!options_.predictions) result.predictions = {};
    return result;
  }

 private:
  static double seconds_since(Clock::time_point moment) {
    return std::chrono::duration<double>(Clock::now() - moment).count();
  }

  void warn(const std::string& text) {
    if (observer_.warning) observer_.warning(text);
    result_.warnings.push_back(text);
  }

  /// `files`: the model's.
  void tell_files(std::vector<std::string> files) const {
    if (!observer_.files) return;
    for (std::string& file : data_->files()) files.push_back(std::move(file));
    observer_.files(files);
  }

  [[nodiscard]] std::string fingerprint() const {
    constexpr std::uint64_t at_once = 1U << 16;
    const auto positions = static_cast<std::size_t>(result_.signature.positions);
    DataDigest digest;
    digest.add(data_->read(0, 1), positions);
    for (std::uint64_t at = 0;;) {
      const Samples labels = data_->labels(at, at_once);
      if (labels.count == 0) return digest.text();
      digest.add(labels, positions);
      at += labels.count;
    }
  }

  void feed(Engine& engine) {
    result_.data_samples = data_->size();
    if (shard_.count > 1) result_.shard = shard_;
    if (options_.shard || world_ != nullptr) result_.data_fingerprint = fingerprint();
    const std::uint64_t begin = shard_.begin(data_->size()), end = shard_.end(data_->size());
    const auto positions = static_cast<std::size_t>(result_.signature.positions);
    DataDigest digest;
    for (std::uint64_t at = begin; at < end;) {
      if (world_ != nullptr) world_->check();
      Samples samples = data_->read(at, std::min(engine.chunk(), end - at));
      at += samples.count;
      digest.add(samples, positions);
      engine.submit(std::move(samples));
      if (observer_.progress) observer_.progress(engine.done(), end - begin);
    }
    result_.data_digest = digest.text();
    // The queue holds more than is done: another rank's failure must not wait for it, nor what is shown of the
    // progress.
    while (!engine.ended(std::chrono::milliseconds(100))) {
      if (world_ != nullptr) world_->check();
      if (observer_.progress) observer_.progress(engine.done(), end - begin);
    }
  }

  void take(Outcome outcome) {
    const double all = seconds_since(begun_);
    result_.counts = std::move(outcome.counts);
    result_.predictions = std::move(outcome.predictions);
    result_.predictions.first = shard_.begin(data_->size());
    result_.outputs = std::move(outcome.outputs);
    result_.gpu_peak = outcome.gpu_peak;
    result_.seconds.upload = started_ + outcome.upload_seconds;
    result_.seconds.run = outcome.run_seconds;
    result_.seconds.read = std::max(0.0, all - result_.seconds.upload - result_.seconds.run);
    for (const std::string& remark : outcome.notes) warn(remark);
  }

  const Options& options_;
  const Observer observer_;
  World* world_;
  Shard shard_;
  Clock::time_point begun_ = Clock::now();
  double started_ = 0;  // what it took to find the devices and begin
  std::unique_ptr<Dataset> data_;
  Result result_;
};

/// Each rank reads its own files: one that was forgotten on a machine must not go into the sum.
void check_same(const Result& mine, const Result& other, std::size_t rank) {
  if (const auto found = difference(mine, other))
    throw Error(ErrorCode::invalid_argument, "ranks 0 and " + std::to_string(rank) + " have different " + found->what +
                                                 ": " + found->one + " and " + found->other)
        .hint(
            "all ranks must see the same files, and be given the same command by the same version of ckpt; --tf32 and "
            "--bf16 need a GPU for each");
}

/// What is kept of each sample is there of all, or of none.
void check_whole(const Result& whole, bool predictions, bool outputs) {
  const auto positions = static_cast<std::uint64_t>(whole.signature.positions);
  const auto classes = static_cast<std::uint64_t>(whole.signature.classes);
  const std::uint64_t answers = whole.counts.samples * positions;
  if (whole.predictions.labels.size() == (predictions ? answers : 0) &&
      whole.outputs.size() == (outputs ? answers * classes : 0))
    return;
  throw Error(ErrorCode::invalid_argument, "the ranks were given different options: not all of them keep predictions")
      .hint("all ranks must be given the same command");
}

/// All ranks' results as one, at rank 0, which says what others warned of; elsewhere this rank's own.
Result joined(Result mine, World& world, const Options& options, const Observer& observer) {
  const std::vector<std::string> all = world.gather(packed(mine));
  const std::size_t said = mine.warnings.size();
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const Result other = unpacked(all[rank]);
    check_same(mine, other, rank);
    join(mine, other);
  }
  for (std::size_t at = said; observer.warning && at < mine.warnings.size(); ++at) observer.warning(mine.warnings[at]);
  const bool has_all = world.place().rank == 0;
  if (has_all) check_whole(mine, options.predictions || options.worst > 0, options.outputs);
  static_cast<void>(world.gather({}));  // the others wait for what rank 0 finds: what it refuses, all refuse
  if (has_all) mine.shard.reset();
  return mine;
}

Result run_as_rank(const Options& options, const Observer& observer, World& world) {
  if (options.shard)
    throw Error(ErrorCode::invalid_argument, "--shard divides the data by hand, and ranks divide it already")
        .hint("leave --shard out under torchrun or srun");
  const bool reports = world.place().rank == 0;
  try {
    const Observer own = reports ? observer : Observer{};
    Run run(options, own, &world);
    Result result = joined(run.part(), world, options, own);
    return reports ? run.completed(std::move(result)) : result;
  } catch (const std::exception& error) {
    world.fail(error.what());
    throw;
  }
}

}  // namespace

Result evaluate(const Options& options, const Observer& observer) {
  if (options.world) return run_as_rank(options, observer, *options.world);
  Run run(options, observer, nullptr);
  return run.completed(run.part());
}

}  // namespace ckpt::eval
