#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/dtype.h"
#include "ckpt/export.h"

/// Operations that change what lies in storages, and how tensors lie in them. Pure, as those of ckpt/ops.h: each takes
/// a checkpoint by value. Bytes are computed when they are read, piece by piece.
///
///     auto [half, report] = ckpt::cast(ckpt::load("model.pt"), ckpt::DType::float16, {"*.running_*"});
///     ckpt::save(half, "half.pt");
///
/// All throw Error (unsupported) where the file is a module that is taken whole (a TorchScript file). Tensors that a
/// pickle holds as numpy arrays, and those without bytes, stay as they are.
namespace ckpt {

/// Bytes of all storages, as they are when they are written.
CKPT_API std::uint64_t storage_bytes(const Checkpoint& checkpoint);

struct CastReport {
  std::size_t tensors = 0;               ///< that were cast
  std::int64_t saved = 0;                ///< bytes of storages; negative where they grew
  std::vector<std::string> idle_except;  ///< globs that match no tensor
  std::size_t arrays = 0;  ///< floating tensors that stay: numpy arrays, and such as a class makes (DTensor)
};

/// Casts every tensor of a floating dtype, complex ones not among them, but for those that a glob of `except` matches.
/// Rounds to nearest even and overflows as PyTorch's Tensor.to() does on a CPU, NaN included (docs/cli.md). A storage
/// is cast as a whole, so that views and tied tensors share the new one as they shared the old; a storage that tensors
/// of several dtypes look at, or an excepted one, is written once as each. A lazy negative becomes a float8 tensor of
/// its own bytes, as PyTorch cannot negate those. Throws Error (invalid_argument): not one of float64, float32,
/// float16, bfloat16, float8_e4m3fn, float8_e5m2.
CKPT_API std::pair<Checkpoint, CastReport> cast(Checkpoint checkpoint, DType dtype,
                                                const std::vector<std::string>& except = {});

/// Gives each tensor that is not contiguous a storage of its own in which it is, as Tensor.contiguous() does. Tensors
/// that show the same elements in the same way share it. Returns how many there were. Throws Error: limit_exceeded (a
/// view that stands for far more bytes than there are).
CKPT_API std::pair<Checkpoint, std::size_t> make_contiguous(Checkpoint checkpoint);

struct CompactReport {
  std::size_t storages = 0;  ///< that became smaller, or several
  std::uint64_t saved = 0;   ///< bytes
};

/// Leaves of each storage the bytes that tensors look at. Tensors that overlap or touch go on sharing a storage; those
/// apart from each other get one each. A view with gaps that shares its bytes with no other is closed up, the order of
/// its strides staying. A storage that the object holds as such stays whole.
CKPT_API std::pair<Checkpoint, CompactReport> compact(Checkpoint checkpoint);

struct DedupeReport {
  std::size_t storages = 0;  ///< that were equal to an earlier one
  std::uint64_t saved = 0;   ///< bytes
};

/// Makes storages of the same dtype, device, size and bytes one: their tensors are tied from then on, and what changes
/// one in Python changes all. One that the object holds as such stays, and so do those of an optimizer's state, which
/// steps change. Reads those that have the same size, and recorded checksum, as another. Throws Error: what reading
/// throws, limit_exceeded.
CKPT_API std::pair<Checkpoint, DedupeReport> dedupe(Checkpoint checkpoint);

}  // namespace ckpt
