#include "io/output.h"

#include <poll.h>

#include <cstring>
#include <utility>

#include "ckpt/limits.h"
#include "io/posix.h"

namespace ckpt {
namespace {

constexpr std::size_t capacity = limits::copy_chunk;

}  // namespace

Error output_error(const std::string& doing, const std::string& name, int errno_value) {
  Error error(ErrorCode::io, doing + ": " + system_words(errno_value));
  error.in(name).on_output();
  if (errno_value == ENOSPC || errno_value == EDQUOT) error.hint("make room there, or write to another folder");
  if (errno_value == ENOENT || errno_value == ENOTDIR) error.hint("create the folder first, or write to another one");
  return error;
}

BufferedOutput::BufferedOutput(int fd, std::string name)
    : fd_(fd), name_(std::move(name)), buffer_(std::make_unique_for_overwrite<std::byte[]>(capacity)) {}

void BufferedOutput::write(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const bool large = bytes.size() >= capacity / 2;
  if (large || bytes.size() > capacity - held_) flush();
  if (large) return write_through(bytes);
  std::memcpy(buffer_.get() + held_, bytes.data(), bytes.size());
  held_ += bytes.size();
}

void BufferedOutput::flush() {
  const std::size_t count = std::exchange(held_, 0);
  write_through({buffer_.get(), count});
}

void BufferedOutput::write_through(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = uninterrupted([&] { return ::write(fd_, bytes.data(), bytes.size()); });
    if (put > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(put));
    } else if (put == 0) {
      throw output_error("cannot write", name_, ENOSPC);  // no error and no byte, for ever: there is no room
      // A standard output that somebody set non-blocking is waited for.
    } else if (errno != EAGAIN || !wait_until_ready(fd_, POLLOUT)) {
      throw output_error("cannot write", name_, errno);
    }
  }
}

}  // namespace ckpt
