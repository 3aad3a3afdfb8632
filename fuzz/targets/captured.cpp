#include "targets/captured.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "targets/input.h"

// Reports go where standard error went before it was captured; only there where a sanitizer is linked.
// NOLINTNEXTLINE(readability-identifier-naming): a sanitizer's own name
extern "C" __attribute__((weak)) void __sanitizer_set_report_fd(void* descriptor);

namespace ckpt::fuzz {
namespace {

/// Sends a descriptor to a file while it lives.
class Redirected {
 public:
  Redirected(int number, const MemoryFile& target) : number_(number), before_(::fcntl(number, F_DUPFD_CLOEXEC, 3)) {
    require(before_ >= 0 && ::dup2(target.descriptor(), number) >= 0, "the harness cannot redirect a stream");
  }
  ~Redirected() {
    ::dup2(before_, number_);
    ::close(before_);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  int number_, before_;
};

void keep_reports_visible() {
  static const int standard_error = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  if (__sanitizer_set_report_fd == nullptr) return;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): so it takes a number
  __sanitizer_set_report_fd(reinterpret_cast<void*>(static_cast<std::intptr_t>(standard_error)));
}

}  // namespace

Captured captured(const std::function<int()>& work) {
  keep_reports_visible();
  const MemoryFile out(nullptr, 0), err(nullptr, 0);
  Captured result;
  {
    const Redirected first(STDOUT_FILENO, out), second(STDERR_FILENO, err);
    result.status = work();
    std::fflush(stdout);
    std::fflush(stderr);
  }
  result.out = out.content();
  result.err = err.content();
  return result;
}

MemoryFile::MemoryFile(const void* data, std::size_t size) : descriptor_(::memfd_create("ckpt-fuzz", MFD_CLOEXEC)) {
  require(descriptor_ >= 0 && ::pwrite(descriptor_, data, size, 0) == static_cast<ssize_t>(size),
          "the harness cannot make a file in memory");
}

MemoryFile::~MemoryFile() { ::close(descriptor_); }

std::string MemoryFile::path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

std::string MemoryFile::content() const {
  std::string text(static_cast<std::size_t>(::lseek(descriptor_, 0, SEEK_END)), '\0');
  require(::pread(descriptor_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()),
          "the harness cannot read what was printed");
  return text;
}

ScratchFolder::ScratchFolder() : path_(std::filesystem::temp_directory_path() / "ckpt-fuzz-XXXXXX") {
  require(::mkdtemp(path_.data()) != nullptr, "the harness cannot make a folder");
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::size_t ScratchFolder::clear() const {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    ++count;
    std::filesystem::remove_all(entry.path());
  }
  return count;
}

}  // namespace ckpt::fuzz
