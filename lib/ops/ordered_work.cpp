#include "ops/ordered_work.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "io/workers.h"

namespace ckpt {
namespace {

class OrderedWork {
 public:
  OrderedWork(std::size_t threads, const NextPiece& next) : next_(next), most_held_(2 * threads) {}

  /// Of each thread.
  void run() {
    while (true) {
      std::size_t index = 0;
      std::unique_ptr<WorkPiece> piece = make(index);
      if (!piece) return;
      std::exception_ptr failure;
      try {
        piece->work();
      } catch (...) {
        failure = std::current_exception();
      }
      finish(index, std::move(piece), failure);
    }
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::unique_ptr<WorkPiece> make(std::size_t& index) {
    const std::lock_guard making(making_);
    std::unique_ptr<WorkPiece> piece;
    {
      std::unique_lock lock(state_);
      changed_.wait(lock, [&] { return ended_ || made_ - joined_ < most_held_; });
      if (ended_) return nullptr;
      index = made_++;
      if (!used_.empty()) {
        piece = std::move(used_.back());
        used_.pop_back();
      }
    }
    std::exception_ptr failure;
    try {
      piece = next_(std::move(piece));
    } catch (...) {
      piece = nullptr;
      failure = std::current_exception();
    }
    if (!piece) {
      const std::lock_guard lock(state_);
      if (failure) fail(index, failure);
      ended_ = true;
    }
    return piece;
  }

  void finish(std::size_t index, std::unique_ptr<WorkPiece> piece, const std::exception_ptr& failure) {
    {
      const std::lock_guard lock(state_);
      try {
        if (failure) std::rethrow_exception(failure);
        done_.emplace(index, std::move(piece));
      } catch (...) {
        fail(index, std::current_exception());
      }
      join();
    }
    changed_.notify_all();
  }

  void join() {
    try {
      while (!(failure_ && joined_ >= failed_)) {
        const auto first = done_.begin();
        if (first == done_.end() || first->first != joined_) return;
        first->second->join();
        used_.push_back(std::move(first->second));
        done_.erase(first);
        ++joined_;
      }
    } catch (...) {
      fail(joined_, std::current_exception());
    }
  }

  void fail(std::size_t index, std::exception_ptr failure) {
    ended_ = true;
    if (failure_ && index > failed_) return;
    failed_ = index;
    failure_ = std::move(failure);
  }

  const NextPiece& next_;
  const std::size_t most_held_;
  std::mutex making_;  ///< held while a piece is made
  std::mutex state_;   ///< of all that follows
  std::condition_variable changed_;
  std::size_t made_ = 0, joined_ = 0, failed_ = 0;
  bool ended_ = false;
  std::exception_ptr failure_;
  std::map<std::size_t, std::unique_ptr<WorkPiece>> done_;  ///< and not joined
  std::vector<std::unique_ptr<WorkPiece>> used_;
};

void work_alone(const NextPiece& next) {
  for (auto piece = next(nullptr); piece; piece = next(std::move(piece))) {
    piece->work();
    piece->join();
  }
}

}  // namespace

void work_in_order(std::size_t threads, const NextPiece& next) {
  constexpr std::size_t most = 256;  // more only wait for each other, and take memory
  threads = std::min(threads, most);
  if (threads < 2) return work_alone(next);
  OrderedWork work(threads, next);
  Workers workers(threads - 1);
  std::vector<Workers::TaskPtr> others;
  for (std::size_t i = 1; i < threads; ++i) others.push_back(workers.start([&] { work.run(); }));
  work.run();
  for (const auto& other : others) workers.finish(other);
  work.rethrow();
}

std::size_t working_threads() {
  constexpr std::size_t most = 16;
  return std::min(usable_cores(), most);
}

}  // namespace ckpt
