#pragma once

#include <exception>
#include <string>

namespace ckpt::eval {

/// What a model or a device threw on `device`, as an Error: ours as they are, others with their first line.
[[nodiscard]] std::exception_ptr translated(const std::exception_ptr& error, const std::string& device);

}  // namespace ckpt::eval
