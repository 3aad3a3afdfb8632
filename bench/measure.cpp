// Runs one command and prints what it took, as a line of JSON.
//
//     ckpt_measure OUTPUT COMMAND [ARGUMENT…]     the command's standard output goes to the file OUTPUT
//
// A program of its own, static and small, because the kernel counts the memory of the process that starts a command as
// the command's own: started by a script, everything would seem to take at least what the interpreter takes.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace {

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: ckpt_measure OUTPUT COMMAND [ARGUMENT...]\n", stderr);
    return 2;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0666);

  pid_t child = 0;
  const double start = now();
  int failure = posix_spawnp(&child, argv[2], &actions, nullptr, argv + 2, environ);
  int status = 0;
  rusage usage{};
  if (failure == 0 && wait4(child, &status, 0, &usage) != child) failure = errno;
  if (failure != 0) {
    std::fprintf(stderr, "ckpt_measure: %s: %s\n", argv[2], std::strerror(failure));
    return 2;
  }
  const double wall = now() - start;
  std::printf(R"({"status": %d, "wall": %.6f, "cpu": %.6f, "peak": %lld})"
              "\n",
              WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), wall,
              seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss * 1024LL);
  return 0;
}
