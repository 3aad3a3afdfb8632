#include "io/latin1_source.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "ckpt/error.h"
#include "io/compressed_input.h"

namespace ckpt {
namespace {

// U+0000 to U+007F are a byte, U+0080 to U+00FF two: the first says the two upper bits.
constexpr bool is_first_of_two(unsigned byte) { return (byte & 0xFE) == 0xC2; }
constexpr bool is_second(unsigned byte) { return (byte & 0xC0) == 0x80; }

class Latin1Source final : public ByteSource {
 public:
  Latin1Source(ByteSourcePtr utf8, std::uint64_t size)
      : ByteSource(utf8->source_name()), utf8_(std::move(utf8)), size_(size) {}

  [[nodiscard]] std::uint64_t size() const override { return size_; }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset >= size_) return 0;
    const std::lock_guard lock(mutex_);
    if (input_ == nullptr || offset < at_) {
      input_ = std::make_unique<CompressedInput>(utf8_);
      at_ = 0;
      before_ = 0;
    }
    out = out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - offset)));
    try {
      std::byte nowhere[4096];
      while (at_ < offset)
        take(std::span(nowhere).first(static_cast<std::size_t>(std::min<std::uint64_t>(sizeof nowhere, offset - at_))));
      take(out);
    } catch (...) {
      input_.reset();  // it stands somewhere behind at_
      throw;
    }
    if (at_ == size_) input_.reset();  // there may be tens of thousands
    return out.size();
  }

 private:
  /// Fills `out` with the next characters. No branch depends on what they are: weights are noise.
  void take(std::span<std::byte> out) const {
    std::size_t done = 0;
    while (done < out.size()) {
      const std::span<const std::byte> bytes = input_->available();
      if (bytes.empty()) throw Error(ErrorCode::io, "a text of the pickle is shorter than it was").in(name());
      std::size_t used = 0;
      for (; used < bytes.size() && done < out.size(); ++used) {
        const auto byte = std::to_integer<unsigned>(bytes[used]);
        const unsigned pair = before_ << 6 | (byte & 0x3F);
        out[done] = static_cast<std::byte>(is_second(byte) ? pair : byte);
        done += is_first_of_two(byte) ? 0 : 1;
        before_ = byte;
      }
      input_->consume(used);
    }
    at_ += done;
  }

  ByteSourcePtr utf8_;
  std::uint64_t size_;
  mutable std::mutex mutex_;  ///< of what follows
  mutable std::unique_ptr<CompressedInput> input_;
  mutable std::uint64_t at_ = 0;
  mutable unsigned before_ = 0;  ///< the last byte that was taken
};

}  // namespace

std::optional<std::uint64_t> count_latin1(const ByteSourcePtr& utf8) {
  CompressedInput input(utf8);
  std::uint64_t count = 0;
  bool good = true, open = false;  // open: a second byte must follow
  for (auto bytes = input.available(); !bytes.empty() && good; bytes = input.available()) {
    for (const std::byte each : bytes) {
      const auto byte = std::to_integer<unsigned>(each);
      const bool first = is_first_of_two(byte), second = is_second(byte);
      good &= second == open && (byte < 0x80 || first || second);
      count += first ? 0 : 1;
      open = first;
    }
    input.consume(bytes.size());
  }
  return good && !open ? std::optional(count) : std::nullopt;
}

ByteSourcePtr latin1_source(ByteSourcePtr utf8) {
  const auto count = count_latin1(utf8);
  return count ? std::make_shared<Latin1Source>(std::move(utf8), *count) : nullptr;
}

}  // namespace ckpt
