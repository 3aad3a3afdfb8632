// Makes the N-th system call or allocation of a program fail, by LD_PRELOAD. Two environment variables say what to do:
//
//   CKPT_FAULTS=KIND:N:ACTION[,KIND:N:ACTION]…   N counts a kind's calls from 1 on; `3+` is the third and all after it
//   CKPT_FAULT_LOG=FILE                          a line a call, `KIND N FUNCTION SUBJECT`, and `alloc N` at the end
//
// Kinds: tmpfile (an open with O_TMPFILE), open (any other), read, pread, reread (a pread of a file that the program
// may also write: its own), write, sync, truncate, rename, link, unlink, close, stat, chmod, chown, readlink, access,
// seek, dup, alloc.
// Actions: fail=ERRNO, short (half of the bytes), none (0 bytes), kill, kill-after (SIGKILL before or after the call),
// signal=NUMBER (raised before the call), and what somebody else might do to the file that is about to be read:
// shrink, grow, overwrite.
//
// Only what happens inside main() counts, and only what calls through the C library's public names: what the C library
// calls itself (printf's writes) does not. A program that has not ended after CKPT_FAULT_ALARM seconds gets SIGALRM.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstring>
#include <string_view>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace {

constexpr std::array<std::string_view, 20> kinds{"tmpfile",  "open",     "read",   "pread",  "reread", "write", "sync",
                                                 "truncate", "rename",   "link",   "unlink", "close",  "stat",  "chmod",
                                                 "chown",    "readlink", "access", "seek",   "dup",    "alloc"};

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

std::array<Fault, 8> faults;
std::array<long, kinds.size()> counts;
int log_file = -1;
bool armed = false;

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
    if (count == faults.size()) misused("too many");
    const std::size_t comma = rest.find(',');
    faults[count++] = parse_fault(rest.substr(0, comma));
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

const Fault* next_fault(int kind) {
  const long count = ++counts[static_cast<std::size_t>(kind)];
  for (const Fault& fault : faults)
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

/// One call: counts it, and does before it what is to be done.
class Call {
 public:
  Call(int kind, const char* function, const char* subject) {
    if (!armed) return;
    const Fault* const fault = next_fault(kind);
    log_call(kind, function, subject);
    if (fault != nullptr) begin(*fault, -1);
  }
  Call(int kind, const char* function, int fd) {
    if (!armed) return;
    const Fault* const fault = next_fault(kind);
    if (log_file >= 0) log_call(kind, function, FileOf(fd).text.data());
    if (fault != nullptr) begin(*fault, fd);
  }

  /// The call's result: `real` is only called where it shall not fail. `Count` is what it may move, if it moves bytes.
  template <class Real>
  auto run(Real real) -> decltype(real()) {
    if (what_ == Do::fail) {
      errno = number_;
      return -1;
    }
    if (what_ == Do::none) return 0;
    const auto result = real();
    if (what_ == Do::kill_after) die();
    return result;
  }
  [[nodiscard]] size_t moved(size_t count) const { return what_ == Do::shorten && count > 1 ? count / 2 : count; }

 private:
  [[noreturn]] static void die() {
    syscall(SYS_kill, getpid(), SIGKILL);
    _exit(121);
  }
  void begin(const Fault& fault, int fd) {
    what_ = fault.what;
    number_ = fault.number;
    if (what_ == Do::kill) die();
    if (what_ == Do::raise) raise(number_);
    if (what_ >= Do::shrink) disturb(what_, fd);
  }

  Do what_ = Do::nothing;
  int number_ = 0;
};

bool allocation_fails() {
  if (!armed) return false;
  constexpr int kind = kind_number("alloc");
  const Fault* const fault = next_fault(kind);
  if (fault == nullptr) return false;
  if (fault->what == Do::raise) raise(fault->number);
  if (fault->what != Do::fail) return false;
  errno = ENOMEM;
  return true;
}

bool is_own(int fd) { return (syscall(SYS_fcntl, fd, F_GETFL) & O_ACCMODE) != O_RDONLY; }

int (*real_main)(int, char**, char**) = nullptr;

int armed_main(int count, char** words, char** environment) {
  read_environment();
  armed = true;
  const int status = real_main(count, words, environment);
  armed = false;
  if (log_file >= 0) {
    std::array<char, 64> line{};
    const int length = snprintf(line.data(), line.size(), "alloc %ld\n", counts[kind_number("alloc")]);
    syscall(SYS_write, log_file, line.data(), length);
  }
  return status;
}

int open_kind(int flags) { return kind_number((flags & O_TMPFILE) == O_TMPFILE ? "tmpfile" : "open"); }

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int __libc_start_main(int (*main)(int, char**, char**), int count, char** words, void (*init)(), void (*fini)(),
                      void (*rtld_fini)(), void* stack_end) {
  real_main = main;
  using Start = int(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*);
  return next<Start>("__libc_start_main")(armed_main, count, words, init, fini, rtld_fini, stack_end);
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const auto mode = va_arg(rest, mode_t);
  va_end(rest);
  return Call(open_kind(flags), "open", path).run([&] {
    return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
  });
}

int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const auto mode = va_arg(rest, mode_t);
  va_end(rest);
  const bool here = std::string_view(path) == ".";
  Call call = here && folder >= 0 ? Call(open_kind(flags), "openat", folder) : Call(open_kind(flags), "openat", path);
  return call.run([&] { return static_cast<int>(syscall(SYS_openat, folder, path, flags, mode)); });
}

int mkostemp(char* path, int flags) noexcept {
  return Call(kind_number("open"), "mkostemp", path).run([&] {
    return next<int(char*, int)>("mkostemp")(path, flags);
  });
}

ssize_t read(int fd, void* data, size_t count) {
  Call call(kind_number("read"), "read", fd);
  return call.run([&] { return static_cast<ssize_t>(syscall(SYS_read, fd, data, call.moved(count))); });
}

ssize_t pread(int fd, void* data, size_t count, off_t offset) {
  Call call(kind_number(armed && is_own(fd) ? "reread" : "pread"), "pread", fd);
  return call.run([&] { return static_cast<ssize_t>(syscall(SYS_pread64, fd, data, call.moved(count), offset)); });
}

ssize_t write(int fd, const void* data, size_t count) {
  Call call(kind_number("write"), "write", fd);
  return call.run([&] { return static_cast<ssize_t>(syscall(SYS_write, fd, data, call.moved(count))); });
}

ssize_t pwrite(int fd, const void* data, size_t count, off_t offset) {
  Call call(kind_number("write"), "pwrite", fd);
  return call.run([&] { return static_cast<ssize_t>(syscall(SYS_pwrite64, fd, data, call.moved(count), offset)); });
}

ssize_t writev(int fd, const iovec* pieces, int count) {
  Call call(kind_number("write"), "writev", fd);
  const int some = static_cast<int>(call.moved(static_cast<size_t>(count)));
  return call.run([&] { return static_cast<ssize_t>(syscall(SYS_writev, fd, pieces, some)); });
}

int fsync(int fd) {
  return Call(kind_number("sync"), "fsync", fd).run([&] { return static_cast<int>(syscall(SYS_fsync, fd)); });
}

int fdatasync(int fd) {
  return Call(kind_number("sync"), "fdatasync", fd).run([&] { return static_cast<int>(syscall(SYS_fdatasync, fd)); });
}

int ftruncate(int fd, off_t size) noexcept {
  Call call(kind_number("truncate"), "ftruncate", fd);
  return call.run([&] { return static_cast<int>(syscall(SYS_ftruncate, fd, size)); });
}

int fallocate(int fd, int mode, off_t begin, off_t size) {
  Call call(kind_number("truncate"), "fallocate", fd);
  return call.run([&] { return static_cast<int>(syscall(SYS_fallocate, fd, mode, begin, size)); });
}

int rename(const char* from, const char* to) noexcept {
  Call call(kind_number("rename"), "rename", to);
  return call.run([&] { return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0)); });
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  Call call(kind_number("rename"), "renameat", to);
  return call.run([&] { return static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, 0)); });
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  Call call(kind_number("rename"), "renameat2", to);
  return call.run([&] { return static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags)); });
}

int link(const char* from, const char* to) noexcept {
  Call call(kind_number("link"), "link", to);
  return call.run([&] { return static_cast<int>(syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0)); });
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  Call call(kind_number("link"), "linkat", to);
  return call.run([&] { return static_cast<int>(syscall(SYS_linkat, from_folder, from, to_folder, to, flags)); });
}

int unlink(const char* path) noexcept {
  Call call(kind_number("unlink"), "unlink", path);
  return call.run([&] { return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0)); });
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  Call call(kind_number("unlink"), "unlinkat", path);
  return call.run([&] { return static_cast<int>(syscall(SYS_unlinkat, folder, path, flags)); });
}

// A close that fails has closed all the same, as on Linux.
int close(int fd) {
  Call call(kind_number("close"), "close", fd);
  const int result = static_cast<int>(syscall(SYS_close, fd));
  return call.run([&] { return result; });
}

int stat(const char* path, struct stat* status) noexcept {
  Call call(kind_number("stat"), "stat", path);
  return call.run([&] { return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, status, 0)); });
}

int lstat(const char* path, struct stat* status) noexcept {
  Call call(kind_number("stat"), "lstat", path);
  return call.run(
      [&] { return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW)); });
}

int fstat(int fd, struct stat* status) noexcept {
  Call call(kind_number("stat"), "fstat", fd);
  return call.run([&] { return static_cast<int>(syscall(SYS_fstat, fd, status)); });
}

int fchmod(int fd, mode_t mode) noexcept {
  return Call(kind_number("chmod"), "fchmod", fd).run([&] { return static_cast<int>(syscall(SYS_fchmod, fd, mode)); });
}

int fchown(int fd, uid_t user, gid_t group) noexcept {
  Call call(kind_number("chown"), "fchown", fd);
  return call.run([&] { return static_cast<int>(syscall(SYS_fchown, fd, user, group)); });
}

ssize_t readlink(const char* path, char* text, size_t size) noexcept {
  Call call(kind_number("readlink"), "readlink", path);
  return call.run([&] { return static_cast<ssize_t>(syscall(SYS_readlinkat, AT_FDCWD, path, text, size)); });
}

int access(const char* path, int mode) noexcept {
  Call call(kind_number("access"), "access", path);
  return call.run([&] { return static_cast<int>(syscall(SYS_faccessat, AT_FDCWD, path, mode)); });
}

int faccessat(int folder, const char* path, int mode, int flags) noexcept {
  Call call(kind_number("access"), "faccessat", path);
  return call.run([&] { return next<int(int, const char*, int, int)>("faccessat")(folder, path, mode, flags); });
}

off_t lseek(int fd, off_t offset, int from) noexcept {
  Call call(kind_number("seek"), "lseek", fd);
  return call.run([&] { return static_cast<off_t>(syscall(SYS_lseek, fd, offset, from)); });
}

int fcntl(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  const auto argument = va_arg(rest, long);
  va_end(rest);
  const auto real = [&] { return static_cast<int>(syscall(SYS_fcntl, fd, command, argument)); };
  if (command != F_DUPFD_CLOEXEC) return real();
  return Call(kind_number("dup"), "fcntl", fd).run(real);
}

void* malloc(size_t size) noexcept { return allocation_fails() ? nullptr : __libc_malloc(size); }

void* calloc(size_t count, size_t size) noexcept { return allocation_fails() ? nullptr : __libc_calloc(count, size); }

void* realloc(void* old, size_t size) noexcept { return allocation_fails() ? nullptr : __libc_realloc(old, size); }

void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return allocation_fails() ? nullptr : __libc_memalign(alignment, size);
}

int posix_memalign(void** out, size_t alignment, size_t size) noexcept {
  if (allocation_fails()) return ENOMEM;
  *out = __libc_memalign(alignment, size);
  return *out == nullptr ? ENOMEM : 0;
}

}  // extern "C"
