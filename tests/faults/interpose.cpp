// Makes the N-th system call or allocation of a program fail, by LD_PRELOAD. Two environment variables say what to do:
//
//   CKPT_FAULTS=KIND:N:ACTION[,KIND:N:ACTION]…   N counts a kind's calls from 1 on; `3+` is the third and all after it
//   CKPT_FAULT_LOG=FILE                          a line a call, `KIND N FUNCTION SUBJECT`, and `alloc N` at the end
//
// Kinds: sandbox (whatever is called while the program gives up its rights), list (a folder that is open is opened to
// see what is in it, entries are looked at, files locked: for leftovers), folder (any other is looked into), tmpfile
// (an open with O_TMPFILE), open (any other), read, pread, reread (a pread of a file that the program may also write:
// its own), write, sync, truncate, rename, link, unlink, mkdir, close, finish (standard output is closed), stat, birth
// (it is asked when a file was made), chmod, chown, attribute (an extended one, such as a list of who may do what),
// readlink, access, seek, dup, poll, random, thread (the start of one), alloc.
//
// Actions: fail=ERRNO, short (half of the bytes), none (0 bytes), kill, kill-after (SIGKILL before or after the call),
// signal=NUMBER (raised before the call), and what somebody else might do to the file that is about to be read:
// shrink, grow, overwrite.
//
// Only what happens inside main() counts, and only what calls through the C library's public names: what the C library
// calls itself (printf's writes) does not. A program that has not ended after CKPT_FAULT_ALARM seconds gets SIGALRM.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdarg>

#include "fault.h"

using faults::allocation_fails;
using faults::Call;
using faults::kind_number;

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace {

bool is_own(int fd) { return (syscall(SYS_fcntl, fd, F_GETFL) & O_ACCMODE) != O_RDONLY; }

int (*real_main)(int, char**, char**) = nullptr;

int armed_main(int count, char** words, char** environment) {
  faults::arm();
  const int status = real_main(count, words, environment);
  faults::disarm();
  return status;
}

// Of the folder that was opened last: there is one at a time.
int folder_kind = kind_number("folder");

int open_kind(int flags) { return kind_number((flags & O_TMPFILE) == O_TMPFILE ? "tmpfile" : "open"); }

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// Of a call that gives null where it fails.
template <class Real>
auto pointer_of(Call call, Real real) {
  decltype(real()) found = nullptr;
  call.run([&] {
    found = real();
    return 0;
  });
  return found;
}

}  // namespace

extern "C" {

int __libc_start_main(int (*main)(int, char**, char**), int count, char** words, void (*init)(), void (*fini)(),
                      void (*rtld_fini)(), void* stack_end) {
  real_main = main;
  using Start = int(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*);
  return next<Start>("__libc_start_main")(armed_main, count, words, init, fini, rtld_fini, stack_end);
}

int prctl(int option, ...) {
  va_list rest;
  va_start(rest, option);
  std::array<unsigned long, 4> values{};
  for (unsigned long& value : values) value = va_arg(rest, unsigned long);
  va_end(rest);
  if (option == PR_SET_NO_NEW_PRIVS) faults::begin_sandbox();
  const int result = Call(kind_number("sandbox"), "prctl", option == PR_SET_SECCOMP ? "filter" : "rights").run([&] {
    return static_cast<int>(syscall(SYS_prctl, option, values[0], values[1], values[2], values[3]));
  });
  if (option == PR_SET_SECCOMP || result != 0) faults::end_sandbox();
  return result;
}

// Landlock has no functions of its own.
long syscall(long number, ...) noexcept {
  va_list rest;
  va_start(rest, number);
  std::array<long, 6> values{};
  for (long& value : values) value = va_arg(rest, long);
  va_end(rest);
  static auto* const its_own = next<long(long, ...)>("syscall");
  const auto real = [&] { return its_own(number, values[0], values[1], values[2], values[3], values[4], values[5]); };
  if (number < SYS_landlock_create_ruleset || number > SYS_landlock_restrict_self) return real();
  return Call(kind_number("sandbox"), "syscall", "Landlock").run(real);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*), void* its) noexcept {
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  const int result = Call(kind_number("thread"), "pthread_create", "").run([&] {
    return next<Create>("pthread_create")(thread, attributes, work, its);
  });
  return result == -1 ? errno : result;
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

// What a checked open() without a mode is called.
int __open_2(const char* path, int flags) { return open(path, flags); }

int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const auto mode = va_arg(rest, mode_t);
  va_end(rest);
  const bool here = std::string_view(path) == ".";
  const int kind = here && (flags & O_TMPFILE) == O_DIRECTORY ? kind_number("list") : open_kind(flags);
  Call call = here && folder >= 0 ? Call(kind, "openat", folder) : Call(kind, "openat", path);
  return call.run([&] { return static_cast<int>(syscall(SYS_openat, folder, path, flags, mode)); });
}

int mkostemp(char* path, int flags) {
  return Call(kind_number("open"), "mkostemp", path).run([&] {
    return next<int(char*, int)>("mkostemp")(path, flags);
  });
}

ssize_t read(int fd, void* data, size_t count) {
  Call call(kind_number("read"), "read", fd);
  return call.run([&] { return static_cast<ssize_t>(syscall(SYS_read, fd, data, call.moved(count))); });
}

ssize_t pread(int fd, void* data, size_t count, off_t offset) {
  Call call(kind_number(faults::is_armed() && is_own(fd) ? "reread" : "pread"), "pread", fd);
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
  Call call(kind_number(fd == STDOUT_FILENO ? "finish" : "close"), "close", fd);
  const int result = static_cast<int>(syscall(SYS_close, fd));
  return call.run([&] { return result; });
}

int mkdirat(int folder, const char* path, mode_t mode) noexcept {
  Call call(kind_number("mkdir"), "mkdirat", path);
  return call.run([&] { return static_cast<int>(syscall(SYS_mkdirat, folder, path, mode)); });
}

// Of leftovers, as flock() below.
int fstatat(int folder, const char* path, struct stat* status, int flags) noexcept {
  Call call(kind_number("list"), "fstatat", path);
  return call.run([&] { return static_cast<int>(syscall(SYS_newfstatat, folder, path, status, flags)); });
}

DIR* opendir(const char* path) {
  folder_kind = kind_number("folder");
  return pointer_of(Call(folder_kind, "opendir", path), [&] { return next<DIR*(const char*)>("opendir")(path); });
}

DIR* fdopendir(int fd) {
  folder_kind = kind_number("list");
  return pointer_of(Call(folder_kind, "fdopendir", fd), [&] { return next<DIR*(int)>("fdopendir")(fd); });
}

dirent* readdir(DIR* folder) {
  return pointer_of(Call(folder_kind, "readdir", dirfd(folder)),
                    [&] { return next<dirent*(DIR*)>("readdir")(folder); });
}

int flock(int fd, int operation) noexcept {
  return Call(kind_number("list"), "flock", fd).run([&] {
    return static_cast<int>(syscall(SYS_flock, fd, operation));
  });
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

int statx(int folder, const char* path, int flags, unsigned mask, struct statx* status) noexcept {
  return Call(kind_number("birth"), "statx", folder).run([&] {
    return static_cast<int>(syscall(SYS_statx, folder, path, flags, mask, status));
  });
}

int fchmod(int fd, mode_t mode) noexcept {
  return Call(kind_number("chmod"), "fchmod", fd).run([&] { return static_cast<int>(syscall(SYS_fchmod, fd, mode)); });
}

int fchown(int fd, uid_t user, gid_t group) noexcept {
  Call call(kind_number("chown"), "fchown", fd);
  return call.run([&] { return static_cast<int>(syscall(SYS_fchown, fd, user, group)); });
}

ssize_t lgetxattr(const char* path, const char* name, void* value, size_t size) noexcept {
  Call call(kind_number("attribute"), "lgetxattr", path);
  return call.run([&] { return static_cast<ssize_t>(syscall(SYS_lgetxattr, path, name, value, size)); });
}

ssize_t fgetxattr(int fd, const char* name, void* value, size_t size) noexcept {
  Call call(kind_number("attribute"), "fgetxattr", fd);
  return call.run([&] { return static_cast<ssize_t>(syscall(SYS_fgetxattr, fd, name, value, size)); });
}

int fsetxattr(int fd, const char* name, const void* value, size_t size, int flags) noexcept {
  Call call(kind_number("attribute"), "fsetxattr", fd);
  return call.run([&] { return static_cast<int>(syscall(SYS_fsetxattr, fd, name, value, size, flags)); });
}

int fremovexattr(int fd, const char* name) noexcept {
  Call call(kind_number("attribute"), "fremovexattr", fd);
  return call.run([&] { return static_cast<int>(syscall(SYS_fremovexattr, fd, name)); });
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

int poll(pollfd* files, nfds_t count, int milliseconds) {
  return Call(kind_number("poll"), "poll", "").run([&] {
    return static_cast<int>(syscall(SYS_poll, files, count, milliseconds));
  });
}

ssize_t getrandom(void* data, size_t size, unsigned flags) {
  return Call(kind_number("random"), "getrandom", "").run([&] {
    return static_cast<ssize_t>(syscall(SYS_getrandom, data, size, flags));
  });
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

// How ckpt-eval leaves main().
[[noreturn]] void _Exit(int status) noexcept {
  faults::disarm();
  for (;;) syscall(SYS_exit_group, status);
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
