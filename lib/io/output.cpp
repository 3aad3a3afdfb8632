#include "io/output.h"

#include <fcntl.h>
#include <poll.h>

#include <string_view>
#include <utility>

#include "io/posix.h"

namespace ckpt {
namespace {

std::string_view what_to_do(int errno_value) {
  switch (errno_value) {
    case ENOSPC:
    case EDQUOT:
      return "make room there, or write to another folder";
    case ENOENT:
    case ENOTDIR:
      return "create the folder first, or write to another one";
    case EISDIR:
      return "name a file in that folder";
    case EROFS:
      return "the file system is read-only: write to another one";
    case EBUSY:
      return "something is mounted there: write to another name";
    case ENOTEMPTY:
      return "another program has made it meanwhile: write to another name";
    case EFBIG:
      return "files have a limit there: ulimit -f tells this shell's, and some file systems have their own";
    case EMFILE:
    case ENFILE:
      return too_many_open;
    case EPIPE:
      return "what reads it has ended";
    case EBADF:
      return "it is closed: redirect it to a file or a program";
    default:
      return {};
  }
}

}  // namespace

Error output_error(const std::string& doing, const std::string& name, int errno_value) {
  Error error(ErrorCode::io, doing + ": " + system_words(errno_value));
  error.in(name).on_output();
  if (const std::string_view what = what_to_do(errno_value); !what.empty()) error.hint(std::string(what));
  return error;
}

Error committed_already(const std::string& name) {
  return Error(ErrorCode::invalid_argument, "is written and committed, and takes no more").in(name).on_output();
}

bool sync_folder(int fd) {
  if (uninterrupted([&] { return ::fsync(fd); }) == 0) return true;
  // Not every file system can sync a folder, and not every folder may be opened for it.
  return errno == EINVAL || errno == ENOTSUP || errno == EBADF;
}

bool can_be_closed(int fd) {
  const int another = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  return another >= 0 && (::close(another) == 0 || errno == EINTR);
}

BufferedOutput::BufferedOutput(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}

BufferedOutput::~BufferedOutput() = default;

std::span<std::byte> BufferedOutput::room() {
  if (buffer_.empty()) buffer_ = ring_.room();
  return buffer_.subspan(held_);
}

void BufferedOutput::advance(std::size_t count) {
  held_ += count;
  if (held_ < buffer_.size()) return;
  if (!writer_) writer_ = std::make_unique<Companion>([this] { serve(); }, [this] { ring_.end(); });
  hand_over();
}

void BufferedOutput::write_now(std::span<const std::byte> bytes) {
  flush();
  write_here(bytes);
}

void BufferedOutput::flush() {
  if (held_ > 0) hand_over();
  if (failure_) std::rethrow_exception(failure_);
  if (writer_ && *writer_) ring_.wait_until_empty();
}

void BufferedOutput::hand_over() {
  const std::span<const std::byte> bytes = buffer_.first(std::exchange(held_, 0));
  if (!writer_ || !*writer_) return write_here(bytes);
  buffer_ = {};
  ring_.filled(bytes.size());
}

/// What has failed once fails for good, as it does where a thread writes.
void BufferedOutput::write_here(std::span<const std::byte> bytes) {
  if (failure_) std::rethrow_exception(failure_);
  try {
    write_through(bytes);
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
}

void BufferedOutput::serve() {
  try {
    for (auto bytes = ring_.next(); !bytes.empty(); bytes = ring_.next()) {
      write_through(bytes);
      ring_.emptied();
    }
  } catch (...) {
    ring_.stop(std::current_exception());
  }
}

void BufferedOutput::write_through(std::span<const std::byte> bytes) const {
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
