#pragma once

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace ckpt {

/// A file descriptor with one owner, closed at the end of its life.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~UniqueFd() { reset(); }

  void reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  [[nodiscard]] int get() const { return fd_; }
  /// Gives it to another owner.
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// Repeats a system call for as long as a signal interrupts it.
template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// Waits until a non-blocking descriptor can be read from (POLLIN) or written to (POLLOUT), or says that it failed.
inline bool wait_until_ready(int fd, short event) {
  pollfd waiting{fd, event, 0};
  return uninterrupted([&] { return ::poll(&waiting, 1, -1); }) > 0;
}

/// What to do about EMFILE and ENFILE.
inline constexpr std::string_view too_many_open = "too many files are open: ulimit -n shows the limit and raises it";

inline std::string system_words(int errno_value) { return std::generic_category().message(errno_value); }

}  // namespace ckpt
