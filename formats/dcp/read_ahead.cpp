#include "dcp/read_ahead.h"

#include <algorithm>
#include <utility>

namespace ckpt::dcp {

ChunkReader::ChunkReader(ByteSourcePtr bytes, std::shared_ptr<ReadAhead> room)
    : bytes_(std::move(bytes)), room_(std::move(room)) {}

ChunkReader::ChunkReader(ChunkReader&& other) noexcept
    : bytes_(std::move(other.bytes_)),
      room_(std::move(other.room_)),
      held_(std::move(other.held_)),
      begin_(other.begin_),
      use_(other.use_) {
  other.held_.clear();
  if (!held_.empty()) *use_ = this;
}

ChunkReader::~ChunkReader() {
  if (!room_) return;
  const auto turn = room_->turn();
  give_back();
}

void ChunkReader::give_back() {
  if (held_.empty()) return;
  room_->held_ -= held_.size();
  room_->users_.erase(use_);
  held_ = std::vector<std::byte>();  // {} would keep what was allocated
}

void ChunkReader::read(std::uint64_t offset, std::span<std::byte> out, std::size_t window) {
  while (!out.empty()) {
    if (offset < begin_ || offset - begin_ >= held_.size()) {
      if (out.size() >= window) return bytes_->read_exactly(offset, out);
      give_back();
      const std::uint64_t size = bytes_->size();
      // Past the end it is one byte, which read_exactly() will say is not there.
      std::vector<std::byte> next(
          static_cast<std::size_t>(std::clamp<std::uint64_t>(size - std::min(offset, size), 1, window)));
      bytes_->read_exactly(offset, next);
      while (!room_->users_.empty() && room_->held_ + next.size() > ReadAhead::bytes) room_->users_.back()->give_back();
      use_ = room_->users_.insert(room_->users_.begin(), this);
      held_ = std::move(next);
      begin_ = offset;
      room_->held_ += held_.size();
    }
    const auto from = static_cast<std::size_t>(offset - begin_);
    const std::size_t count = std::min(out.size(), held_.size() - from);
    std::copy_n(held_.begin() + static_cast<std::ptrdiff_t>(from), count, out.begin());
    out = out.subspan(count);
    offset += count;
    const bool used_up = from + count == held_.size();
    if (used_up) give_back();
  }
}

}  // namespace ckpt::dcp
