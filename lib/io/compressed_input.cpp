#include "io/compressed_input.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ckpt/limits.h"

namespace ckpt {
namespace {

// Archives may hold tens of thousands of small members: the buffer is no larger than what can fill it.
std::size_t fitting_capacity(const ByteSource& source) {
  constexpr std::uint64_t least = 64;
  if (!source.size_is_known()) return limits::copy_chunk;
  return std::clamp<std::uint64_t>(source.size(), least, limits::copy_chunk);
}

}  // namespace

CompressedInput::CompressedInput(ByteSourcePtr source)
    : source_(std::move(source)),
      capacity_(fitting_capacity(*source_)),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(capacity_)) {}

std::span<const std::byte> CompressedInput::available() { return require(1); }

std::span<const std::byte> CompressedInput::require(std::size_t count) {
  if (end_ - next_ < count) {
    std::memmove(buffer_.get(), buffer_.get() + next_, end_ - next_);
    begin_ += next_;
    end_ -= next_;
    next_ = 0;
    end_ += source_->read_at(begin_ + end_, {buffer_.get() + end_, capacity_ - end_});
  }
  return {buffer_.get() + next_, end_ - next_};
}

void CompressedInput::seek(std::uint64_t position) {
  if (position >= begin_ && position <= begin_ + end_) {
    next_ = position - begin_;
    return;
  }
  begin_ = position;
  next_ = 0;
  end_ = 0;
}

}  // namespace ckpt
