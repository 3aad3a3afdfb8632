#include "io/latin1_source.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "ckpt/error.h"
#include "io/compressed_input.h"

namespace ckpt {
namespace {

constexpr std::byte most_ascii{0x7F};

/// The character that `bytes` begin with, and how many of them it takes; 0 of them where it is none of Latin-1.
std::pair<std::byte, std::size_t> first_character(std::span<const std::byte> bytes) {
  if (bytes[0] <= most_ascii) return {bytes[0], 1};
  const bool pair = (bytes[0] == std::byte{0xC2} || bytes[0] == std::byte{0xC3}) && bytes.size() > 1 &&
                    (bytes[1] & std::byte{0xC0}) == std::byte{0x80};
  if (!pair) return {std::byte{}, 0};
  return {(bytes[0] << 6) | (bytes[1] & std::byte{0x3F}), 2};
}

class Latin1Source final : public ByteSource {
 public:
  Latin1Source(ByteSourcePtr utf8, std::uint64_t size)
      : ByteSource(utf8->name()), utf8_(std::move(utf8)), size_(size) {}

  [[nodiscard]] std::uint64_t size() const override { return size_; }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset >= size_) return 0;
    if (input_ == nullptr || offset < at_) {
      input_ = std::make_unique<CompressedInput>(utf8_);
      at_ = 0;
    }
    out = out.first(std::min<std::uint64_t>(out.size(), size_ - offset));
    take(offset - at_, nullptr);
    take(out.size(), out.data());
    if (at_ == size_) input_.reset();  // there may be tens of thousands
    return out.size();
  }

 private:
  /// The next `count` bytes, to `out` unless that is null.
  void take(std::uint64_t count, std::byte* out) const {
    while (count > 0) {
      const std::span<const std::byte> bytes = input_->require(2);
      std::size_t used = 0;
      for (; count > 0 && used < bytes.size(); --count, ++at_) {
        const auto [character, length] = first_character(bytes.subspan(used));
        if (length == 0) break;  // its second byte is still to come: size_ says that it does
        used += length;
        if (out != nullptr) *out++ = character;
      }
      if (used == 0) fail();
      input_->consume(used);
    }
  }

  [[noreturn]] void fail() const {
    throw Error(ErrorCode::io, "a text of the pickle is another than it was").in(name());
  }

  ByteSourcePtr utf8_;
  std::uint64_t size_;
  mutable std::unique_ptr<CompressedInput> input_;
  mutable std::uint64_t at_ = 0;
};

}  // namespace

ByteSourcePtr latin1_source(ByteSourcePtr utf8) {
  CompressedInput input(utf8);
  std::uint64_t size = 0;
  for (auto bytes = input.require(2); !bytes.empty(); bytes = input.require(2)) {
    std::size_t used = 0;
    while (used < bytes.size()) {
      const std::size_t length = first_character(bytes.subspan(used)).second;
      if (length == 0) break;
      used += length;
      ++size;
    }
    if (used == 0) return nullptr;
    input.consume(used);
  }
  return std::make_shared<Latin1Source>(std::move(utf8), size);
}

}  // namespace ckpt
