#include <zlib.h>

#include <string>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "io/deflater.h"

namespace ckpt {
namespace {

constexpr int raw_window_bits = -15;
constexpr int memory_level = 8;

class ZlibDeflater final : public Deflater {
 public:
  explicit ZlibDeflater(int level) {
    const int result = deflateInit2(&stream_, level, Z_DEFLATED, raw_window_bits, memory_level, Z_DEFAULT_STRATEGY);
    if (result == Z_MEM_ERROR) throw Error(ErrorCode::out_of_memory, "no memory for zlib");
    if (result != Z_OK) throw Error(ErrorCode::unavailable, "zlib cannot compress: error " + std::to_string(result));
  }
  ~ZlibDeflater() override { deflateEnd(&stream_); }

  void feed(std::span<const std::byte> bytes, bool last, const Emit& emit) override {
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    int result = Z_OK;
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
      stream_.avail_out = static_cast<uInt>(out_.size());
      result = deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH);
      const std::size_t ready = out_.size() - stream_.avail_out;
      if (ready != 0) emit(std::span(out_).first(ready));
    } while (last ? result == Z_OK : stream_.avail_out == 0);
    if (last && result != Z_STREAM_END) {
      throw Error(ErrorCode::unavailable, "zlib cannot compress: error " + std::to_string(result));
    }
  }

 private:
  z_stream stream_{};
  std::vector<std::byte> out_ = std::vector<std::byte>(limits::copy_chunk);
};

}  // namespace

std::unique_ptr<Deflater> zlib_deflater(int level) { return std::make_unique<ZlibDeflater>(level); }

}  // namespace ckpt
