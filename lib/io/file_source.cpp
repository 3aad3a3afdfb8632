#include "io/file_source.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "ckpt/error.h"
#include "io/leftovers.h"
#include "io/paths.h"

namespace ckpt {
namespace {

class FileSource final : public ByteSource {
 public:
  FileSource(UniqueFd fd, std::uint64_t begin, std::uint64_t size, std::string name,
             const std::optional<struct stat>& as_opened, std::string folder)
      : ByteSource(std::move(name)),
        folder_(std::move(folder)),
        fd_(std::move(fd)),
        begin_(begin),
        size_(size),
        as_opened_(as_opened) {}

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] bool is_concurrent() const override { return true; }
  [[nodiscard]] std::string folder() const override { return folder_; }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset >= size_) return 0;
    const std::size_t wanted = std::min<std::uint64_t>(out.size(), size_ - offset);
    std::size_t have = 0;
    while (have < wanted) {
      const ssize_t got = uninterrupted([&] {
        return ::pread(fd_.get(), out.data() + have, wanted - have, static_cast<off_t>(begin_ + offset + have));
      });
      if (got < 0) throw_system_error("cannot read", name(), errno);
      if (got == 0) throw changed_while_read(name(), " and ends at byte " + std::to_string(offset + have));
      have += static_cast<std::size_t>(got);
    }
    if (as_opened_) check_unchanged();
    return have;
  }

 private:
  // Not every format has checksums that would tell a mixture of two files from one.
  void check_unchanged() const {
    struct stat now {};
    if (::fstat(fd_.get(), &now) != 0) throw_system_error("cannot read", name(), errno);
    if (!is_unwritten(*as_opened_, now)) throw changed_while_read(name());
  }

  std::string folder_;
  UniqueFd fd_;
  std::uint64_t begin_;
  std::uint64_t size_;
  std::optional<struct stat> as_opened_;
};

/// Files of /proc, and of some other file systems, are said to have no bytes.
bool tells_its_size(int fd, const struct stat& status) {
  std::byte first{};
  return status.st_size > 0 || uninterrupted([&] { return ::pread(fd, &first, 1, 0); }) <= 0;
}

ByteSourcePtr open_descriptor(UniqueFd fd, const std::string& name, std::string folder) {
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) throw_system_error("cannot read", name, errno);
  if (S_ISDIR(status.st_mode)) {
    throw Error(ErrorCode::io, "is a folder").expected("a file").in(name).hint("name one file in it");
  }
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  std::optional<struct stat> as_opened;
  if (S_ISREG(status.st_mode) && tells_its_size(fd.get(), status)) {
    // Standard input may have been read from before it came here: what is left of it is the file.
    const off_t here = ::lseek(fd.get(), 0, SEEK_CUR);
    if (here < 0) throw_system_error("cannot read", name, errno);
    begin = static_cast<std::uint64_t>(std::min<off_t>(here, status.st_size));
    size = static_cast<std::uint64_t>(status.st_size) - begin;
    as_opened = status;
    hold_input(fd.get(), name);
  } else if (S_ISBLK(status.st_mode)) {
    const off_t end = ::lseek(fd.get(), 0, SEEK_END);
    if (end < 0) throw_system_error("cannot read", name, errno);
    size = static_cast<std::uint64_t>(end);
  } else {
    fd = spool(fd.get(), name, size);
  }
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  return file_source(std::move(fd), begin, size, name, as_opened, std::move(folder));
}

}  // namespace

Error changed_while_read(const std::string& path, const std::string& how) {
  return Error(ErrorCode::io, "has changed while it was read" + how)
      .in(path)
      .hint("try again when nothing writes to it any more");
}

ByteSourcePtr file_source(UniqueFd fd, std::uint64_t begin, std::uint64_t size, std::string name,
                          const std::optional<struct stat>& as_opened, std::string folder) {
  return std::make_shared<FileSource>(std::move(fd), begin, size, std::move(name), as_opened, std::move(folder));
}

UniqueFd open_regular(const std::string& path, struct stat& status) {
  if (holds_nul(path)) throw_system_error("cannot open", path, EINVAL);
  // Without O_NONBLOCK a pipe that nobody writes to would never be opened.
  constexpr int how = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  const auto open_as = [&](int flags) { return UniqueFd(uninterrupted([&] { return ::open(path.c_str(), flags); })); };
  UniqueFd file = open_as(how);
  // Somebody to whom it is lent exclusively, as by a file server, gives it back while one waits.
  if (!file && errno == EWOULDBLOCK && ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode))
    file = open_as(how & ~O_NONBLOCK);
  if (!file) throw_system_error("cannot open", path, errno);
  if (::fstat(file.get(), &status) != 0) throw_system_error("cannot read", path, errno);
  if (!S_ISREG(status.st_mode))
    throw Error(ErrorCode::unsupported, S_ISDIR(status.st_mode) ? "is a folder" : "is a pipe, a device or a socket")
        .expected("a file")
        .in(path)
        .hint("what belongs to a checkpoint of several files, or lies in a folder, is to be a regular file");
  hold_input(file.get(), path);
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  return file;
}

ByteSourcePtr open_regular_file(const std::string& path) {
  struct stat status {};
  UniqueFd file = open_regular(path, status);
  return file_source(std::move(file), 0, static_cast<std::uint64_t>(status.st_size), path, status, folder_of(path));
}

ByteSourcePtr open_file(const std::string& path) {
  if (path == "-") {
    UniqueFd input(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!input) throw_system_error("cannot read", "standard input", errno);
    return open_descriptor(std::move(input), "standard input", {});
  }
  if (holds_nul(path)) throw_system_error("cannot open", path, EINVAL);
  UniqueFd file(uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY); }));
  if (!file) throw_system_error("cannot open", path, errno);
  return open_descriptor(std::move(file), path, folder_of(path));
}

}  // namespace ckpt
