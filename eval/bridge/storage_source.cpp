#include "bridge/storage_source.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ckpt::eval {
namespace {

class StorageSource final : public ByteSource {
 public:
  explicit StorageSource(c10::Storage storage) : ByteSource("a tensor in memory"), storage_(std::move(storage)) {}

  [[nodiscard]] std::uint64_t size() const override { return storage_.nbytes(); }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset >= size()) return 0;
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size() - offset));
    if (count > 0) std::memcpy(out.data(), static_cast<const std::byte*>(storage_.data()) + offset, count);
    return count;
  }

 private:
  c10::Storage storage_;
};

}  // namespace

ByteSourcePtr storage_source(c10::Storage storage) { return std::make_shared<StorageSource>(std::move(storage)); }

}  // namespace ckpt::eval
