#pragma once

#include <csignal>
#include <functional>
#include <thread>

namespace ckpt::eval {

/// Threads that are started while it lives take no signals: those are for the thread that was there first, whose
/// handlers know what they interrupt.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

/// A thread that takes no signals. `work` must not throw. Throws Error: unavailable where none can be started.
std::thread start_thread(std::function<void()> work);

}  // namespace ckpt::eval
