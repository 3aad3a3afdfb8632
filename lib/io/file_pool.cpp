#include "io/file_pool.h"

#include <sys/stat.h>

#include <mutex>
#include <utility>

#include "ckpt/limits.h"
#include "io/file_source.h"
#include "io/paths.h"

namespace ckpt {

namespace {

class PooledSource final : public ByteSource {
 public:
  PooledSource(const std::string& path, const struct stat& status, std::shared_ptr<RecentlyUsed> open)
      : ByteSource(path), status_(status), open_(std::move(open)) {}
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

  /// It must be the file that it was at first, untouched: another may have its size and its time.
  ByteSourcePtr opened() const {
    struct stat now {};
    UniqueFd fd = open_regular(name(), now);
    const bool same = now.st_dev == status_.st_dev && now.st_ino == status_.st_ino &&
                      now.st_ctim.tv_sec == status_.st_ctim.tv_sec && now.st_ctim.tv_nsec == status_.st_ctim.tv_nsec;
    if (!same) throw changed_while_read(name());
    return file_source(std::move(fd), 0, size(), name(), status_);
  }

  struct stat status_;
  std::shared_ptr<RecentlyUsed> open_;
  mutable std::mutex mutex_;
  mutable std::weak_ptr<const ByteSource> file_;
};

}  // namespace

FilePool::FilePool() : open_(std::make_shared<RecentlyUsed>(limits::open_files)) {}

ByteSourcePtr FilePool::open(const std::string& path) {
  struct stat status {};
  static_cast<void>(open_regular(path, status));
  return std::make_shared<PooledSource>(path, status, open_);
}

}  // namespace ckpt
