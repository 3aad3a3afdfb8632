#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/assemble.h"
#include "ckpt/checkpoint.h"
#include "ckpt/eval_export.h"

/// Between checkpoints and libtorch's tensors.
///
///     for (const auto& [name, tensor] : ckpt::eval::to_torch(ckpt::load("model.pt.gz")))
///       std::cout << name << ' ' << tensor.sizes() << '\n';
///     ckpt::save(ckpt::eval::from_torch({{"fc.weight", weight}, {"fc.bias", bias}}), "model.pt");
namespace ckpt::eval {

struct StateTensor {
  std::string name;  ///< relative to the state dict: "fc.weight"
  at::Tensor tensor;
};

/// The tensors of the state dict at `root` (find_state_dict() in ckpt/ops.h), in its order; with `wanted`, those of
/// the names for which it says yes. All on the CPU, whatever the file's tags say. Each storage that one of them lies in
/// is read once, in the file's order, into memory aligned to 64 bytes that the tensors own and share as they shared it
/// in the file; other storages are not read. Dtypes, strides, sparse layouts and quantisation are as they were.
/// The rest of a compressed file is not read: finish_reading() tells whether one without an index is whole.
/// Throws Error: unsupported (no values in the file: a meta tensor; a nested one; a dtype that libtorch lacks),
/// invalid_argument (root), out_of_memory, and what reading throws.
[[nodiscard]] CKPT_EVAL_API std::vector<StateTensor> to_torch(
    const Checkpoint& checkpoint, std::string_view root = "auto",
    const std::function<bool(std::string_view name)>& wanted = {});

/// The same values as float32, for models that compute in it: other floating dtypes (float64 is rounded), integers and
/// bools converted, quantised ones dequantised. A float32 tensor is returned as it is.
/// Throws Error: unsupported (complex), out_of_memory.
[[nodiscard]] CKPT_EVAL_API at::Tensor widened(const at::Tensor& tensor);

/// What torch.save(model.state_dict()) would write: an OrderedDict of these tensors in this order, tagged cpu, with
/// `metadata` as `_metadata` where there is any. Tensors that share a storage share it in the file too, and all of a
/// storage is saved, as torch does. Bytes of tensors on the CPU are read when the checkpoint is saved, which keeps them
/// alive: do not change them before. Those of other devices are copied here.
/// Throws Error: unsupported (sparse, quantised, meta and nested tensors, by name), invalid_argument (a name twice; one
/// storage under two dtypes), out_of_memory.
[[nodiscard]] CKPT_EVAL_API Checkpoint from_torch(const std::vector<StateTensor>& tensors,
                                                  const std::vector<ModuleVersion>& metadata = {});

}  // namespace ckpt::eval
