#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "ckpt/signals.h"
#include "io/file_source.h"
#include "io/temporaries.h"

namespace ckpt {

std::string temporary_folder() {
  const char* folder = ::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

namespace {

[[noreturn]] void fail(const std::string& name, const std::string& folder, int errno_value) {
  throw Error(ErrorCode::io, "cannot be kept in a temporary file in " + folder + ": " + system_words(errno_value))
      .in(name)
      .hint("set TMPDIR to a folder with room for it, or give a file in place of a pipe");
}

UniqueFd unnamed_file(const std::string& name, const std::string& folder) {
  UniqueFd file(uninterrupted([&] { return ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600); }));
  if (file) return file;
  const SignalsBlocked blocked;
  std::string path = folder + "/ckpt-XXXXXX";
  UniqueFd named(::mkostemp(path.data(), O_CLOEXEC));
  if (!named) fail(name, folder, errno);
  ::unlink(path.c_str());
  return named;
}

}  // namespace

UniqueFd spool(int fd, const std::string& name, std::uint64_t& size) {
  const std::string folder = temporary_folder();
  UniqueFd file = unnamed_file(name, folder);
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(limits::copy_chunk);
  size = 0;
  while (true) {
    const ssize_t got = uninterrupted([&] { return ::read(fd, buffer.get(), limits::copy_chunk); });
    // A standard input that somebody set non-blocking is waited for.
    if (got < 0 && errno == EAGAIN && wait_until_ready(fd, POLLIN)) continue;
    if (got < 0) throw_system_error("cannot read", name, errno);
    if (got == 0) return file;
    ssize_t done = 0;
    while (done < got) {
      const ssize_t put =
          uninterrupted([&] { return ::write(file.get(), buffer.get() + done, static_cast<std::size_t>(got - done)); });
      if (put <= 0) fail(name, folder, put < 0 ? errno : ENOSPC);
      done += put;
    }
    size += static_cast<std::uint64_t>(got);
  }
}

}  // namespace ckpt
