#pragma once

#include <functional>
#include <thread>

namespace ckpt::eval {

/// A thread that takes no signals. `work` must not throw. Throws Error: unavailable where none can be started.
std::thread start_thread(std::function<void()> work);

}  // namespace ckpt::eval
