#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runner/engine.h"
#include "runner/worker.h"

namespace ckpt::eval {

/// An engine out of workers: a thread each, batches from one queue, results put in order at the end. Knows no device.
/// A batch for which memory is too short is tried again in halves. Workers stay from one finish() to the next, with all
/// that they have made ready.
class Pool final : public Engine {
 public:
  Pool(std::vector<WorkerPlan> plans, const BatchSize& size, Signature signature);
  ~Pool() override;

  void submit(Samples samples) override;
  [[nodiscard]] std::uint64_t chunk() const override;
  [[nodiscard]] std::uint64_t done() const override { return done_; }
  [[nodiscard]] bool ended(std::chrono::milliseconds patience) override;
  [[nodiscard]] Outcome finish() override;

 private:
  using Clock = std::chrono::steady_clock;

  void work(std::size_t index);
  void run(Worker& worker, const WorkerPlan& plan, const Batch& batch, std::uint64_t& most);
  std::uint64_t halved(Worker& worker, const WorkerPlan& plan, std::uint64_t count, const std::exception_ptr& error);
  bool hand_over(WorkerOutcome tally);
  void mark(std::optional<Clock::time_point>& moment);
  void fail(const std::exception_ptr& error);
  void note(const std::string& sentence);
  void stop();
  void rethrow();
  [[nodiscard]] Outcome joined();
  void begin_again();

  std::vector<WorkerPlan> plans_;
  BatchSize size_;
  Signature signature_;
  BatchQueue queue_;
  std::atomic<std::uint64_t> done_ = 0;
  std::mutex mutex_;  // guards all below but the threads
  std::size_t round_ = 0, workers_ended_ = 0;
  bool stopped_ = false;
  Clock::time_point made_ = Clock::now(), counted_ = made_;
  std::optional<Clock::time_point> ready_, begun_;
  std::exception_ptr error_;
  std::vector<std::string> notes_;
  std::vector<WorkerOutcome> tallies_;
  std::condition_variable changed_;
  std::vector<std::thread> threads_;
};

}  // namespace ckpt::eval
