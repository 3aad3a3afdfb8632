#pragma once

#include <csignal>

#include "ckpt/export.h"

namespace ckpt {

/// Blocks every signal for this thread, and so for threads that it starts, while it lives. Between a temporary's
/// appearance and its removal nothing may kill; and signals are for the thread that was there first, whose handlers
/// know what they interrupt.
class CKPT_API SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace ckpt
