#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "ckpt/error.h"

namespace ckpt {

/// An output's failure, in the operating system's words.
[[nodiscard]] Error output_error(const std::string& doing, const std::string& name, int errno_value);

/// Gathers small writes to a file descriptor and passes large ones through. Borrows the descriptor.
class BufferedOutput {
 public:
  BufferedOutput(int fd, std::string name);

  /// Throws Error (io, on_output).
  void write(std::span<const std::byte> bytes);
  void flush();

 private:
  void write_through(std::span<const std::byte> bytes);

  int fd_;
  std::string name_;
  std::unique_ptr<std::byte[]> buffer_;
  std::size_t held_ = 0;
};

}  // namespace ckpt
