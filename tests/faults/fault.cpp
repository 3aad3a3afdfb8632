#include "fault.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <csignal>

// Only system calls here, no functions that are interposed.
namespace faults {
namespace {

std::array<Fault, 8> all;
std::array<long, kinds.size()> counts;
int log_file = -1;
bool armed = false, in_sandbox = false;

[[noreturn]] void misused(const char* why) {
  fprintf(stderr, "interpose: CKPT_FAULTS: %s\n", why);
  _exit(120);
}

Do action_named(std::string_view name) {
  constexpr std::array<std::string_view, 10> names{"",           "fail",   "short",  "none", "kill",
                                                   "kill-after", "signal", "shrink", "grow", "overwrite"};
  for (std::size_t i = 1; i < names.size(); ++i)
    if (names[i] == name) return static_cast<Do>(i);
  misused("no such action");
}

Fault parse_fault(std::string_view text) {
  const std::size_t first = text.find(':');
  const std::size_t second = text.find(':', first + 1);
  if (second == std::string_view::npos) misused("expected KIND:N:ACTION");
  Fault fault;
  fault.kind = kind_number(text.substr(0, first));
  if (fault.kind < 0) misused("no such kind");
  char* end = nullptr;
  fault.first = strtol(text.data() + first + 1, &end, 10);
  fault.last = *end == '+' ? LONG_MAX : fault.first;
  if (fault.first < 1) misused("N is 1 or more");
  const std::string_view action = text.substr(second + 1);
  const std::size_t equals = action.find('=');
  fault.what = action_named(action.substr(0, equals));
  if (equals != std::string_view::npos) fault.number = atoi(action.data() + equals + 1);
  return fault;
}

void read_environment() {
  std::size_t count = 0;
  const char* const text = getenv("CKPT_FAULTS");
  for (std::string_view rest = text == nullptr ? "" : text; !rest.empty();) {
    if (count == all.size()) misused("too many");
    const std::size_t comma = rest.find(',');
    all[count++] = parse_fault(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
  }
  const char* const log = getenv("CKPT_FAULT_LOG");
  if (log != nullptr)
    log_file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  // Out of the way: the program's own descriptors get the numbers that they would have without it.
  if (log_file >= 0) {
    const int high = static_cast<int>(syscall(SYS_fcntl, log_file, F_DUPFD_CLOEXEC, 100));
    syscall(SYS_close, log_file);
    log_file = high;
  }
  const char* const seconds = getenv("CKPT_FAULT_ALARM");
  if (seconds != nullptr) alarm(static_cast<unsigned>(atoi(seconds)));
}

/// What a descriptor stands for, as /proc shows it.
struct FileOf {
  explicit FileOf(int fd) {
    std::array<char, 64> link{};
    snprintf(link.data(), link.size(), "/proc/self/fd/%d", fd);
    syscall(SYS_readlink, link.data(), text.data(), text.size() - 1);
  }
  std::array<char, PATH_MAX> text{};
};

void log_call(int kind, const char* function, const char* subject) {
  if (log_file < 0) return;
  std::array<char, PATH_MAX + 100> line{};
  const int length = snprintf(line.data(), line.size(), "%s %ld %s %s\n", kinds[static_cast<std::size_t>(kind)].data(),
                              counts[static_cast<std::size_t>(kind)], function, subject);
  syscall(SYS_write, log_file, line.data(), length);
}

const Fault* next_fault(int& kind) {
  if (in_sandbox && kind != kind_number("alloc")) kind = kind_number("sandbox");
  const long count = ++counts[static_cast<std::size_t>(kind)];
  for (const Fault& fault : all)
    if (fault.kind == kind && fault.first <= count && count <= fault.last) return &fault;
  return nullptr;
}

// What another program might do to the file behind `fd` while it is read.
void disturb(Do what, int fd) {
  std::array<char, 64> path{};
  snprintf(path.data(), path.size(), "/proc/self/fd/%d", fd);
  struct stat status {};
  const int file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path.data(), O_WRONLY));
  if (file < 0 || syscall(SYS_fstat, file, &status) != 0) misused("the input cannot be written to");
  constexpr std::string_view other = "what somebody else writes there. ";
  if (what == Do::shrink) syscall(SYS_ftruncate, file, status.st_size / 2);
  if (what == Do::grow) syscall(SYS_pwrite64, file, other.data(), other.size(), status.st_size);
  if (what == Do::overwrite) {
    for (off_t at = 0; at + static_cast<off_t>(other.size()) <= status.st_size; at += static_cast<off_t>(other.size()))
      syscall(SYS_pwrite64, file, other.data(), other.size(), at);
  }
  syscall(SYS_close, file);
}

/// Through the one call that the sandbox leaves for it.
void signal_self(int number) { syscall(SYS_tgkill, getpid(), getpid(), number); }

}  // namespace

void arm() {
  read_environment();
  armed = true;
}

void disarm() {
  armed = false;
  if (log_file < 0) return;
  std::array<char, 64> line{};
  const int length = snprintf(line.data(), line.size(), "alloc %ld\n", counts[kind_number("alloc")]);
  syscall(SYS_write, log_file, line.data(), length);
}

bool is_armed() { return armed; }

void begin_sandbox() { in_sandbox = true; }
void end_sandbox() { in_sandbox = false; }

bool allocation_fails() {
  if (!armed) return false;
  int kind = kind_number("alloc");
  const Fault* const fault = next_fault(kind);
  if (fault == nullptr) return false;
  if (fault->what == Do::raise) signal_self(fault->number);
  if (fault->what != Do::fail) return false;
  errno = ENOMEM;
  return true;
}

Call::Call(int kind, const char* function, const char* subject) {
  if (!armed) return;
  const Fault* const fault = next_fault(kind);
  log_call(kind, function, subject);
  if (fault != nullptr) begin(*fault, -1);
}

Call::Call(int kind, const char* function, int fd) {
  if (!armed) return;
  const Fault* const fault = next_fault(kind);
  if (log_file >= 0) log_call(kind, function, FileOf(fd).text.data());
  if (fault != nullptr) begin(*fault, fd);
}

void Call::kill_program() {
  signal_self(SIGKILL);
  _exit(121);
}

void Call::begin(const Fault& fault, int fd) {
  what_ = fault.what;
  number_ = fault.number;
  if (what_ == Do::kill) kill_program();
  if (what_ == Do::raise) signal_self(number_);
  if (what_ >= Do::shrink) disturb(what_, fd);
}

}  // namespace faults
