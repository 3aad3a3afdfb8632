#include "ops/copy_tensor.h"

#include "io/checksum.h"
#include "io/stream.h"
#include "ops/tensor_bytes.h"

namespace ckpt {
namespace {

bool are_as_stored(const Storage& storage, const TensorInfo& info) {
  const bool same_order = storage.byte_order == ByteOrder::little || dtype_swap_size(storage.dtype) == 1;
  return same_order && is_contiguous(info) && !info.conjugate && !info.negative;
}

}  // namespace

std::uint32_t copy_tensor(const Storage& storage, const TensorInfo& info, ByteSink& sink) {
  TensorStream elements(storage, info);
  if (are_as_stored(storage, info)) {
    const std::uint64_t begin = static_cast<std::uint64_t>(info.offset) * dtype_size(info.dtype);
    return copy_range(*storage.bytes, begin, logical_bytes(info), sink);
  }
  sink.announce(logical_bytes(info));
  std::uint32_t crc = 0;
  for (auto piece = elements.next(); !piece.empty(); piece = elements.next()) {
    crc = crc32(crc, piece);
    sink.write(piece);
  }
  return crc;
}

}  // namespace ckpt
