#pragma once

#include <string_view>

#include "ckpt/byte_source.h"

namespace ckpt {

/// What a file is that no checkpoint reader knows, as "this is WHAT", and what reads it.
struct ForeignKind {
  std::string_view what, hint;
};

/// Tells files apart that have no magic number, by the shape of what they begin (`head`) or end with: messages of
/// protobuf and msgpack, tables of LevelDB, raw parameters. Null where it tells nothing.
const ForeignKind* foreign_shape(std::string_view head, const ByteSource& source);

}  // namespace ckpt
