#include <isa-l.h>

#include <array>
#include <string>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "io/deflater.h"

namespace ckpt {
namespace {

constexpr std::array<std::size_t, 4> level_buffer_bytes{ISAL_DEF_LVL0_DEFAULT, ISAL_DEF_LVL1_DEFAULT,
                                                        ISAL_DEF_LVL2_DEFAULT, ISAL_DEF_LVL3_DEFAULT};

class IsalDeflater final : public Deflater {
 public:
  explicit IsalDeflater(int level) : level_buffer_(level_buffer_bytes[static_cast<std::size_t>(level)]) {
    isal_deflate_init(&stream_);
    stream_.level = static_cast<std::uint32_t>(level);
    stream_.level_buf = level_buffer_.data();
    stream_.level_buf_size = static_cast<std::uint32_t>(level_buffer_.size());
    stream_.gzip_flag = IGZIP_DEFLATE;
    stream_.flush = NO_FLUSH;
  }

  void feed(std::span<const std::byte> bytes, bool last, const Emit& emit) override {
    // ISA-L's pointer is not const, but it does not write there.
    stream_.next_in = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(bytes.data()));
    stream_.avail_in = static_cast<std::uint32_t>(bytes.size());
    stream_.end_of_stream = last ? 1 : 0;
    do {
      stream_.next_out = reinterpret_cast<std::uint8_t*>(out_.data());
      stream_.avail_out = static_cast<std::uint32_t>(out_.size());
      const int result = isal_deflate(&stream_);
      if (result != COMP_OK) {
        throw Error(ErrorCode::unavailable, "ISA-L cannot compress: error " + std::to_string(result));
      }
      const std::size_t ready = out_.size() - stream_.avail_out;
      if (ready != 0) emit(std::span(out_).first(ready));
    } while (stream_.avail_in != 0 || stream_.avail_out == 0 || (last && stream_.internal_state.state != ZSTATE_END));
  }

 private:
  isal_zstream stream_{};
  std::vector<std::uint8_t> level_buffer_;
  std::vector<std::byte> out_ = std::vector<std::byte>(limits::copy_chunk);
};

}  // namespace

std::unique_ptr<Deflater> isal_deflater(int level) { return std::make_unique<IsalDeflater>(level); }

}  // namespace ckpt
