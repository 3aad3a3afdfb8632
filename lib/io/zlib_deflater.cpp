#include <zlib.h>

#include <string>

#include "ckpt/error.h"
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
    check(result, Z_OK);
  }
  ~ZlibDeflater() override { deflateEnd(&stream_); }

  std::size_t deflate(std::span<const std::byte> bytes, std::vector<std::byte>& out, std::size_t at) override {
    check(deflateReset(&stream_), Z_OK);
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    make_room(out, at, bytes.size());
    const std::span<std::byte> free = std::span(out).subspan(at);
    stream_.next_out = reinterpret_cast<Bytef*>(free.data());
    stream_.avail_out = static_cast<uInt>(free.size());
    check(::deflate(&stream_, Z_FINISH), Z_STREAM_END);
    return at + free.size() - stream_.avail_out;
  }

 private:
  static void check(int result, int expected) {
    if (result == expected) return;
    throw Error(ErrorCode::unavailable, "zlib cannot compress: error " + std::to_string(result));
  }

  z_stream stream_{};
};

}  // namespace

std::unique_ptr<Deflater> zlib_deflater(int level) { return std::make_unique<ZlibDeflater>(level); }

}  // namespace ckpt
