#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/byte_source.h"
#include "ckpt/checkpoint.h"
#include "ckpt/dtype.h"
#include "ckpt/export.h"
#include "ckpt/storage.h"

/// Checkpoints of tensors that come from no pickle: of other formats' files, or of a program's own memory.
///
///     const auto bytes = ckpt::memory_source(std::move(logits), "logits");
///     ckpt::save(ckpt::assemble({{.name = "logits", .dtype = DType::float32, .shape = {100, 10}, .bytes = bytes}}),
///                "outputs.npz");
namespace ckpt {

/// A tensor to be, with a storage of its own.
struct TensorSource {
  std::string name;  ///< UTF-8
  DType dtype{};
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> stride;  ///< in elements; empty: contiguous
  ByteSourcePtr bytes;               ///< of all elements, never null; read when they are wanted
  ByteOrder byte_order = ByteOrder::little;
  std::string location = "cpu";
};

/// What torch.save would have been given: a dict of tensors by name, in this order. Its format is "torch", until a
/// reader says otherwise. Throws Error: invalid_argument (a name twice, or that is not UTF-8; bytes that are no
/// whole elements), corrupt (a shape or stride that does not fit the bytes), limit_exceeded (ckpt/limits.h).
CKPT_API Checkpoint assemble(std::vector<TensorSource> tensors);

/// A tensor alone, whose name is not asked.
CKPT_API Checkpoint assemble_one(TensorSource tensor);

}  // namespace ckpt
