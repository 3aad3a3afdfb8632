#include "program.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>

#include "ckpt/file_sink.h"
#include "messages.h"

namespace ckpt::tools {
namespace {

// The handler is reset before it runs, so that the signal raised again ends the process the way its sender expects.
extern "C" void on_signal(int signal_number) {
  discard_temporaries();
  std::raise(signal_number);
}

void clean_up_on(int signal_number) {
  struct sigaction action {};
  if (sigaction(signal_number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) return;
  action = {};
  sigfillset(&action.sa_mask);  // a second signal waits until the first has cleaned up
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(signal_number, &action, nullptr);
}

// A file must not be given the number of a standard stream that the caller closed: what is printed would land in it.
// Standard output is reserved for reading, so that writing to what was closed still fails.
void reserve_standard_streams() {
  for (int number = 0; number <= 2; ++number) {
    if (::fcntl(number, F_GETFD) != -1) continue;
    // Where there is no /dev/null (a bare container), a folder takes and gives nothing either.
    if (::open("/dev/null", number == 2 ? O_WRONLY : O_RDONLY) < 0) (void)::open("/", O_RDONLY | O_DIRECTORY);
  }
}

// What tens of thousands of tensors take comes in blocks of some MiB, and goes again. glibc would come to keep blocks
// of up to 32 MiB for the next, which then fits none of them.
void give_back_what_is_freed() {
#ifdef __GLIBC__
  constexpr int smallest_of_its_own = 1 << 20;
  ::mallopt(M_MMAP_THRESHOLD, smallest_of_its_own);
#endif
}

// A destructor that finds no memory cannot throw, and ends up here: the JSON library has such.
[[noreturn]] void on_terminate() {
  discard_temporaries();
  try {
    if (std::current_exception() != nullptr) throw;
  } catch (const std::bad_alloc&) {
    ::_exit(out_of_memory());
  } catch (...) {
    // Anything else is a bug, and aborts as it would have.
  }
  std::abort();
}

}  // namespace

int run_program(int count, char** words, const std::function<int(const std::vector<std::string>&)>& work) {
  std::set_terminate(on_terminate);
  reserve_standard_streams();
  give_back_what_is_freed();
  // All that end a process and that others send, batch systems among them.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF})
    clean_up_on(number);
#ifdef __linux__
  for (const int number : {SIGIO, SIGPWR, SIGSTKFLT}) clean_up_on(number);
#endif
  // A reader that has gone away and a limit on the size of files are errors of the write, with their own messages.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  const int status =
      guarded([&] { return work(std::vector<std::string>(words + (count > 0 ? 1 : 0), words + count)); });
  return finish_output(status);
}

}  // namespace ckpt::tools
