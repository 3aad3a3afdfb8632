#include "io/companion.h"

#include <exception>
#include <utility>

#include "ckpt/cores.h"
#include "ckpt/signals.h"

namespace ckpt {

std::thread start_thread(std::function<void()> work) {
  const SignalsBlocked blocked;  // as they are here, so are they in the new thread
  try {
    return std::thread(std::move(work));
  } catch (const std::exception&) {  // no thread, or no memory for one
    return {};
  }
}

Companion::Companion(std::function<void()> work, std::function<void()> stop) : stop_(std::move(stop)) {
  if (usable_cores() > 1) thread_ = start_thread(std::move(work));
}

Companion::~Companion() {
  if (!thread_.joinable()) return;
  stop_();
  thread_.join();
}

}  // namespace ckpt
