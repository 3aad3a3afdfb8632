#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runner/engine.h"
#include "runner/worker.h"

namespace ckpt::eval {

/// The time during which at least one of several was at work.
class BusyTime {
 public:
  void begin();
  void end();
  [[nodiscard]] double seconds() const;

 private:
  mutable std::mutex mutex_;
  std::size_t active_ = 0;
  std::chrono::steady_clock::time_point since_;
  std::chrono::steady_clock::duration sum_{};
};

/// An engine out of workers: a thread each, batches from one queue, results put in order at the end. Knows no device.
/// A batch for which memory is too short is tried again in halves.
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
  void work(std::size_t index);
  void run(Worker& worker, const WorkerPlan& plan, const Batch& batch, std::uint64_t& most);
  std::uint64_t halved(Worker& worker, const WorkerPlan& plan, std::uint64_t count, const std::exception_ptr& error);
  void fail(const std::exception_ptr& error);
  void note(const std::string& sentence);
  void stop();
  void rethrow();
  [[nodiscard]] Outcome joined();

  std::vector<WorkerPlan> plans_;
  BatchSize size_;
  Signature signature_;
  BatchQueue queue_;
  BusyTime busy_;
  std::atomic<std::uint64_t> done_ = 0;
  std::mutex mutex_;  // guards the four below
  std::size_t workers_ended_ = 0;
  std::exception_ptr error_;
  std::vector<std::string> notes_;
  std::vector<WorkerOutcome> tallies_;
  std::condition_variable worker_ended_;
  std::vector<std::thread> threads_;
};

}  // namespace ckpt::eval
