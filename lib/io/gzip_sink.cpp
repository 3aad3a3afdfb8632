#include <algorithm>
#include <array>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/gzip.h"
#include "ckpt/limits.h"
#include "io/bytes.h"
#include "io/checksum.h"
#include "io/deflater.h"

namespace ckpt {
namespace {

constexpr int last_isal_level = 3;
constexpr int last_level = 9;

// RFC 1952: deflate, no optional fields, mtime 0, no extra flags, unknown operating system: nothing of the machine or
// the day, so that the same input gives the same bytes.
constexpr std::array<std::byte, 10> header{std::byte{0x1f}, std::byte{0x8b}, std::byte{8}, std::byte{0},
                                           std::byte{0},    std::byte{0},    std::byte{0}, std::byte{0},
                                           std::byte{0},    std::byte{255}};

class GzipSink final : public ByteSink {
 public:
  GzipSink(ByteSink& target, int level)
      : ByteSink(target.name()),
        target_(target),
        deflater_(level <= last_isal_level ? isal_deflater(level) : zlib_deflater(level)) {
    chunk_.reserve(limits::copy_chunk);
    target_.write(header);
  }

  void commit() override {
    feed(chunk_, true);
    std::vector<std::byte> trailer;
    append_le(trailer, crc_);
    append_le(trailer, static_cast<std::uint32_t>(offset()));
    target_.write(trailer);
  }

 private:
  // What a compressor makes of its input depends on the pieces it comes in: it gets pieces of one size, however the
  // caller cuts them, so that the same bytes always compress to the same bytes.
  void append(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      if (chunk_.empty() && bytes.size() >= limits::copy_chunk) {
        feed(bytes.first(limits::copy_chunk), false);
        bytes = bytes.subspan(limits::copy_chunk);
        continue;
      }
      const std::size_t count = std::min(bytes.size(), limits::copy_chunk - chunk_.size());
      chunk_.insert(chunk_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
      bytes = bytes.subspan(count);
      if (chunk_.size() == limits::copy_chunk) {
        feed(chunk_, false);
        chunk_.clear();
      }
    }
  }

  void feed(std::span<const std::byte> bytes, bool last) {
    crc_ = crc32(crc_, bytes);
    deflater_->feed(bytes, last, [this](std::span<const std::byte> ready) { target_.write(ready); });
  }

  ByteSink& target_;
  std::unique_ptr<Deflater> deflater_;
  std::vector<std::byte> chunk_;
  std::uint32_t crc_ = 0;
};

}  // namespace

std::unique_ptr<ByteSink> gzip_sink(ByteSink& target, int level) {
  if (level < 1 || level > last_level) {
    throw Error(ErrorCode::invalid_argument, "gzip level " + std::to_string(level)).expected("1 to 9");
  }
  return std::make_unique<GzipSink>(target, level);
}

}  // namespace ckpt
