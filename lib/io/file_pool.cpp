#include "io/file_pool.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "ckpt/limits.h"
#include "io/file_source.h"
#include "io/paths.h"

namespace ckpt {

namespace {

/// When a file was made, where its file system tells. A change of its mode or its links, of which the kernel's own time
/// tells as well, leaves that alone.
using Birth = std::optional<std::pair<std::int64_t, std::uint32_t>>;

Birth birth_of(int fd) {
  struct statx status {};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &status) != 0 || (status.stx_mask & STATX_BTIME) == 0)
    return std::nullopt;
  return std::pair(status.stx_btime.tv_sec, status.stx_btime.tv_nsec);
}

/// As it is where that cannot be told.
std::string absolute(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path found = std::filesystem::absolute(path, failed);
  return failed ? path : found.string();
}

class PooledSource final : public ByteSource {
 public:
  PooledSource(const std::string& path, const struct stat& status, Birth born, std::shared_ptr<RecentlyUsed> open)
      : ByteSource(path), path_(absolute(path)), status_(status), born_(born), open_(std::move(open)) {}
  ~PooledSource() override {
    if (const ByteSourcePtr file = file_.lock()) open_->drop(file);
  }
  PooledSource(const PooledSource&) = delete;
  PooledSource& operator=(const PooledSource&) = delete;

  [[nodiscard]] std::string folder() const override { return folder_of(name()); }

  [[nodiscard]] std::uint64_t size() const override { return static_cast<std::uint64_t>(status_.st_size); }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    return file()->read_at(offset, out);
  }

  [[nodiscard]] bool is_concurrent() const override { return true; }

 private:
  /// Whoever reads it keeps it open until that is done.
  ByteSourcePtr file() const {
    const std::lock_guard lock(mutex_);
    ByteSourcePtr file = file_.lock();
    if (file == nullptr) file_ = file = opened();
    open_->use(file);
    return file;
  }

  /// It must be the file that it was at first: another may have its size and its time, and even its number.
  ByteSourcePtr opened() const {
    struct stat now {};
    UniqueFd fd = open_regular(path_, now);
    const bool same = now.st_dev == status_.st_dev && now.st_ino == status_.st_ino &&
                      (born_ ? birth_of(fd.get()) == born_ : is_same(now.st_ctim, status_.st_ctim));
    if (!same) throw changed_while_read(name());
    return file_source(std::move(fd), 0, size(), name(), status_);
  }

  std::string path_;  ///< which holds in any working directory
  struct stat status_;
  Birth born_;
  std::shared_ptr<RecentlyUsed> open_;
  mutable std::mutex mutex_;
  mutable std::weak_ptr<const ByteSource> file_;
};

}  // namespace

FilePool::FilePool() : open_(std::make_shared<RecentlyUsed>(limits::open_files)) {}

ByteSourcePtr FilePool::open(const std::string& path) {
  struct stat status {};
  const UniqueFd file = open_regular(path, status);
  return std::make_shared<PooledSource>(path, status, birth_of(file.get()), open_);
}

}  // namespace ckpt
