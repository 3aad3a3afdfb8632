#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/checkpoint.h"

namespace ckpt {

/// Whether the class of a storage tells the dtype of a tensor. One of bytes may hold numbers that have no class.
inline bool is_typed_as(const Storage& storage, DType dtype) { return storage.typed && storage.dtype == dtype; }

/// Writes into a graph what torch.save would have written of a tensor. Names and texts that come again are the same
/// value, as Python's memo has them.
class TensorCalls {
 public:
  explicit TensorCalls(ValueGraph& values) : values_(values) {}

  /// ('storage', class, key, location, elements): the tuple, which a persistent value is yet to hold.
  ValueId storage_id(std::string_view module, std::string_view name, const std::string& key,
                     const std::string& location, std::uint64_t elements);
  /// The same for a storage of that dtype: of a typed class where there is one, else of bytes.
  ValueId storage_id(DType dtype, const std::string& key, const std::string& location, std::uint64_t nbytes);
  /// The call that makes a tensor of a persistent storage: torch._utils._rebuild_tensor_v2, or _v3 where the storage is
  /// not `typed` and does not say the dtype. What become_object() and make_object() take.
  std::array<ValueId, 2> rebuild(ValueId storage, const TensorInfo& info, bool typed);

  ValueId global(std::string_view module, std::string_view name);
  ValueId dtype(DType dtype) { return global("torch", dtype_name(dtype)); }
  ValueId text(std::string_view text);
  ValueId integers(std::span<const std::int64_t> numbers);
  /// OrderedDict with these keys and values in turn; without any, as it stands in the place of hooks.
  ValueId ordered_dict(std::span<const ValueId> pairs = {});
  /// Python keeps everything in the memo but numbers and the empty tuple.
  ValueId kept(ValueId id) {
    values_.set_memoized(id);
    return id;
  }

  /// Adds the names that were called for to a checkpoint's, those that it has not yet. All are known.
  void list_globals(std::vector<GlobalUse>& globals) const;

 private:
  ValueGraph& values_;
  std::map<std::pair<std::string, std::string>, ValueId> globals_;
  std::map<std::string, ValueId, std::less<>> texts_;
};

}  // namespace ckpt
