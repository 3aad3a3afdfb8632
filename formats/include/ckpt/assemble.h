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
///     ckpt::save(ckpt::assemble({{.name = "logits", .dtype = ckpt::DType::float32,
///                                   .shape = {100, 10}, .bytes = bytes}}),
///                "outputs.npz");
namespace ckpt {

/// A tensor to be. Those whose `bytes` are the same source share a storage, and tell it in the same way: dtype, byte
/// order and location.
struct TensorSource {
  std::string name;  ///< UTF-8
  DType dtype{};     ///< none of the quantised ones, which need a scale
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> stride;  ///< in elements; empty: contiguous
  ByteSourcePtr bytes;  ///< of the whole storage, of which a tensor may show a part; read when they are wanted
  ByteOrder byte_order = ByteOrder::little;
  std::string location = "cpu";  ///< UTF-8
  std::int64_t offset = 0;       ///< of the first element in the storage, in elements
  /// torch's lazy views: the values are the complex conjugates, the negatives, of what `bytes` hold. (PyTorch 2.11
  /// loads negative views of any dtype but bool, and cannot compute those of float8 and of uint16 to uint64.)
  bool conjugate = false, negative = false;
};

/// What torch.save would have been given: a dict of tensors by name, in this order. Its format is "torch", until a
/// reader says otherwise. Throws Error: invalid_argument (a name twice, or that is not UTF-8; no bytes, or such as make
/// no whole elements; a quantised dtype, conjugates of what is not complex, negatives of bools; a storage that is told
/// in two ways), corrupt (a shape, stride or offset that reaches past the bytes), limit_exceeded (ckpt/limits.h).
CKPT_API Checkpoint assemble(std::vector<TensorSource> tensors);

/// The version of a module's state, as `_metadata` of a state dict has it: 2 of batch norms, 1 of nearly all else.
struct ModuleVersion {
  std::string module;  ///< its name; empty for the model itself
  std::int64_t version = 1;
};

/// What torch.save(model.state_dict()) would have been given: an OrderedDict, with `_metadata` where there is any.
/// Throws as assemble() does.
CKPT_API Checkpoint assemble_state_dict(std::vector<TensorSource> tensors,
                                        const std::vector<ModuleVersion>& metadata = {});

/// A tensor alone, whose name is not asked.
CKPT_API Checkpoint assemble_one(TensorSource tensor);

/// Makes tensors of torch's out of arrays of numpy's that a pickle holds (Tensor::array), as torch.from_numpy would,
/// wherever they stand. What has none is as it was.
CKPT_API Checkpoint arrays_as_tensors(Checkpoint checkpoint);

}  // namespace ckpt
