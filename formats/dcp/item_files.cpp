#include "dcp/item_files.h"

#include <algorithm>
#include <utility>

#include "ckpt/error.h"

namespace ckpt::dcp {

/// Whoever holds it holds the room, and the room knows only those that are open.
class ItemFiles::File final : public ByteSource {
 public:
  File(std::string file, ByteSourcePtr open, std::shared_ptr<Room> room)
      : ByteSource(open->name()), file_(std::move(file)), room_(std::move(room)), size_(open->size()) {
    hold(std::move(open));
  }
  ~File() override {
    if (open_ != nullptr) room_->open.remove(this);
  }

  [[nodiscard]] std::uint64_t size() const override { return size_; }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (open_ == nullptr) {
      ByteSourcePtr again = room_->context.open_beside(file_);
      if (again == nullptr || again->size() != size_)
        throw Error(ErrorCode::io, "has changed while it was read")
            .in(name())
            .hint("try again when nothing writes to it any more");
      hold(std::move(again));
    }
    return open_->read_at(offset, out);
  }

 private:
  void hold(ByteSourcePtr open) const {
    while (room_->open.size() >= most_open) {
      room_->open.back()->open_.reset();
      room_->open.pop_back();
    }
    room_->open.push_front(this);
    open_ = std::move(open);
  }

  std::string file_;
  std::shared_ptr<Room> room_;
  std::uint64_t size_;
  mutable ByteSourcePtr open_;
};

ItemFiles::ItemFiles(const ReadContext& context) : room_(std::make_shared<Room>()) {
  room_->context = context;
  room_->context.findings = nullptr;  // it lives no longer than the reading does
}

ByteSourcePtr ItemFiles::open(const std::string& name) {
  ByteSourcePtr file = room_->context.open_beside(name);
  return file == nullptr ? nullptr : std::make_shared<File>(name, std::move(file), room_);
}

}  // namespace ckpt::dcp
