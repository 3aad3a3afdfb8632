#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/dtype.h"
#include "ckpt/export.h"

/// What the numbers of a checkpoint look like: PyTorch's figures of tensor.to(float64), without loading it.
///
///     for (const ckpt::TensorStats& tensor : ckpt::stats(checkpoint).tensors)
///       if (tensor.figures) std::cout << tensor.name << ' ' << tensor.figures->mean << '\n';
namespace ckpt {

/// torch.histc(x, counts.size(), min, max) over the finite elements: bins of one width, the last with its upper edge.
/// Where all elements are one number, min and max are 1 below and above it.
struct Histogram {
  double min = 0, max = 0;
  std::vector<std::uint64_t> counts;  ///< empty: not asked for, or no element is finite
};

/// Of the elements of one tensor, or of several together. What is NaN or infinite is counted and left out of all that
/// follows. Of complex numbers: their absolute values; of quantised ones: the integers; of bools: 0 and 1.
struct Figures {
  std::uint64_t elements = 0;
  std::uint64_t zeros = 0;  ///< of either sign
  std::uint64_t nan = 0, positive_infinity = 0, negative_infinity = 0;
  /// Of the finite elements; NaN where there is none. Exact of every dtype: a double cannot hold every int64.
  long double min = 0, max = 0;
  double mean = 0;
  double std = 0;   ///< with Bessel's correction; NaN of one element
  double norm = 0;  ///< torch.linalg.vector_norm: the root of the sum of squares; 0 where none is finite
  Histogram histogram;

  [[nodiscard]] std::uint64_t not_finite() const { return nan + positive_infinity + negative_infinity; }
};

struct TensorStats {
  std::string name;   ///< a part of a sparse tensor's: NAME.indices, NAME.values …
  std::string whole;  ///< the name of the tensor that it is, or is a part of
  DType dtype{};
  std::vector<std::int64_t> shape;
  /// None where the file holds no numbers: a meta tensor, a dtype of bits, a device's that is held as a numpy array.
  std::optional<Figures> figures;
};

struct CheckpointStats {
  std::vector<TensorStats> tensors;  ///< in the file's order, under all their names
  /// Of all tensors of a floating dtype together (not complex), what several names share counted once.
  Figures floating;
  std::size_t floating_tensors = 0;
};

struct StatsOptions {
  std::string root;               ///< as digest() takes it; names are relative to it
  std::vector<std::string> keys;  ///< globs: only tensors whose name one of them matches; none: all
  std::size_t bins = 20;          ///< of histograms; 0: none, which takes one pass instead of two
  /// That work at a time, 256 at most; 0: usable_cores(), at most 16. The figures are the same.
  std::size_t threads = 0;
};

/// Reads each storage once a pass, forward, whatever the number of tensors that view it; an expanded view counts its
/// elements as often as it shows them. Throws Error: invalid_argument (root), limit_exceeded (more bins, or views that
/// expand further, than ckpt/limits.h allows), and what reading throws: recorded checksums of storages that are read
/// whole are compared.
CKPT_API CheckpointStats stats(const Checkpoint& checkpoint, const StatsOptions& options = {});

}  // namespace ckpt
