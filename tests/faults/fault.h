#pragma once

#include <stddef.h>

#include <array>
#include <cerrno>
#include <string_view>

// The faults that a program is to meet, as its environment tells them, and the counting of its calls.
namespace faults {

constexpr auto kinds = std::to_array<std::string_view>(
    {"list",   "sandbox", "tmpfile", "open",  "read",  "pread",  "reread", "write",    "sync",      "truncate",
     "rename", "link",    "unlink",  "close", "stat",  "chmod",  "chown",  "readlink", "attribute", "access",
     "seek",   "dup",     "thread",  "alloc", "mkdir", "finish", "folder", "birth",    "poll",      "random"});

constexpr int kind_number(std::string_view name) {
  for (std::size_t i = 0; i < kinds.size(); ++i)
    if (kinds[i] == name) return static_cast<int>(i);
  return -1;
}

enum class Do { nothing, fail, shorten, none, kill, kill_after, raise, shrink, grow, overwrite };

struct Fault {
  int kind = -1;
  long first = 0, last = 0;
  Do what = Do::nothing;
  int number = 0;  // an errno, or a signal
};

/// From here on calls count: main() begins. Reads the environment.
void arm();
/// main() has ended.
void disarm();
bool is_armed();
/// Between these, calls of any kind are of the kind `sandbox`.
void begin_sandbox();
void end_sandbox();

/// Counts an allocation; true where it shall fail.
bool allocation_fails();

/// One call: counts and logs it, and does before it what is to be done.
class Call {
 public:
  /// `subject` is what the call is about: a path, or what an open descriptor stands for.
  Call(int kind, const char* function, const char* subject);
  Call(int kind, const char* function, int fd);

  /// The call's result: `real` is only called where it shall not fail.
  template <class Real>
  auto run(Real real) -> decltype(real()) {
    if (what_ == Do::fail) {
      errno = number_;
      return -1;
    }
    if (what_ == Do::none) return 0;
    const auto result = real();
    if (what_ == Do::kill_after) kill_program();
    return result;
  }
  [[nodiscard]] size_t moved(size_t count) const { return what_ == Do::shorten && count > 1 ? count / 2 : count; }

 private:
  [[noreturn]] static void kill_program();
  void begin(const Fault& fault, int fd);

  Do what_ = Do::nothing;
  int number_ = 0;
};

}  // namespace faults
