#include "threads/start_thread.h"

#include <string>
#include <system_error>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/signals.h"

namespace ckpt::eval {

std::thread start_thread(std::function<void()> work) {
  const SignalsBlocked blocked;
  try {
    return std::thread(std::move(work));
  } catch (const std::system_error& refused) {
    throw Error(ErrorCode::unavailable, std::string("no thread could be started: ") + refused.what());
  }
}

}  // namespace ckpt::eval
