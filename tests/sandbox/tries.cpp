// Preloaded into ckpt, tries what a program that has been taken over would: once on the first thread that reads a file
// and is not the main one, and once when main() has ended. A line on standard error each: `tried WHERE WHAT RESULT`,
// where RESULT is 0 or errno. CKPT_TRY_ELSEWHERE and CKPT_TRY_BESIDE name folders: one that no output is in, one that
// it may be.
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

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
  tell_of(what + ".rename", ::rename((folder + "/old").c_str(), path("renamed").c_str()));
  (void)::rename(path("renamed").c_str(), (folder + "/old").c_str());
  tell_of(what + ".link", ::link((folder + "/old").c_str(), path("linked").c_str()));
  tell_of(what + ".symlink", ::symlink("/etc/passwd", path("leads-on").c_str()));
  tell_of(what + ".fifo", ::mkfifo(path("pipe").c_str(), 0600));
  tell_of(what + ".unlink", ::unlink((folder + "/" + where + "-victim").c_str()));
  open_as(what + ".read", folder + "/old", O_RDONLY);
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
  char byte = 1, copy = 0;
  const iovec from{&byte, 1}, to{&copy, 1};
  tell_of("look-into", ::process_vm_readv(::getpid(), &to, 1, &from, 1, 0));
  tell_of("unshare", ::unshare(0));
  tell_of("type", ::ioctl(0, TIOCSTI, &byte));
}

void try_all(const char* from) {
  where = from;
  change_files("elsewhere", ::getenv("CKPT_TRY_ELSEWHERE"));
  change_files("beside", ::getenv("CKPT_TRY_BESIDE"));
  reach_others();
  start_programs();
}

std::atomic<bool> on_thread_done{false};

template <class Read>
ssize_t read_and_try(const char* name, int file, void* to, size_t count, off_t offset) {
  if (::gettid() != ::getpid() && !on_thread_done.exchange(true)) try_all("thread");
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
