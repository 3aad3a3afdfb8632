#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/tensor.h"
#include "ckpt/value.h"

namespace ckpt::torch {

/// Writes into a graph what torch.save would have written, for collect_storages() and decode_tensors() to read. Names
/// and texts that come again are the same value, as Python's memo has them.
class TensorCalls {
 public:
  explicit TensorCalls(ValueGraph& values) : values_(values) {}

  /// ('storage', class, key, location, elements): the tuple, which a persistent value is yet to hold.
  ValueId storage_id(std::string_view module, std::string_view name, const std::string& key,
                     const std::string& location, std::uint64_t elements);
  /// The same for a storage of that dtype: of a typed class where there is one, else of bytes.
  ValueId storage_id(DType dtype, const std::string& key, const std::string& location, std::uint64_t nbytes);
  /// The call that makes a tensor of a persistent storage: torch._utils._rebuild_tensor_v2, or _v3 where the storage's
  /// class does not say the dtype. What become_object() and make_object() take.
  std::pair<ValueId, ValueId> rebuild(ValueId storage, const TensorInfo& info);

  ValueId global(std::string_view module, std::string_view name);
  ValueId text(const std::string& text);
  /// OrderedDict(), as it stands in the place of hooks.
  ValueId ordered_dict();
  /// Python keeps everything in the memo but numbers and the empty tuple.
  ValueId kept(ValueId id) {
    values_.set_memoized(id);
    return id;
  }

 private:
  ValueId integers(const std::vector<std::int64_t>& numbers);

  ValueGraph& values_;
  std::map<std::pair<std::string, std::string>, ValueId> globals_;
  std::map<std::string, ValueId> texts_;
};

}  // namespace ckpt::torch
