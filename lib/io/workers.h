#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "ckpt/cores.h"

namespace ckpt {

/// Threads that do pieces of one operation's work. They are started as work comes, end with this object, and take no
/// signals. Whoever waits for a piece does others meanwhile, and all of them where no thread can be started: nothing
/// depends on their number.
///
///     Workers workers;
///     const auto half = workers.start([&] { … });
///     …                                        // the other half
///     workers.finish(half);
///
/// start() is for one thread; finish() for any, a worker included.
class Workers {
 public:
  class Task {
   private:
    friend class Workers;
    enum class State { waiting, running, done };

    explicit Task(std::function<void()> work) : work_(std::move(work)) {}
    /// Does the work unless somebody has begun it.
    void run();

    std::mutex mutex_;
    std::condition_variable done_;
    State state_ = State::waiting;
    std::function<void()> work_;
    std::exception_ptr failure_;
  };
  using TaskPtr = std::shared_ptr<Task>;

  /// `threads`: at most so many beside the one that waits.
  explicit Workers(std::size_t threads = usable_cores() - 1);
  /// Work that nobody has begun is dropped; for the rest it waits.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Tasks are begun in the order in which they come.
  [[nodiscard]] TaskPtr start(std::function<void()> work);
  /// Returns when the task is done. Called once for a task. Throws what its work throws.
  void finish(const TaskPtr& task);
  [[nodiscard]] std::size_t threads() const { return most_; }

 private:
  void serve();
  void add_thread();
  /// A task that nobody has begun; null where there is none.
  TaskPtr take();

  std::size_t most_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<TaskPtr> queue_;
  std::size_t idle_ = 0;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ckpt
