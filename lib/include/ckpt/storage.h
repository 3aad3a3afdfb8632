#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "ckpt/byte_source.h"
#include "ckpt/dtype.h"
#include "ckpt/export.h"

namespace ckpt {

enum class ByteOrder : std::uint8_t { little, big };

/// A flat run of elements that tensors view, and the device it is tagged with. Its bytes stay where they are until
/// someone reads them; copies of a Storage share them.
struct Storage {
  std::string key;       ///< the name the file gives it; unique in a checkpoint
  DType dtype{};         ///< of a typed storage
  bool typed = true;     ///< false for torch.UntypedStorage: only bytes, `dtype` is uint8
  std::string location;  ///< the tag as the file has it: "cuda:0"
  std::uint64_t nbytes = 0;
  ByteOrder byte_order = ByteOrder::little;  ///< of `bytes`
  ByteSourcePtr bytes;                       ///< `nbytes` of them; null only of a meta storage, which is not written so
};

/// Reads all of a storage into `out`, as large as it is, once and forward, and compares the CRC-32 that the container
/// recorded. Elements come in little-endian order whatever the file's; what is untyped has no order and stays as it is,
/// as in torch.load. Throws Error: corrupt, truncated, invalid_argument (a meta storage; `out` of another size), io.
CKPT_API void read_storage(const Storage& storage, std::span<std::byte> out);

}  // namespace ckpt
