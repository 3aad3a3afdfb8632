#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ckpt/byte_source.h"
#include "ckpt/checkpoint.h"
#include "ckpt/error.h"
#include "format.h"
#include "pickle/machine.h"

namespace ckpt::torch {

/// Reads the object's pickle at `offset`, of at most `cap` bytes, into an empty checkpoint: its graph, root, globals,
/// and the storages that it names (without bytes). Returns where the pickle ends. decode_tensors() comes after the
/// caller has found the bytes. `context`: where given, files within the pickle are opened through it and judged.
std::uint64_t read_object(const ByteSource& source, std::uint64_t offset, std::uint64_t cap, Checkpoint& checkpoint,
                          const ReadContext* context = nullptr);

/// Reads a pickle into a checkpoint that may have others already: adds to its graph, its globals, and its storages,
/// whose keys are `folder` and what the ids say.
pickle::Program add_pickle(const ByteSource& source, std::uint64_t offset, std::uint64_t cap, Checkpoint& checkpoint,
                           std::string_view folder = {}, const ReadContext* context = nullptr);

/// How far an object's pickle went.
struct ObjectEnd {
  std::uint64_t offset = 0;     ///< where it ends, or breaks off
  std::optional<Error> broken;  ///< why it does
};

/// read_object() of a pickle that may be cut or damaged: as much of the object as there is. `doubts` take what names
/// storages and does not make sense. Throws Error: why nothing could be read; limit_exceeded, io.
ObjectEnd salvage_object(const ByteSource& source, std::uint64_t offset, Checkpoint& checkpoint, Doubts& doubts,
                         const ReadContext& context);

/// Refuses (unsafe) a checkpoint that names dangerous globals, unless they are allowed.
void refuse_dangerous(const Checkpoint& checkpoint, bool allow_unsafe);

}  // namespace ckpt::torch
