#include <algorithm>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/modules.h"
#include "ops/prune.h"
#include "ops/whole_module.h"

namespace ckpt {

std::string weights_only_options(const Checkpoint& checkpoint, const Parts& parts) {
  if (has_no_state(checkpoint)) return {};
  std::vector<bool> held(checkpoint.values.size());
  const auto is_held = [&](const Tensor& tensor) { return held[tensor.value]; };
  constexpr std::size_t most_tried = 64;  // each takes a look at all tensors
  for (std::size_t i = 0; i < std::min(parts.modules.size(), most_tried); ++i) {
    const Module& module = parts.modules[i];
    mark_held(checkpoint.values, module.value, {}, held);
    if (std::none_of(checkpoint.tensors.begin(), checkpoint.tensors.end(), is_held)) continue;
    const bool is_alone = parts.modules.size() == 1 && parts.state_dicts.empty() && parts.mixed.empty();
    return (is_alone || module.path.empty() ? "" : "--root " + shell_value(module.path) + " ") + "--weights-only";
  }
  return {};
}

}  // namespace ckpt
