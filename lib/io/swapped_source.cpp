#include "io/swapped_source.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "io/checksum.h"

namespace ckpt {
namespace {

class SwappedSource final : public ByteSource {
 public:
  SwappedSource(ByteSourcePtr source, std::size_t element_size)
      : ByteSource(source->source_name()), source_(std::move(source)), element_size_(element_size) {}

  [[nodiscard]] std::uint64_t size() const override { return source_->size(); }
  [[nodiscard]] bool size_is_known() const override { return source_->size_is_known(); }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    const std::lock_guard lock(mutex_);
    // Whole elements around the wanted range are read, and the range is cut out of them.
    const std::size_t lead = offset % element_size_;
    const std::size_t wanted = (lead + out.size() + element_size_ - 1) / element_size_ * element_size_;
    elements_.resize(wanted);
    const std::size_t got = source_->read_at(offset - lead, elements_);
    check(offset - lead, std::span(elements_).first(got));
    for (std::size_t at = 0; at + element_size_ <= got; at += element_size_)
      std::reverse(elements_.begin() + static_cast<std::ptrdiff_t>(at),
                   elements_.begin() + static_cast<std::ptrdiff_t>(at + element_size_));
    if (got <= lead) return 0;
    const std::size_t count = std::min(out.size(), got - lead);
    std::copy_n(elements_.begin() + static_cast<std::ptrdiff_t>(lead), count, out.begin());
    return count;
  }

 private:
  /// The recorded CRC-32 is of the bytes as they were: it is compared here, for who reads from beginning to end. Where
  /// a read begins or ends within an element, that is read again.
  void check(std::uint64_t offset, std::span<const std::byte> bytes) const {
    if (offset > checked_to_ || bytes.size() <= checked_to_ - offset) return;
    crc_ = crc32(crc_, bytes.subspan(static_cast<std::size_t>(checked_to_ - offset)));
    checked_to_ = offset + bytes.size();
    if (checked_to_ == size()) check_recorded_crc32(*source_, crc_);
  }

  ByteSourcePtr source_;
  std::size_t element_size_;
  mutable std::mutex mutex_;  ///< of what follows
  mutable std::vector<std::byte> elements_;
  mutable std::uint64_t checked_to_ = 0;
  mutable std::uint32_t crc_ = 0;
};

}  // namespace

ByteSourcePtr swapped(ByteSourcePtr source, std::size_t element_size) {
  if (element_size <= 1) return source;
  return std::make_shared<SwappedSource>(std::move(source), element_size);
}

}  // namespace ckpt
