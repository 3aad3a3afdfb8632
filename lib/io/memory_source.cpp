#include <algorithm>
#include <cstring>
#include <utility>

#include "ckpt/byte_source.h"

namespace ckpt {
namespace {

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::vector<std::byte> bytes, std::string name, std::string folder)
      : ByteSource(std::move(name)), bytes_(std::move(bytes)), folder_(std::move(folder)) {}

  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  [[nodiscard]] bool is_concurrent() const override { return true; }

  [[nodiscard]] std::string folder() const override { return folder_; }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset >= bytes_.size()) return 0;
    const std::size_t count = std::min<std::size_t>(out.size(), bytes_.size() - offset);
    if (count != 0) std::memcpy(out.data(), bytes_.data() + offset, count);
    return count;
  }

 private:
  std::vector<std::byte> bytes_;
  std::string folder_;
};

}  // namespace

ByteSourcePtr memory_source(std::vector<std::byte> bytes, std::string name, std::string folder) {
  return std::make_shared<MemorySource>(std::move(bytes), std::move(name), std::move(folder));
}

}  // namespace ckpt
