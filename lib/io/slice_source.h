#pragma once

#include <cstdint>
#include <optional>

#include "ckpt/byte_source.h"

namespace ckpt {

/// What slice() has made a source of.
struct SliceOf {
  const ByteSource* whole = nullptr;
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
};

/// A source of which slices may reach past its end, where reads of them are short.
ByteSourcePtr endless(ByteSourcePtr source);

/// None where `source` is no slice. What an endless() one is a slice of is the source within.
std::optional<SliceOf> slice_of(const ByteSource& source);

}  // namespace ckpt
