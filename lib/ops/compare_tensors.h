#pragma once

#include <map>
#include <string>
#include <vector>

#include "ckpt/diff.h"
#include "ckpt/error.h"
#include "ops/compare_elements.h"
#include "ops/compare_values.h"
#include "ops/dense_tensor.h"

namespace ckpt {

/// One of the two checkpoints, its storages watched (ops/watched_source.h).
struct DiffSide {
  explicit DiffSide(const Checkpoint& of);

  const Checkpoint& checkpoint;
  std::vector<Storage> storages;
};

/// Names the side's file in errors of `work`.
template <class Work>
auto in_file_of(const DiffSide& side, Work&& work) {
  try {
    return work();
  } catch (Error& error) {
    error.in(side.checkpoint.file);
    throw;
  }
}

/// Compares pairs of tensors: what can be told from the pickle at once, the elements in run(), in the order in which
/// the first file holds them, each pair once.
class TensorPairs {
 public:
  TensorPairs(const DiffSide& a, const DiffSide& b, const DiffOptions& options);

  /// `same_content`: the elements are known to be equal.
  void add(const std::string& name, const Tensor& a, const Tensor& b, bool same_content = false);
  void run();
  /// What differs, in the order of add().
  std::vector<TensorDifference> take();

 private:
  struct Job {
    std::size_t place;
    std::string name;
    const Tensor* a;
    const Tensor* b;
  };

  void add_dense(const std::string& name, const Tensor& a, const Tensor& b, bool same_content);
  std::optional<ElementPair> pair_of(std::size_t job) const;

  const DiffSide& a_;
  const DiffSide& b_;
  DiffOptions options_;
  ValueRules rules_;
  std::size_t places_ = 0;
  std::map<std::size_t, TensorDifference> differences_;  ///< by place, in the order of add()
  std::vector<Job> jobs_;
};

/// Equal for equal tensors, and hardly ever for others: dtype, layout, shape, and the CRC-32 of the elements.
std::string content_of(const DiffSide& side, const NamedTensor& tensor);
/// What content_of() takes beside the elements.
std::string form_of(const Tensor& tensor);

}  // namespace ckpt
