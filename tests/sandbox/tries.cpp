// Preloaded into ckpt, tries what a program that has been taken over would: once on the first thread that reads a file
// and is not the main one, and once when main() has ended. A line on standard error each: `tried WHERE WHAT RESULT`,
// where RESULT is 0 or errno. CKPT_TRY_ELSEWHERE and CKPT_TRY_BESIDE name folders: one that no output is in, one that
// it may be.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include <atomic>
#include <cerrno>
#include <string>

namespace {

const char* where = "";

void tell(const std::string& what, int result) {
  const std::string line = std::string("tried ") + where + " " + what + " " + std::to_string(result) + "\n";
  (void)!::write(2, line.data(), line.size());
}

/// `result` is what a call returned that gives -1 and errno.
void tell_of(const std::string& what, long result) { tell(what, result < 0 ? errno : 0); }

void open_as(const std::string& what, const std::string& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  tell_of(what, file);
  if (file >= 0) ::close(file);
}

void change_files(const std::string& what, const std::string& folder) {
  const auto path = [&](const char* name) { return folder + "/" + where + "-" + name; };
  open_as(what + ".create", path("new"), O_CREAT | O_EXCL | O_WRONLY);
  tell_of(what + ".mkdir", ::mkdir(path("folder").c_str(), 0700));
  open_as(what + ".write", folder + "/old", O_WRONLY);
  open_as(what + ".append", folder + "/old", O_WRONLY | O_APPEND);
  tell_of(what + ".truncate", ::truncate((folder + "/old").c_str(), 1));
  open_as(what + ".empty", folder + "/old", O_RDONLY | O_TRUNC);
  open_as(what + ".empty-unread", folder + "/old", O_ACCMODE | O_TRUNC);
  tell_of(what + ".rename", ::rename((folder + "/old").c_str(), path("renamed").c_str()));
  (void)::rename(path("renamed").c_str(), (folder + "/old").c_str());
  tell_of(what + ".link", ::link((folder + "/old").c_str(), path("linked").c_str()));
  tell_of(what + ".symlink", ::symlink("/etc/passwd", path("leads-on").c_str()));
  tell_of(what + ".fifo", ::mkfifo(path("pipe").c_str(), 0600));
  tell_of(what + ".unlink", ::unlink((folder + "/" + where + "-victim").c_str()));
  open_as(what + ".read", folder + "/old", O_RDONLY);
}

/// Modes, owners, times and labels: Landlock knows nothing of them.
void change_what_is_said_of(const std::string& what, const std::string& file) {
  const char* const name = file.c_str();
  const timespec times[2] = {{1, 0}, {1, 0}};
  const utimbuf old_times{1, 1};
  tell_of(what + ".chmod", ::chmod(name, 0600));
  tell_of(what + ".fchmodat", ::fchmodat(AT_FDCWD, name, 0600, 0));
  tell_of(what + ".chown", ::chown(name, ::getuid(), static_cast<gid_t>(-1)));
  tell_of(what + ".lchown", ::lchown(name, ::getuid(), static_cast<gid_t>(-1)));
  tell_of(what + ".fchownat", ::fchownat(AT_FDCWD, name, ::getuid(), static_cast<gid_t>(-1), 0));
  tell_of(what + ".times", ::utimensat(AT_FDCWD, name, times, 0));
  tell_of(what + ".utime", ::utime(name, &old_times));
  tell_of(what + ".label", ::setxattr(name, "user.ckpt", "x", 1, 0));
  tell_of(what + ".unlabel", ::removexattr(name, "user.ckpt"));
  const int open = ::open(name, O_RDONLY | O_CLOEXEC);
  int attributes = 0;
  const bool has_attributes = ::ioctl(open, FS_IOC_GETFLAGS, &attributes) == 0;
  if (has_attributes || errno == EPERM) tell_of(what + ".attributes", ::ioctl(open, FS_IOC_SETFLAGS, &attributes));
  tell_of(what + ".fchmod", ::fchmod(open, 0600));
  tell_of(what + ".fchown", ::fchown(open, ::getuid(), static_cast<gid_t>(-1)));
  tell_of(what + ".ftimes", ::futimens(open, times));
  tell_of(what + ".flabel", ::fsetxattr(open, "user.ckpt", "x", 1, 0));
  tell_of(what + ".funlabel", ::fremovexattr(open, "user.ckpt"));
  ::close(open);
}

int ended(pid_t process) {
  int status = 0;
  ::waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : ECANCELED;
}

void start_programs() {
  char name[] = "true";
  char* const words[] = {name, nullptr};
  const pid_t child = ::fork();
  if (child == 0) {
    ::execv("/bin/true", words);
    ::_exit(errno);
  }
  tell_of("fork", child);
  if (child > 0) {
    tell("execute", ended(child));
  } else {
    tell_of("execute", ::execv("/bin/true", words));
  }
  pid_t spawned = 0;
  const int result = ::posix_spawn(&spawned, "/bin/true", nullptr, nullptr, words, nullptr);
  tell("spawn", result == 0 ? ended(spawned) : result);
}

void reach_others() {
  for (const auto& [what, family] : {std::pair{"socket", AF_INET}, std::pair{"unix-socket", AF_UNIX}}) {
    const int made = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    tell_of(what, made);
    if (made >= 0) ::close(made);
  }
  int pair[2] = {-1, -1};
  tell_of("socketpair", ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
  for (const int end : pair)
    if (end >= 0) ::close(end);
  tell_of("signal", ::kill(::getppid(), 0));
  tell_of("signal-thread", ::syscall(SYS_tgkill, ::getppid(), ::getppid(), 0));
  rlimit limit{};
  tell_of("limit-other", ::prlimit(::getppid(), RLIMIT_NOFILE, nullptr, &limit));
  tell_of("limit-own", ::prlimit(0, RLIMIT_NOFILE, nullptr, &limit));
  tell_of("slow-other", ::setpriority(PRIO_PROCESS, static_cast<id_t>(::getppid()), ::getpriority(PRIO_PROCESS, 0)));
  cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof cores, &cores) == 0)
    tell_of("pin-other", ::sched_setaffinity(::getppid(), sizeof cores, &cores));
  tell_of("shared-memory", ::shmget(IPC_PRIVATE, 1, 0));
  char byte = 1, copy = 0;
  const iovec from{&byte, 1}, to{&copy, 1};
  tell_of("look-into", ::process_vm_readv(::getpid(), &to, 1, &from, 1, 0));
  tell_of("unshare", ::unshare(0));
  int ends[2] = {-1, -1};
  (void)!::pipe2(ends, O_CLOEXEC);
  tell_of("type", ::ioctl(0, TIOCSTI, &byte));
  int waiting = 0;
  tell_of("ask-driver", ::ioctl(ends[0], FIONREAD, &waiting));
  tell_of("signal-by-file", ::fcntl(ends[0], F_SETOWN, ::getppid()));
  const f_owner_ex owner{F_OWNER_PID, ::getppid()};
  tell_of("signal-by-file-ex", ::fcntl(ends[0], F_SETOWN_EX, &owner));
  tell_of("choose-signal", ::fcntl(ends[0], F_SETSIG, SIGURG));
  for (const int end : ends) ::close(end);
}

void try_all(const char* from) {
  where = from;
  change_files("elsewhere", ::getenv("CKPT_TRY_ELSEWHERE"));
  change_files("beside", ::getenv("CKPT_TRY_BESIDE"));
  change_what_is_said_of("said-elsewhere", ::getenv("CKPT_TRY_ELSEWHERE") + std::string("/old"));
  change_what_is_said_of("said-beside", ::getenv("CKPT_TRY_BESIDE") + std::string("/old"));
  reach_others();
  start_programs();
}

std::atomic<bool> on_thread_done{false};
constexpr std::size_t large = 64 << 10;

template <class Read>
ssize_t read_and_try(const char* name, int file, void* to, size_t count, off_t offset) {
  if (::gettid() != ::getpid()) {
    if (!on_thread_done.exchange(true)) try_all("thread");
  } else if (count >= large && !on_thread_done) {
    ::usleep(50'000);  // until others have begun, where any do: the first thread alone would soon have read it all
  }
  return reinterpret_cast<Read*>(::dlsym(RTLD_NEXT, name))(file, to, count, offset);
}

// What is started from here must not do the same.
__attribute__((constructor)) void only_here() { ::unsetenv("LD_PRELOAD"); }
__attribute__((destructor)) void at_the_end() { try_all("end"); }

}  // namespace

extern "C" {

ssize_t pread(int file, void* to, size_t count, off_t offset) {
  return read_and_try<ssize_t(int, void*, size_t, off_t)>("pread", file, to, count, offset);
}

ssize_t pread64(int file, void* to, size_t count, off64_t offset) {
  return read_and_try<ssize_t(int, void*, size_t, off64_t)>("pread64", file, to, count, offset);
}

}  // extern "C"
