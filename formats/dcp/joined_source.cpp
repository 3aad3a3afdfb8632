#include "dcp/joined_source.h"

#include <algorithm>
#include <utility>

namespace ckpt::dcp {
namespace {

/// What is read at once from each of many chunks, as long as all of them fit into the room.
constexpr std::size_t widest_window = std::size_t{256} << 10U, narrowest_window = std::size_t{4} << 10U;

class JoinedSource final : public ByteSource {
 public:
  JoinedSource(std::string name, Tiling tiling, std::size_t element_size, std::uint64_t size,
               std::vector<ByteSourcePtr> chunks, const std::shared_ptr<ReadAhead>& room)
      : ByteSource(std::move(name)),
        tiling_(std::move(tiling)),
        element_size_(element_size),
        size_(size),
        window_(
            std::clamp(ReadAhead::bytes / std::max<std::size_t>(chunks.size(), 1), narrowest_window, widest_window)),
        room_(room) {
    chunks_.reserve(chunks.size());
    for (ByteSourcePtr& chunk : chunks) chunks_.emplace_back(std::move(chunk), room);
  }

  [[nodiscard]] std::uint64_t size() const override { return size_; }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset >= size_) return 0;
    out = out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - offset)));
    const std::size_t count = out.size();
    const auto turn = room_->turn();
    while (!out.empty()) {
      const Tiling::Run run = tiling_.run_at(offset / element_size_);
      const std::uint64_t within = offset % element_size_;
      const auto piece =
          static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), run.count * element_size_ - within));
      chunks_[run.box].read(run.first * element_size_ + within, out.first(piece), window_);
      out = out.subspan(piece);
      offset += piece;
    }
    return count;
  }

 private:
  Tiling tiling_;
  std::size_t element_size_;
  std::uint64_t size_;
  std::size_t window_;
  std::shared_ptr<ReadAhead> room_;
  mutable std::vector<ChunkReader> chunks_;
};

}  // namespace

ByteSourcePtr joined_source(std::string name, Tiling tiling, std::size_t element_size, std::uint64_t size,
                            std::vector<ByteSourcePtr> chunks, const std::shared_ptr<ReadAhead>& room) {
  return std::make_shared<JoinedSource>(std::move(name), std::move(tiling), element_size, size, std::move(chunks),
                                        room);
}

}  // namespace ckpt::dcp
