#include "bridge/state_entries.h"

#include "ckpt/ops.h"
#include "ckpt/state_dict.h"

namespace ckpt::eval {

std::vector<StateEntry> state_entries(const Checkpoint& checkpoint, const TensorsByValue& tensors,
                                      std::string_view root) {
  std::vector<StateEntry> entries;
  const StateDict dict = find_state_dict(checkpoint, root);
  for (const MappingEntry& entry : mapping_entries(checkpoint.values, dict.value))
    if (const auto found = tensors.find(entry.value); found != tensors.end())
      entries.push_back({checkpoint.values.text(entry.key), found->second});
  return entries;
}

}  // namespace ckpt::eval
