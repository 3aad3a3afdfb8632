#include "runner/pool.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <limits>
#include <utility>

#include "bridge/torch_errors.h"
#include "datasets/append.h"
#include "runner/failures.h"
#include "threads/start_thread.h"

namespace ckpt::eval {

Pool::Pool(std::vector<WorkerPlan> plans, const BatchSize& size, Signature signature)
    : plans_(std::move(plans)), size_(size), signature_(std::move(signature)) {
  try {
    threads_.reserve(plans_.size());
    for (std::size_t index = 0; index < plans_.size(); ++index)
      threads_.push_back(start_thread([this, index] { work(index); }));
  } catch (const std::exception&) {
    if (threads_.empty()) throw;  // with some of its threads it gets done, too
  }
}

Pool::~Pool() { stop(); }

void Pool::stop() {
  queue_.abort();
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Pool::work(std::size_t index) {
  const WorkerPlan& plan = plans_[index];
  try {
    const auto worker = plan.make();
    std::uint64_t most = size_.most;
    try {
      worker->warm_up(most);
    } catch (...) {
      const auto error = std::current_exception();
      if (!as_shortage(error)) throw;
      static_cast<void>(worker->relieve());  // the first batch will show what fits
    }
    mark(ready_);
    do {
      while (const auto batch = queue_.pop()) {
        mark(begun_);
        run(*worker, plan, *batch, most);
      }
    } while (hand_over(worker->finish()));
  } catch (...) {
    fail(translated(std::current_exception(), plan.device));
  }
}

/// Waits for the next round. False where there is none.
bool Pool::hand_over(WorkerOutcome tally) {
  std::unique_lock lock(mutex_);
  tallies_.push_back(std::move(tally));
  counted_ = Clock::now();
  ++workers_ended_;
  changed_.notify_all();
  changed_.wait(lock, [this, mine = round_] { return stopped_ || round_ != mine; });
  return !stopped_;
}

/// Notes when something happened first.
void Pool::mark(std::optional<Clock::time_point>& moment) {
  const std::lock_guard lock(mutex_);
  if (!moment) moment = Clock::now();
}

void Pool::run(Worker& worker, const WorkerPlan& plan, const Batch& batch, std::uint64_t& most) {
  for (std::uint64_t at = 0; at < batch.count;) {
    const Batch part = batch.part(at, most);
    std::exception_ptr error;
    try {
      worker.run(part);
    } catch (...) {
      error = std::current_exception();
    }
    if (error) {
      most = halved(worker, plan, part.count, error);
    } else {
      at += part.count;
      done_ += part.count;
    }
  }
}

// Outside of the handler: what the exception holds is not in the way of the next try.
std::uint64_t Pool::halved(Worker& worker, const WorkerPlan& plan, std::uint64_t count,
                           const std::exception_ptr& error) {
  const auto shortage = as_shortage(error);
  if (!shortage) std::rethrow_exception(error);
  const auto free = worker.relieve();
  if (count > 1) {
    note("out of memory on " + plan.device + " with " + std::to_string(count) + " samples at once: going on with " +
         std::to_string(count / 2));
    return count / 2;
  }
  const auto outputs = static_cast<std::uint64_t>(signature_.positions * std::max<std::int64_t>(signature_.classes, 0));
  const std::string least = std::to_string((input_elements(signature_) + outputs) * sizeof(float)) + " bytes or more";
  Error refused(ErrorCode::out_of_memory,
                plan.device + " has too little memory for a single sample: " +
                    (shortage->needed ? std::to_string(*shortage->needed) + " bytes" : least) + " were needed, " +
                    (free ? std::to_string(*free) + " are free" : "and what is free is not known"));
  if (plan.device != "cpu") refused.hint("--device cpu");
  throw refused;
}

void Pool::fail(const std::exception_ptr& error) {
  {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = error;
    ++workers_ended_;
  }
  queue_.abort();
  changed_.notify_all();
}

void Pool::note(const std::string& sentence) {
  const std::lock_guard lock(mutex_);
  if (std::find(notes_.begin(), notes_.end(), sentence) == notes_.end()) notes_.push_back(sentence);
}

void Pool::rethrow() {
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
}

std::uint64_t Pool::chunk() const {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t all = size_.most > most / plans_.size() ? most : size_.most * plans_.size();
  if (size_.exact) return all;
  constexpr std::uint64_t chunk_bytes = 256 << 20;
  return std::min(all, std::max<std::uint64_t>(chunk_bytes / sizeof(float) / input_elements(signature_), 1));
}

void Pool::submit(Samples samples) {
  rethrow();
  if (samples.count == 0) return;
  const std::size_t size = samples.dtype == DType::float32 ? sizeof(float) : 1;
  const std::size_t elements = samples.inputs.size() / size / samples.count;
  if (samples.inputs.size() % (size * samples.count) != 0 || elements == 0 ||
      (!signature_.input.empty() && elements != input_elements(signature_)) ||
      samples.labels.size() != samples.count * static_cast<std::uint64_t>(signature_.positions)) {
    throw Error(ErrorCode::unsupported, "samples of " + std::to_string(elements) + " numbers do not fit the model")
        .expected(std::to_string(input_elements(signature_)));
  }
  if (!queue_.push(cut(std::move(samples), size_, plans_.size()))) rethrow();
}

bool Pool::ended(std::chrono::milliseconds patience) {
  queue_.close();
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [this] { return workers_ended_ == threads_.size(); });
}

Outcome Pool::finish() {
  queue_.close();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return workers_ended_ == threads_.size(); });
  if (error_) std::rethrow_exception(error_);
  Outcome outcome = joined();
  begin_again();
  return outcome;
}

void Pool::begin_again() {
  tallies_.clear();
  notes_.clear();
  workers_ended_ = 0;
  made_ = ready_.value_or(made_);
  begun_.reset();
  ++round_;
  queue_.open();
  changed_.notify_all();
}

Outcome Pool::joined() {
  Outcome outcome;
  outcome.counts.confusion.resize(
      static_cast<std::size_t>(signature_.positions * signature_.classes * signature_.classes));
  std::vector<BatchReading> parts;
  outcome.notes = std::move(notes_);
  for (WorkerOutcome& tally : tallies_) {
    outcome.counts += tally.counts;
    outcome.upload_seconds = std::max(outcome.upload_seconds, tally.upload_seconds);
    outcome.gpu_peak = std::max(outcome.gpu_peak, tally.gpu_peak);
    for (const std::string& sentence : tally.notes) {
      if (std::find(outcome.notes.begin(), outcome.notes.end(), sentence) == outcome.notes.end()) {
        outcome.notes.push_back(sentence);
      }
    }
    std::move(tally.parts.begin(), tally.parts.end(), std::back_inserter(parts));
  }
  const auto seconds = [](Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  };
  outcome.run_seconds = begun_ ? std::max(seconds(*begun_, counted_) - outcome.upload_seconds, 0.0) : 0;
  outcome.upload_seconds += seconds(made_, ready_.value_or(made_));
  std::sort(parts.begin(), parts.end(), [](const BatchReading& a, const BatchReading& b) { return a.first < b.first; });
  if (!parts.empty()) outcome.predictions.first = parts.front().first;
  for (const BatchReading& part : parts) {
    append(outcome.predictions.labels, part.labels);
    append(outcome.predictions.predicted, part.predicted);
    append(outcome.predictions.confidence, part.confidence);
    append(outcome.predictions.truth, part.truth);
    append(outcome.outputs, part.outputs);
  }
  return outcome;
}

}  // namespace ckpt::eval
