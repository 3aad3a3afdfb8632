#include "io/slice_source.h"

#include <algorithm>
#include <utility>

#include "ckpt/error.h"
#include "io/bytes.h"

namespace ckpt {
namespace {

class SliceSource final : public ByteSource {
 public:
  SliceSource(ByteSourcePtr whole, std::uint64_t begin, std::uint64_t size, SourceName name,
              std::optional<std::uint32_t> crc)
      : ByteSource(std::move(name)), crc_(crc), whole_(std::move(whole)), begin_(begin), size_(size) {}

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] bool is_concurrent() const override { return whole_->is_concurrent(); }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset >= size_) return 0;
    const std::size_t count = std::min<std::uint64_t>(out.size(), size_ - offset);
    return whole_->read_at(begin_ + offset, out.first(count));
  }

  void expect(std::uint64_t offset, std::uint64_t size) const override {
    if (offset < size_) whole_->expect(begin_ + offset, std::min(size, size_ - offset));
  }

  [[nodiscard]] std::optional<std::uint32_t> recorded_crc32() const override { return crc_; }

  [[nodiscard]] const ByteSourcePtr& whole() const { return whole_; }
  [[nodiscard]] std::uint64_t begin() const { return begin_; }

 private:
  std::optional<std::uint32_t> crc_;
  ByteSourcePtr whole_;
  std::uint64_t begin_;
  std::uint64_t size_;
};

class EndlessSource final : public ByteSource {
 public:
  explicit EndlessSource(ByteSourcePtr source) : ByteSource(source->source_name()), source_(std::move(source)) {}

  [[nodiscard]] std::uint64_t size() const override { return source_->size(); }
  [[nodiscard]] bool size_is_known() const override { return false; }
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    return source_->read_at(offset, out);
  }

  [[nodiscard]] const ByteSource* within() const { return source_.get(); }

 private:
  ByteSourcePtr source_;
};

}  // namespace

ByteSourcePtr endless(ByteSourcePtr source) { return std::make_shared<EndlessSource>(std::move(source)); }

ByteSourcePtr slice(ByteSourcePtr whole, std::uint64_t offset, std::uint64_t size, SourceName name,
                    std::optional<std::uint32_t> recorded_crc32) {
  const std::uint64_t total = whole->size_is_known() ? whole->size() : UINT64_MAX;
  if (!in_bounds(offset, size, total)) {
    throw Error(ErrorCode::truncated, "the bytes end at " + std::to_string(total))
        .expected(std::to_string(size) + " bytes from here")
        .at(offset)
        .in(name.text());
  }
  std::uint64_t begin = offset;
  // A slice of a slice stands on the whole itself, so that a chain of them costs one step.
  if (const auto* inner = dynamic_cast<const SliceSource*>(whole.get())) {
    begin += inner->begin();
    whole = ByteSourcePtr(inner->whole());
  }
  return std::make_shared<SliceSource>(std::move(whole), begin, size, std::move(name), recorded_crc32);
}

std::optional<SliceOf> slice_of(const ByteSource& source) {
  const auto* const part = dynamic_cast<const SliceSource*>(&source);
  if (part == nullptr) return std::nullopt;
  const auto* const past_the_end = dynamic_cast<const EndlessSource*>(part->whole().get());
  const ByteSource* const whole = past_the_end == nullptr ? part->whole().get() : past_the_end->within();
  return SliceOf{whole, part->begin(), part->size()};
}

}  // namespace ckpt
