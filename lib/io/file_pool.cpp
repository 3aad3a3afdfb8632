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
      : ByteSource(path, folder_of(path)), status_(status), open_(std::move(open)) {}
  ~Source() override {
    open_->remove_if([&](const auto& entry) { return entry.first == this; });
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  [[nodiscard]] std::uint64_t size() const override { return static_cast<std::uint64_t>(status_.st_size); }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    return file().read_at(offset, out);
  }

 private:
  const ByteSource& file() const {
    const auto found = std::find_if(open_->begin(), open_->end(), [&](const auto& e) { return e.first == this; });
    if (found != open_->end()) {
      open_->splice(open_->begin(), *open_, found);
    } else {
      if (open_->size() >= limits::open_files) open_->pop_back();
      open_->emplace_front(this, opened());
    }
    return *open_->front().second;
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
