#include "io/output_target.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include <algorithm>
#include <climits>
#include <memory>
#include <vector>

#include "io/output.h"
#include "io/paths.h"

namespace ckpt {
namespace {

constexpr mode_t bits_of_file = 0777, bits_of_folder = 03777;  // nobody's rights to run as another

constexpr const char *access_list = "system.posix_acl_access", *default_list = "system.posix_acl_default";

// The kernel's own bound on links that lead to links.
constexpr int most_links = 40;

/// What the link at `path` leads to; nothing where it is no link (or nothing is there).
std::optional<std::string> link_target(const std::string& path, const std::string& shown) {
  std::vector<char> text(PATH_MAX);
  const ssize_t length = ::readlink(path.c_str(), text.data(), text.size());
  if (length < 0) {
    if (errno == EINVAL || errno == ENOENT) return std::nullopt;
    throw output_error("cannot create", shown, errno);
  }
  std::string target(text.data(), static_cast<std::size_t>(length));
  return target.starts_with('/') ? target : folder_of(path) + "/" + target;
}

Error no_file(const std::string& path) {
  return Error(ErrorCode::io, "is a device, a pipe or a socket, or what this program was given open")
      .expected("a file")
      .in(path)
      .on_output()
      .hint("name a file, or where the command takes it, standard output (-) and redirect that");
}

/// A link as /dev/stdout leads to: a file that is open, and may have been written to, is not to be replaced by another.
bool is_descriptor(const std::string& link) {
  struct statfs where {};
  return ::statfs(folder_of(link).c_str(), &where) == 0 && where.f_type == PROC_SUPER_MAGIC;
}

std::string follow_links(const std::string& path) {
  std::string at = path;
  for (int links = 0; links <= most_links; ++links) {
    std::optional<std::string> next = link_target(at, path);
    if (!next) return at;
    if (is_descriptor(at)) throw no_file(path);
    at = std::move(*next);
  }
  throw output_error("cannot create", path, ELOOP);
}

UniqueFd open_folder(const std::string& path) {
  const auto open_as = [&](int access) {
    return UniqueFd(uninterrupted([&] { return ::open(path.c_str(), access | O_DIRECTORY | O_CLOEXEC); }));
  };
  UniqueFd folder = open_as(O_RDONLY);
  // A folder may be written to without being readable; it can then not be synced, which is no reason to refuse.
  if (!folder && errno == EACCES) folder = open_as(O_PATH);
  return folder;
}

/// Empty where there is none; nothing where it cannot be told.
std::optional<std::vector<char>> list_of(const OutputTarget& target, const char* list) {
  const std::string path = target.folder_path + "/" + target.name;
  std::vector<char> content(XATTR_SIZE_MAX);
  const ssize_t size = ::lgetxattr(path.c_str(), list, content.data(), content.size());
  if (size < 0 && errno != ENODATA && errno != EOPNOTSUPP) return std::nullopt;
  content.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return content;
}

/// Without a content, the file shall have no such list: one that it inherited goes. Says whether it is so.
bool give_list(int fd, const char* list, const std::vector<char>& content) {
  if (!content.empty()) return ::fsetxattr(fd, list, content.data(), content.size(), 0) == 0;
  return ::fremovexattr(fd, list) == 0 || ::fgetxattr(fd, list, nullptr, 0) < 0;
}

/// Where this user may: what came of it, fstat tells.
void give_group(int fd, gid_t group) {
  if (::fchown(fd, static_cast<uid_t>(-1), group) != 0) return;
}

bool is_empty_folder(const std::string& path, const std::string& shown) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(path.c_str()), ::closedir);
  if (!open) throw output_error("cannot create", shown, errno);
  while (const dirent* const entry = ::readdir(open.get()))
    if (std::string_view(entry->d_name) != "." && std::string_view(entry->d_name) != "..") return false;
  return true;
}

}  // namespace

Error exists_already(const std::string& path) {
  return output_error("cannot create", path, EEXIST).hint("leave out --no-clobber, or name another file");
}

void require_replaceable(const OutputTarget& target, bool no_clobber) {
  if (!target.existing) return;
  if (no_clobber) throw exists_already(target.shown);
  if (!is_permitted(target.shown, W_OK)) {
    Error error = output_error("cannot replace", target.shown, errno);
    throw errno == EACCES ? error.hint("chmod u+w " + shell_word(target.shown) + ", where it is yours, or another file")
                          : error;
  }
  const uid_t user = ::geteuid();
  if (user == 0 || user == target.existing->st_uid) return;
  struct stat folder {};
  if (::fstat(target.folder.get(), &folder) != 0) throw output_error("cannot replace", target.shown, errno);
  if ((folder.st_mode & S_ISVTX) != 0 && user != folder.st_uid)
    throw output_error("cannot replace", target.shown, EPERM)
        .hint("in a sticky folder, as /tmp is, only its owner replaces a file: write to another name");
}

std::optional<struct stat> standing_at(const OutputTarget& target) {
  struct stat now {};
  if (::lstat((target.folder_path + "/" + target.name).c_str(), &now) == 0) return now;
  if (errno != ENOENT) throw output_error("cannot replace", target.shown, errno);
  return std::nullopt;
}

bool is_permitted(const std::string& path, int use) {
  if (::faccessat(AT_FDCWD, path.c_str(), use, AT_EACCESS) == 0) return true;
  // A container may refuse a call that is newer than it.
  return errno == EPERM && ::geteuid() == ::getuid() && ::access(path.c_str(), use) == 0;
}

OutputTarget open_target(const std::string& path) {
  OutputTarget target;
  target.shown = path;
  if (holds_nul(path)) throw output_error("cannot create", path, EINVAL);
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) throw output_error("cannot create", path, errno);
  if (exists && S_ISDIR(status.st_mode)) throw output_error("cannot create", path, EISDIR);
  if (exists && !S_ISREG(status.st_mode)) throw no_file(path);
  if (exists) target.existing = status;
  const std::string resolved = follow_links(path);
  target.folder_path = folder_of(resolved);
  target.name = resolved.substr(resolved.rfind('/') + 1);
  if (target.name.empty()) throw output_error("cannot create", path, path.empty() ? ENOENT : EISDIR);
  target.folder = open_folder(target.folder_path);
  if (!target.folder) throw output_error("cannot create", path, errno);
  return target;
}

OutputTarget open_folder_target(const std::string& path) {
  std::string bare = path;
  while (bare.size() > 1 && bare.ends_with('/')) bare.pop_back();
  OutputTarget target;
  target.shown = path;
  if (holds_nul(path)) throw output_error("cannot create", path, EINVAL);
  struct stat status {};
  bare = follow_links(bare);
  const bool exists = ::lstat(bare.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) throw output_error("cannot create", path, errno);
  const auto refuse = [&](std::string what) {
    return Error(ErrorCode::io, std::move(what))
        .expected("nothing there, or an empty folder: this format is a folder of files")
        .in(path)
        .on_output()
        .hint("name a folder that is not there yet");
  };
  if (exists && !S_ISDIR(status.st_mode)) throw refuse("is there already, and no folder");
  if (exists && !is_empty_folder(bare, path)) throw refuse("is a folder that holds something");
  if (exists) target.existing = status;
  target.folder_path = folder_of(bare);
  target.name = bare.substr(bare.rfind('/') + 1);
  if (path.empty()) throw output_error("cannot create", path, ENOENT);
  if (target.name.empty() || target.name == "." || target.name == "..")
    throw output_error("cannot create", path, EEXIST)
        .hint("a folder is put in place whole: name it from outside, as ../NAME");
  target.folder = open_folder(target.folder_path);
  if (!target.folder) throw output_error("cannot create", path, errno);
  struct stat parent {};
  if (exists && ::fstat(target.folder.get(), &parent) == 0 && parent.st_dev != status.st_dev)
    throw output_error("cannot replace", path, EBUSY)
        .hint("a file system is mounted there, and a folder is put in place whole: name one in it, as " +
              shell_word(bare + "/NAME"));
  return target;
}

void take_over_group(int fd, const OutputTarget& target) {
  if (!target.existing) return;
  give_group(fd, target.existing->st_gid);
  if ((target.existing->st_mode & S_ISGID) != 0) (void)::fchmod(fd, S_IRWXU | S_ISGID);
  (void)give_list(fd, default_list, list_of(target, default_list).value_or(std::vector<char>()));
}

void take_over_permissions(int fd, const OutputTarget& target) {
  if (!target.existing) return;
  const struct stat old = standing_at(target).value_or(*target.existing);  // they may have been changed meanwhile
  // Only root may give a file away; where that is refused, the file is ours as any new one is.
  if (::fchown(fd, old.st_uid, old.st_gid) != 0) give_group(fd, old.st_gid);
  struct stat mine {};
  if (::fstat(fd, &mine) != 0) throw output_error("cannot create", target.shown, errno);
  mode_t mode = old.st_mode & (S_ISDIR(old.st_mode) ? bits_of_folder : bits_of_file);
  // The group's rights were meant for the old group, or are what the list grants at most.
  if (mine.st_gid != old.st_gid) mode &= static_cast<mode_t>(~(S_IRWXG | S_ISGID));
  const auto list = list_of(target, access_list);
  if (!give_list(fd, access_list, list.value_or(std::vector<char>())) || !list) mode &= static_cast<mode_t>(~S_IRWXG);
  if (::fchmod(fd, mode) == 0) return;
  // Where the mount says whose all files are and what they permit, nobody may change that, and nothing needs to.
  const mode_t all = S_ISUID | S_ISGID | S_ISVTX | S_IRWXU | S_IRWXG | S_IRWXO;
  if ((mine.st_mode & all) != mode) throw output_error("cannot set the permissions", target.shown, errno);
}

}  // namespace ckpt
