#pragma once

#include <unordered_map>
#include <vector>

#include "ckpt/checkpoint.h"
#include "model/tensor_calls.h"

namespace ckpt {

/// Makes the values that torch.save would write for a state dict, in a graph that holds the same tensors in other
/// forms: Parameters, tensors with gradient, those of torch before 0.4. Names that they call for are added to the
/// checkpoint's.
class PlainTensors {
 public:
  explicit PlainTensors(Checkpoint& checkpoint);

  /// The tensor as detach() gives it, sharing the storage; another object each time, as of Python. no_value where the
  /// value is no tensor. A call that no plain one can stand for (quantised, sparse, of a subclass) stays what it is.
  ValueId detached(ValueId id);

  /// For what stands around the tensors.
  TensorCalls& calls() { return calls_; }

  /// Adds the tensors that were made to the checkpoint.
  void finish();

 private:
  ValueId inner_call(ValueId id);
  bool is_plain(ValueId call) const;
  bool is_torch_tensor(ValueId call) const;
  void untag(ValueId call);
  ValueId untyped(const Tensor& tensor);
  ValueId rebuilt(const Tensor& tensor, ValueId storage);

  Checkpoint& checkpoint_;
  ValueGraph& values_;
  TensorCalls calls_;
  std::unordered_map<ValueId, std::size_t> tensors_;  ///< by value, of those that the file has
  std::unordered_map<ValueId, ValueId> inner_;        ///< what is left when a Parameter is taken off
  std::vector<bool> used_;
  std::vector<Tensor> made_;
};

}  // namespace ckpt
