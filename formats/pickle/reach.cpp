#include "pickle/reach.h"

namespace ckpt::pickle {

std::vector<std::uint32_t> count_uses(const ValueGraph& graph, const std::vector<ValueId>& roots) {
  std::vector<std::uint32_t> uses(graph.size(), 0);
  std::vector<ValueId> open;
  const auto use = [&](ValueId id) {
    if (uses[id]++ == 0) open.push_back(id);
  };
  for (const ValueId root : roots) use(root);
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    for (const ValueId item : graph.items(id)) use(item);
    for (auto handle = graph.first_effect(id); handle != 0; handle = graph.effect(handle).next)
      for (const ValueId item : graph.items(graph.effect(handle))) use(item);
  }
  return uses;
}

}  // namespace ckpt::pickle
