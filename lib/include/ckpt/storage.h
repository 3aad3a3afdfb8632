#pragma once

#include <cstdint>
#include <string>

#include "ckpt/byte_source.h"
#include "ckpt/dtype.h"

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
  ByteSourcePtr bytes;                       ///< `nbytes` of them
};

}  // namespace ckpt
