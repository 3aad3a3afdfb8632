#include "distributed/store.h"

#include <c10/util/Logging.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <future>
#include <mutex>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#include "threads/start_thread.h"

namespace ckpt::eval {
namespace {

using namespace std::chrono_literals;

constexpr auto operation = 10s;  // one request

// What goes wrong is said once, by whoever asks; c10d would print a page of addresses beside each.
void quieten() {
  if (std::getenv("TORCH_CPP_LOG_LEVEL") == nullptr) FLAGS_caffe2_log_level = c10::GLOG_FATAL;
}

c10::intrusive_ptr<c10d::Store> connected(const Place& place, std::chrono::milliseconds patience) {
  quieten();
  c10d::TCPStoreOptions options;
  options.port = place.port;
  options.isServer = place.rank == 0 && !place.store_runs;
  options.numWorkers = static_cast<std::size_t>(place.size);
  options.waitWorkers = false;  // we wait ourselves, and say who is missing
  options.timeout = patience;
  auto store = c10::make_intrusive<c10d::TCPStore>(place.host, options);
  store->setTimeout(operation);
  return c10::make_intrusive<c10d::PrefixStore>("ckpt/" + place.attempt, std::move(store));
}

std::vector<std::uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

}  // namespace

struct BoundedStore::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> questions;
  bool closed = false;  ///< no more questions
  bool silent = false;  ///< one was not answered: no other will be
  bool ended = false;   ///< the thread is done
  c10::intrusive_ptr<c10d::Store> store;

  void answer() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return closed || !questions.empty(); });
      if (questions.empty()) break;
      const auto question = std::move(questions.front());
      questions.pop_front();
      lock.unlock();
      question();
      lock.lock();
    }
    lock.unlock();
    store.reset();
    lock.lock();
    ended = true;
    changed.notify_all();
  }

  /// Runs `work` in the thread; waits for it at most `patience`.
  template <class Answer>
  Answer ask(std::function<Answer()> work, std::chrono::milliseconds patience) {
    const auto task = std::make_shared<std::packaged_task<Answer()>>(std::move(work));
    auto answer = task->get_future();
    {
      const std::lock_guard lock(mutex);
      if (silent) throw no_answer(patience);
      questions.emplace_back([task] { (*task)(); });
    }
    changed.notify_all();
    if (answer.wait_for(patience) != std::future_status::ready) {
      const std::lock_guard lock(mutex);
      silent = true;
      throw no_answer(patience);
    }
    return answer.get();
  }

  static c10::Error no_answer(std::chrono::milliseconds patience) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience).count();
    return c10::Error("no answer for " + std::to_string(seconds) + " s", nullptr);
  }
};

BoundedStore::BoundedStore(const Place& place, double seconds) : shared_(std::make_shared<Shared>()) {
  start_thread([shared = shared_] { shared->answer(); }).detach();
  const std::chrono::milliseconds patience(static_cast<std::int64_t>(seconds * 1000));
  const auto connect = [shared = shared_.get(), place, patience] {
    shared->store = connected(place, patience);
    return true;
  };
  try {
    (void)shared_->ask<bool>(connect, patience + operation);
  } catch (...) {
    const std::lock_guard lock(shared_->mutex);
    shared_->closed = true;
    shared_->changed.notify_all();
    throw;
  }
}

BoundedStore::~BoundedStore() {
  std::unique_lock lock(shared_->mutex);
  shared_->closed = true;
  shared_->changed.notify_all();
  // What it still does is not waited for where it may never end.
  if (!shared_->silent) shared_->changed.wait_for(lock, operation, [this] { return shared_->ended; });
}

template <class Answer>
Answer BoundedStore::ask(std::function<Answer(c10d::Store&)> question) {
  return shared_->ask<Answer>(
      [shared = shared_.get(), question = std::move(question)] { return question(*shared->store); }, operation + 1s);
}

std::int64_t BoundedStore::add(const std::string& key, std::int64_t number) {
  return ask<std::int64_t>([key, number](c10d::Store& store) { return store.add(key, number); });
}

bool BoundedStore::has(const std::string& key) {
  return ask<bool>([key](c10d::Store& store) { return store.check({key}); });
}

std::string BoundedStore::get(const std::string& key) {
  return ask<std::string>([key](c10d::Store& store) {
    const auto bytes = store.get(key);
    return std::string(bytes.begin(), bytes.end());
  });
}

void BoundedStore::set(const std::string& key, const std::string& value) {
  (void)ask<bool>([key, value](c10d::Store& store) {
    store.set(key, bytes_of(value));
    return true;
  });
}

void BoundedStore::set_once(const std::string& key, const std::string& value) {
  (void)ask<bool>([key, value](c10d::Store& store) {
    (void)store.compareSet(key, {}, bytes_of(value));
    return true;
  });
}

void BoundedStore::remove(const std::string& key) {
  (void)ask<bool>([key](c10d::Store& store) { return store.deleteKey(key); });
}

}  // namespace ckpt::eval
