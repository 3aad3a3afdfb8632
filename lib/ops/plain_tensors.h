#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ckpt/checkpoint.h"

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

  /// A key or value that is made once.
  ValueId text(std::string_view text);
  /// OrderedDict with these keys and values in turn.
  ValueId ordered_dict(const std::vector<ValueId>& pairs);

  /// Adds the tensors that were made to the checkpoint.
  void finish();

 private:
  ValueId inner_call(ValueId id);
  ValueId storage_of(ValueId call) const;
  bool is_plain(ValueId call) const;
  ValueId rebuilt(const Tensor& tensor, ValueId storage);
  ValueId global(std::string_view module, std::string_view name);
  ValueId integers(const std::vector<std::int64_t>& numbers);
  ValueId kept(ValueId id);

  Checkpoint& checkpoint_;
  ValueGraph& values_;
  std::unordered_map<ValueId, std::size_t> tensors_;  ///< by value, of those that the file has
  std::unordered_map<ValueId, ValueId> inner_;        ///< what is left when a Parameter is taken off
  std::vector<bool> used_;
  std::vector<Tensor> made_;
  std::map<std::pair<std::string, std::string>, ValueId> globals_;
  std::map<std::string, ValueId, std::less<>> texts_;
};

}  // namespace ckpt
