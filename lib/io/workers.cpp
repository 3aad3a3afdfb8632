#include "io/workers.h"

#include <algorithm>
#include <utility>

#include "io/companion.h"

namespace ckpt {
namespace {

constexpr std::size_t most_threads = 1024;  // whatever a caller asks for

}  // namespace

void Workers::Task::run() {
  {
    const std::lock_guard lock(mutex_);
    if (state_ != State::waiting) return;
    state_ = State::running;
  }
  std::exception_ptr failure;
  try {
    work_();
  } catch (...) {
    failure = std::current_exception();
  }
  work_ = nullptr;  // what it holds is given back before anybody goes on
  const std::lock_guard lock(mutex_);
  failure_ = std::move(failure);
  state_ = State::done;
  done_.notify_all();
}

Workers::TaskPtr Workers::take() {
  const std::lock_guard lock(mutex_);
  if (queue_.empty()) return nullptr;
  TaskPtr task = std::move(queue_.front());
  queue_.pop_front();
  return task;
}

void Workers::finish(const TaskPtr& task) {
  task->run();
  std::unique_lock lock(task->mutex_);
  while (task->state_ != Task::State::done) {
    lock.unlock();
    const TaskPtr other = take();
    if (other) other->run();
    lock.lock();
    if (!other) task->done_.wait(lock, [&] { return task->state_ == Task::State::done; });
  }
  if (task->failure_) std::rethrow_exception(std::exchange(task->failure_, nullptr));
}

Workers::Workers(std::size_t threads) : most_(std::min(threads, most_threads)) { threads_.reserve(most_); }

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    queue_.clear();
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Workers::TaskPtr Workers::start(std::function<void()> work) {
  TaskPtr task(new Task(std::move(work)));
  if (most_ == 0) return task;
  bool enough = false;
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(task);
    enough = idle_ >= queue_.size() || threads_.size() >= most_;
  }
  if (!enough) add_thread();
  wake_.notify_one();
  return task;
}

void Workers::add_thread() {
  std::thread thread = start_thread([this] { serve(); });
  if (thread.joinable())
    threads_.push_back(std::move(thread));
  else
    most_ = threads_.size();
}

void Workers::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    wake_.wait(lock, [this] { return ends_ || !queue_.empty(); });
    --idle_;
    if (ends_) return;
    const TaskPtr task = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    task->run();
    lock.lock();
  }
}

}  // namespace ckpt
