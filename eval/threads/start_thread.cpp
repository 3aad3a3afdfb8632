#include "threads/start_thread.h"

#include <string>
#include <system_error>
#include <utility>

#include "ckpt/error.h"

namespace ckpt::eval {

SignalsBlocked::SignalsBlocked() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before_);
}

SignalsBlocked::~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

std::thread start_thread(std::function<void()> work) {
  const SignalsBlocked blocked;
  try {
    return std::thread(std::move(work));
  } catch (const std::system_error& refused) {
    throw Error(ErrorCode::unavailable, std::string("no thread could be started: ") + refused.what());
  }
}

}  // namespace ckpt::eval
