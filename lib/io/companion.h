#pragma once

#include <functional>
#include <thread>

namespace ckpt {

/// A thread beside the one that makes it. It takes no signals: those are for the thread that was there first, whose
/// handlers know what they interrupt. Where the process may use one core alone, and where no thread can be started,
/// there is none.
class Companion {
 public:
  /// `work` must not throw. `stop` makes it end: it is called before the thread is waited for.
  Companion(std::function<void()> work, std::function<void()> stop);
  ~Companion();
  Companion(const Companion&) = delete;
  Companion& operator=(const Companion&) = delete;

  [[nodiscard]] explicit operator bool() const { return thread_.joinable(); }

 private:
  std::function<void()> stop_;
  std::thread thread_;
};

/// A thread that takes no signals; none (not joinable) where it cannot be started.
std::thread start_thread(std::function<void()> work);

}  // namespace ckpt
