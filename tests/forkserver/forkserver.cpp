// Runs a program again and again without starting it anew, by LD_PRELOAD: a process that has loaded and linked all of
// its libraries, and stands before main(), makes a copy of itself for each run. __init__.py is its other side.
//
// The environment variable CKPT_FORK_SERVER is the number of a socket (SOCK_SEQPACKET). A request is a header, see
// `Header`, and the strings that it counts, each with its zero: the folder to run in, the arguments, the environment;
// with it come three descriptors, which become the program's 0, 1 and 2. The answer is the number of the process, and,
// once a byte asks for it, its wait status: until then nobody else has that number. Where nobody asks any more, the
// server ends.
//
// A copy differs from a program that was started by its addresses, which are those of every other copy, and by what was
// read from the environment before main(): the server's. Other libraries that put themselves before main() come before
// this one in LD_PRELOAD; they find in a copy what they would find in a program.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>

namespace {

struct Header {
  std::uint64_t memory;  // bytes of address space; 0: no limit of its own
  std::uint32_t arguments, variables;
};

constexpr std::size_t longest = 192 * 1024, most_strings = 4096;

// No allocation before main(): a copy's heap is what a program's would be.
alignas(Header) std::array<char, longest> request;
std::array<char*, most_strings> strings;

int (*real_main)(int, char**, char**) = nullptr;

[[noreturn]] void misused(const char* why) {
  fprintf(stderr, "forkserver: %s\n", why);
  _exit(120);
}

/// Bytes of the request, and its descriptors; 0 at the end of requests.
ssize_t receive(int socket, std::array<int, 3>& descriptors) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof descriptors)> control;
  iovec bytes{request.data(), request.size() - 1};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (size <= 0) return 0;
  const cmsghdr* const given = CMSG_FIRSTHDR(&message);
  if (given == nullptr || given->cmsg_type != SCM_RIGHTS || given->cmsg_len != CMSG_LEN(sizeof descriptors))
    misused("a request without three descriptors");
  memcpy(descriptors.data(), CMSG_DATA(given), sizeof descriptors);
  return size;
}

/// In the copy: becomes what was asked for, and goes on into main().
int run(std::size_t size, const std::array<int, 3>& descriptors) {
  const Header& header = *reinterpret_cast<const Header*>(request.data());
  const std::size_t count = 1 + header.arguments + header.variables;
  if (size < sizeof(Header) || count + 2 > strings.size()) misused("too long a request");
  request[size] = '\0';
  // The folder, the arguments, null, the environment, null.
  char* next = request.data() + sizeof(Header);
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i, next += strlen(next) + 1) {
    if (next >= request.data() + size) misused("too short a request");
    if (i == 1 + header.arguments) strings[at++] = nullptr;
    strings[at++] = next;
  }
  if (header.variables == 0) strings[at++] = nullptr;
  strings[at] = nullptr;

  for (int target = 0; target < 3; ++target)
    if (dup2(descriptors[target], target) < 0) misused("dup2");
  for (const int descriptor : descriptors) close(descriptor);
  if (chdir(strings[0]) != 0) misused("the folder is not there");
  if (const rlimit limit{header.memory, header.memory}; header.memory != 0 && setrlimit(RLIMIT_AS, &limit) != 0)
    misused("setrlimit");
  environ = strings.data() + 2 + header.arguments;
  return real_main(static_cast<int>(header.arguments), strings.data() + 1, environ);
}

void answer(int socket, std::int64_t number) { send(socket, &number, sizeof number, MSG_NOSIGNAL); }

int serve(int socket) {
  for (;;) {
    std::array<int, 3> descriptors{};
    const ssize_t size = receive(socket, descriptors);
    if (size == 0) _exit(0);
    const pid_t child = fork();
    if (child == 0) {
      close(socket);
      return run(static_cast<std::size_t>(size), descriptors);
    }
    for (const int descriptor : descriptors) close(descriptor);
    if (child < 0) misused("fork");
    answer(socket, child);
    char asked = 0;
    if (recv(socket, &asked, sizeof asked, 0) <= 0) _exit(0);
    int status = 0;
    if (waitpid(child, &status, 0) != child) misused("waitpid");
    answer(socket, status);
  }
}

/// What a copy starts in its turn (a symbolizer of sanitizers) may have the variable, and no such socket.
bool is_socket(int descriptor) {
  int type = 0;
  socklen_t size = sizeof type;
  return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

int main_or_server(int count, char** words, char** variables) {
  const char* const socket = getenv("CKPT_FORK_SERVER");
  const bool is_server = socket != nullptr && is_socket(atoi(socket));
  return is_server ? serve(atoi(socket)) : real_main(count, words, variables);
}

}  // namespace

extern "C" int __libc_start_main(int (*main)(int, char**, char**), int count, char** words, void (*init)(),
                                 void (*fini)(), void (*rtld_fini)(), void* stack_end) {
  real_main = main;
  using Start = int(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*);
  const auto next = reinterpret_cast<Start*>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return next(main_or_server, count, words, init, fini, rtld_fini, stack_end);
}
