#pragma once

#include <optional>
#include <vector>

#include "ckpt/byte_source.h"
#include "ckpt/formats.h"
#include "format.h"

namespace ckpt::fuzz {

/// Reads a source that `format` recognises, strictly and as verify() does, and does with the checkpoint all that needs
/// no output. What verify() finds no fault in, must read to its last byte.
void exercise(const Format& format, const ByteSourcePtr& source);

/// What comes of writing `before` and reading it again; none where a format or a limit refuses it.
struct Rewritten {
  std::vector<std::byte> bytes;
  Checkpoint checkpoint;
};
std::optional<Rewritten> rewritten(const Checkpoint& before, const WriteOptions& options);
/// … in a format that holds its tensors: they must be the same.
std::optional<Rewritten> rewritten_tensors(const Checkpoint& before, const std::string& format);

}  // namespace ckpt::fuzz
