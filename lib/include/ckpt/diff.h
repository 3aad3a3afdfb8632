#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/export.h"

/// What two checkpoints differ in. Only what they mean counts, not how a file spells it: container, compression,
/// protocol and memo make no difference.
///
///     const ckpt::Checkpoint a = ckpt::load("a.pt"), b = ckpt::load("b.pt");  // the result points into them
///     const ckpt::CheckpointDiff found = ckpt::diff(a, b);
///     if (!found.same()) for (const auto& t : found.tensors) std::cout << t.name << '\n';
namespace ckpt {

struct DiffOptions {
  /// With either, values of floating and complex tensors are compared as numbers, |a - b| <= atol + rtol * |b|, as
  /// torch.allclose(equal_nan=True) does, in double precision; integers and bools stay exact. With none, by their bits.
  /// Neither may be negative or NaN.
  std::optional<double> rtol, atol;
  bool ignore_devices = false;
  bool ignore_dtypes = false;  ///< dtypes may differ; values are compared as numbers
  /// What is neither a tensor nor how one is quantised: other values, their types, requires_grad.
  bool ignore_other = false;
  /// That work at a time, 256 at most; 0: usable_cores(), at most 16. What is found is the same.
  std::size_t threads = 0;
};

/// How the elements of two tensors of one shape differ.
struct ValueDifference {
  std::uint64_t different = 0, elements = 0;
  std::uint64_t not_finite = 0;  ///< of the different ones: NaN or infinity on a side, so that no error can be told
  /// Of |a - b| over all other elements; none where elements are bits and no numbers.
  std::optional<double> largest_error, mean_error;
  std::vector<std::int64_t> first;  ///< index of the first different one
  std::string first_a, first_b;     ///< as Python prints them
};

template <class T>
struct Changed {
  T a, b;
};

/// A tensor that both have, and what is not the same. A part of a sparse tensor is named NAME.values ….
struct TensorDifference {
  std::string name;
  std::optional<Changed<std::vector<std::int64_t>>> shape;
  std::optional<Changed<std::string>> dtype, layout, device;
  std::optional<ValueDifference> values;
  std::string not_compared;  ///< why values were not compared, where that is no consequence of shape or layout
};

/// A tensor that only one has.
struct LoneTensor {
  std::string name;
  const Tensor* tensor = nullptr;  ///< owned by the checkpoint
};

/// Tensors of equal content under different names.
struct RenamedTensor {
  std::string a, b;
};

/// Where all renamed tensors have the same part of their names exchanged: `lead` + `a` + rest became `lead` + `b` +
/// rest.
struct RenamedPrefix {
  std::string lead, a, b;
};

/// Names that share one storage in the one checkpoint and not in the other.
struct SharingDifference {
  bool shared_in_a = false;  ///< else in b
  std::vector<std::string> names;
};

/// A value that is no tensor. Texts are Python's, cut short; none: it is not there.
struct OtherDifference {
  std::string path;
  std::optional<std::string> a, b;
};

struct CheckpointDiff {
  std::vector<LoneTensor> only_a, only_b;  ///< in file order
  std::vector<RenamedTensor> renamed;
  std::optional<RenamedPrefix> prefix;
  std::vector<TensorDifference> tensors;
  std::vector<SharingDifference> sharing;
  std::vector<OtherDifference> other;
  std::vector<std::string> reordered;  ///< mappings whose keys stand in another order: a remark, no difference
  std::size_t compared = 0;            ///< tensors that both have
  std::size_t values_compared = 0;     ///< other values that both have

  [[nodiscard]] bool same() const {
    return only_a.empty() && only_b.empty() && renamed.empty() && tensors.empty() && sharing.empty() && other.empty();
  }
};

/// Compares. Reads both forward, a few MiB at a time; recorded checksums are compared on the way, so that damage is an
/// error and no difference. The checkpoints must outlive the result. Throws Error, naming the file: what reading
/// throws, limit_exceeded (ckpt/limits.h), invalid_argument (a tolerance).
CKPT_API CheckpointDiff diff(const Checkpoint& a, const Checkpoint& b, const DiffOptions& options = {});

}  // namespace ckpt
