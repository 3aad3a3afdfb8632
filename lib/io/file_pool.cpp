#include "io/file_pool.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>

#include "ckpt/limits.h"
#include "io/file_source.h"
#include "io/paths.h"

namespace ckpt {

class FilePool::Source final : public ByteSource {
 public:
  Source(const std::string& path, const struct stat& status, std::shared_ptr<Open> open)
      : ByteSource(path), status_(status), open_(std::move(open)) {}
  ~Source() override {
    const std::lock_guard lock(open_->mutex);
    open_->files.remove_if([&](const auto& entry) { return entry.first == this; });
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  [[nodiscard]] std::string folder() const override { return folder_of(name()); }

  [[nodiscard]] std::uint64_t size() const override { return static_cast<std::uint64_t>(status_.st_size); }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    return file()->read_at(offset, out);
  }

  [[nodiscard]] bool is_concurrent() const override { return true; }

 private:
  /// Whoever reads it keeps it open until that is done.
  ByteSourcePtr file() const {
    const std::lock_guard lock(open_->mutex);
    auto& files = open_->files;
    const auto found = std::find_if(files.begin(), files.end(), [&](const auto& e) { return e.first == this; });
    if (found != files.end()) {
      files.splice(files.begin(), files, found);
    } else {
      if (files.size() >= limits::open_files) files.pop_back();
      files.emplace_front(this, opened());
    }
    return files.front().second;
  }

  /// What it is compared with is the file as it was at first: another in its place has another time or size.
  ByteSourcePtr opened() const {
    struct stat now {};
    UniqueFd fd = open_regular(name(), now);
    return file_source(std::move(fd), 0, size(), name(), status_);
  }

  struct stat status_;
  std::shared_ptr<Open> open_;
};

ByteSourcePtr FilePool::open(const std::string& path) {
  struct stat status {};
  static_cast<void>(open_regular(path, status));
  return std::make_shared<Source>(path, status, open_);
}

}  // namespace ckpt
