#include "ckpt/storage.h"

#include <algorithm>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "io/checksum.h"

namespace ckpt {

void read_storage(const Storage& storage, std::span<std::byte> out) {
  if (!storage.bytes)
    throw Error(ErrorCode::invalid_argument,
                "storage '" + storage.key + "' has no bytes (device " + storage.location + ")")
        .expected("a storage in memory");
  if (out.size() != storage.nbytes)
    throw Error(ErrorCode::invalid_argument,
                "a buffer of " + std::to_string(out.size()) + " bytes for storage '" + storage.key + "'")
        .expected(std::to_string(storage.nbytes) + ", as it has");
  std::uint32_t crc = 0;
  for (std::size_t at = 0; at < out.size(); at += limits::copy_chunk) {
    const auto chunk = out.subspan(at, std::min<std::size_t>(limits::copy_chunk, out.size() - at));
    storage.bytes->read_exactly(at, chunk);
    crc = crc32(crc, chunk);
  }
  check_recorded_crc32(*storage.bytes, crc);
  // torch swaps a typed storage as its dtype says when it loads it, and leaves an untyped one as it is.
  const std::size_t unit = storage.byte_order == ByteOrder::big && storage.typed ? dtype_swap_size(storage.dtype) : 1;
  if (unit == 1) return;
  for (std::size_t at = 0; at + unit <= out.size(); at += unit) {
    const auto element = out.subspan(at, unit);
    std::reverse(element.begin(), element.end());
  }
}

}  // namespace ckpt
