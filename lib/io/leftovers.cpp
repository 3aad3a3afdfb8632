#include "io/leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <ctime>
#include <memory>
#include <optional>
#include <string_view>

#include "ckpt/limits.h"
#include "io/paths.h"
#include "io/posix.h"
#include "io/temporaries.h"

namespace ckpt {
namespace {

constexpr std::time_t an_hour = 3600;
constexpr std::size_t most_entries = 64 * limits::kib;

/// Calls `use` with the name of each entry until it returns false.
template <class Use>
void each_entry(int folder, Use use) {
  UniqueFd again(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!again) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::fdopendir(again.get()), ::closedir);
  if (!open) return;
  again.release();
  while (const dirent* const entry = ::readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !use(std::string(name))) return;
  }
}

bool is_left(const struct stat& status) {
  const uid_t self = ::geteuid();
  return (status.st_uid == self || self == 0) && std::time(nullptr) - status.st_mtime >= an_hour;
}

/// What has the name, opened, where it is ours, old, a file or a folder, and held by nobody.
UniqueFd open_left(int folder, const std::string& name) {
  struct stat status {};
  const auto fits = [&] { return (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) && is_left(status); };
  if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !fits()) return UniqueFd();
  UniqueFd found;
  const auto is_held = [&](int access) {
    found = UniqueFd(::openat(folder, name.c_str(), access | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    return found && ::fstat(found.get(), &status) == 0 && fits() && ::flock(found.get(), LOCK_EX | LOCK_NB) == 0;
  };
  // NFS asks for one that may be written to.
  if (is_held(O_RDONLY) || (errno == EBADF && is_held(O_RDWR))) return found;
  return UniqueFd();
}

/// The files in a folder; nothing where one of them is anything but such a file.
std::optional<std::vector<std::string>> left_files(int folder) {
  std::vector<std::string> files;
  bool all = true;
  each_entry(folder, [&](std::string name) {
    struct stat status {};
    const UniqueFd file = open_left(folder, name);
    all = file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode);
    files.push_back(std::move(name));
    return all;
  });
  if (!all) return std::nullopt;
  return files;
}

bool remove_leftover(int folder, const std::string& name) {
  const UniqueFd found = open_left(folder, name);
  struct stat status {};
  if (!found || ::fstat(found.get(), &status) != 0) return false;
  if (!S_ISDIR(status.st_mode)) return ::unlinkat(folder, name.c_str(), 0) == 0;
  const auto files = left_files(found.get());
  if (!files) return false;
  for (const std::string& file : *files) ::unlinkat(found.get(), file.c_str(), 0);
  return ::unlinkat(folder, name.c_str(), AT_REMOVEDIR) == 0;
}

}  // namespace

// Where locks are not to be had, the age must do. On SMB one that is shared keeps its own file from being written to.
void hold_temporary(int fd) { (void)::flock(fd, LOCK_EX | LOCK_NB); }

void hold_input(int fd, const std::string& path) {
  const auto is_temporary = [](std::string_view part) { return is_temporary_name(part.substr(part.rfind('/') + 1)); };
  if (is_temporary(path) || is_temporary(folder_of(path))) (void)::flock(fd, LOCK_SH | LOCK_NB);
}

std::vector<std::string> remove_leftovers(int folder) {
  std::vector<std::string> names, removed;
  std::size_t entries = 0;
  each_entry(folder, [&](std::string name) {
    if (is_temporary_name(name)) names.push_back(std::move(name));
    return ++entries < most_entries;
  });
  for (std::string& name : names)
    if (remove_leftover(folder, name)) removed.push_back(std::move(name));
  return removed;
}

}  // namespace ckpt
