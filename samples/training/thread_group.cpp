#include "thread_group.h"

#include <c10/core/DeviceGuard.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace training {
namespace {

/// Where threads wait for each other; one that fails wakes all, so that none waits for ever.
class Meeting {
 public:
  explicit Meeting(std::size_t size) : values(size), size_(size) {}

  void wait() {
    std::unique_lock lock(mutex_);
    const std::size_t round = round_;
    if (++arrived_ == size_) {
      arrived_ = 0;
      ++round_;
      all_.notify_all();
    }
    all_.wait(lock, [&] { return round_ != round || failure_; });
    if (failure_ && round_ == round) throw std::runtime_error("another device's thread failed");
  }

  void fail(std::exception_ptr why) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(why);
    all_.notify_all();
  }

  /// After all threads have ended.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  std::vector<at::Tensor> values;  ///< each rank's, then the sum at 0

 private:
  const std::size_t size_;
  std::mutex mutex_;
  std::condition_variable all_;
  std::size_t arrived_ = 0, round_ = 0;
  std::exception_ptr failure_;
};

class ThreadGroup final : public Group {
 public:
  ThreadGroup(int rank, int size, Meeting& meeting) : Group(rank, size), meeting_(meeting) {}

  void sum(at::Tensor& mine) override {
    meeting_.values[static_cast<std::size_t>(rank())] = mine;
    meeting_.wait();
    if (rank() == 0) {
      at::Tensor total = mine.clone();
      for (std::size_t other = 1; other < meeting_.values.size(); ++other)
        total.add_(meeting_.values[other].to(total.device()));
      meeting_.values[0] = total;
    }
    meeting_.wait();
    mine.copy_(meeting_.values[0]);
    meeting_.wait();
  }

 private:
  Meeting& meeting_;
};

}  // namespace

void run_threads(const std::vector<at::Device>& devices, const std::function<void(Group&, at::Device)>& train) {
  Meeting meeting(devices.size());
  std::vector<std::thread> threads;
  const auto run = [&](std::size_t i) {
    try {
      const c10::DeviceGuard guard(devices[i]);
      ThreadGroup group(static_cast<int>(i), static_cast<int>(devices.size()), meeting);
      train(group, devices[i]);
    } catch (...) {
      meeting.fail(std::current_exception());
    }
  };
  try {
    for (std::size_t i = 0; i < devices.size(); ++i) threads.emplace_back(run, i);
  } catch (...) {
    meeting.fail(std::current_exception());  // those that were started wait for the others
  }
  for (std::thread& thread : threads) thread.join();
  meeting.rethrow();
}

}  // namespace training
