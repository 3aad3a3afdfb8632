#include <isa-l.h>

#include <algorithm>
#include <array>
#include <string>

#include "ckpt/error.h"
#include "io/deflater.h"

namespace ckpt {
namespace {

constexpr std::uint32_t last_level = 3;
constexpr std::array<std::size_t, last_level + 1> level_buffer_bytes{ISAL_DEF_LVL0_DEFAULT, ISAL_DEF_LVL1_DEFAULT,
                                                                     ISAL_DEF_LVL2_DEFAULT, ISAL_DEF_LVL3_DEFAULT};

class IsalDeflater final : public Deflater {
 public:
  explicit IsalDeflater(int level)
      : level_(static_cast<std::uint32_t>(level)), level_buffer_(level_buffer_bytes[static_cast<std::size_t>(level)]) {}

  std::size_t deflate(std::span<const std::byte> bytes, std::vector<std::byte>& out, std::size_t at) override {
    // isal_deflate_reset() leaves tables of the piece before, on which this one's matches would depend.
    stream_ = {};
    std::fill(level_buffer_.begin(), level_buffer_.end(), std::uint8_t{0});
    isal_deflate_init(&stream_);
    stream_.level = level_;
    stream_.level_buf = level_buffer_.data();
    stream_.level_buf_size = static_cast<std::uint32_t>(level_buffer_.size());
    stream_.gzip_flag = IGZIP_DEFLATE;
    make_room(out, at, bytes.size());
    // Levels 1 and 2 of ISA-L 2.30 enter the third byte into their table by the address of the stream, not by what
    // stands there, unless the first bytes come as a few of their own.
    if (level_ < last_level && bytes.size() > lead_bytes) {
      at += feed(bytes.first(lead_bytes), SYNC_FLUSH, std::span(out).subspan(at));
      bytes = bytes.subspan(lead_bytes);
    }
    // It looks at some bytes behind its input, and finds other matches for what stands there: it gets the last ones
    // from where nothing follows them.
    const std::size_t tail = std::min(bytes.size(), tail_bytes);
    std::copy(bytes.end() - static_cast<std::ptrdiff_t>(tail), bytes.end(), tail_.begin());
    std::fill(tail_.begin() + static_cast<std::ptrdiff_t>(tail), tail_.end(), std::byte{0});
    at += feed(bytes.first(bytes.size() - tail), NO_FLUSH, std::span(out).subspan(at));
    stream_.end_of_stream = 1;
    return feed(std::span(tail_).first(tail), NO_FLUSH, std::span(out).subspan(at)) + at;
  }

 private:
  static constexpr std::size_t lead_bytes = 8, tail_bytes = 4096, behind_tail = 1024;

  /// How many bytes have come of it.
  std::size_t feed(std::span<const std::byte> bytes, std::uint16_t flush, std::span<std::byte> out) {
    // ISA-L's pointer is not const, but it does not write there.
    stream_.next_in = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(bytes.data()));
    stream_.avail_in = static_cast<std::uint32_t>(bytes.size());
    stream_.flush = flush;
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream_.avail_out = static_cast<std::uint32_t>(out.size());
    const int result = isal_deflate(&stream_);
    const bool done =
        stream_.avail_in == 0 && (stream_.end_of_stream == 0 || stream_.internal_state.state == ZSTATE_END);
    if (result != COMP_OK || !done)
      throw Error(ErrorCode::unavailable, "ISA-L cannot compress: error " + std::to_string(result));
    return out.size() - stream_.avail_out;
  }

  std::uint32_t level_;
  isal_zstream stream_{};
  std::vector<std::uint8_t> level_buffer_;
  std::array<std::byte, tail_bytes + behind_tail> tail_{};
};

}  // namespace

std::unique_ptr<Deflater> isal_deflater(int level) { return std::make_unique<IsalDeflater>(level); }

}  // namespace ckpt
