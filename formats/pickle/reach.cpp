#include "pickle/reach.h"

#include <algorithm>

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
    graph.each_operand(id, use);
  }
  return uses;
}

namespace {

/// A value whose operands are being walked: its items (effect 0), then those of its effects.
struct Walk {
  explicit Walk(ValueId value) : id(value) {}

  /// The next operand; no_value at the end.
  ValueId next(const ValueGraph& graph) {
    while (!ended) {
      const auto items = effect == 0 ? graph.items(id) : graph.items(graph.effect(effect));
      if (at < items.size()) return items[at++];
      effect = effect == 0 ? graph.first_effect(id) : graph.effect(effect).next;
      ended = effect == 0;
      at = 0;
    }
    return no_value;
  }

  ValueId id;
  std::uint32_t effect = 0;
  std::size_t at = 0;
  bool ended = false;
};

}  // namespace

// Tarjan's strongly connected components: a component of more than one value, or of one that is its own operand.
std::vector<bool> find_cyclic(const ValueGraph& graph, const std::vector<ValueId>& roots) {
  constexpr std::uint32_t closed = 0xFFFFFFFF;  // its component is complete
  std::vector<bool> cyclic(graph.size());
  std::vector<std::uint32_t> lowest(graph.size(), 0);  // 0: not seen; else the lowest number it reaches
  std::vector<Walk> path;
  std::vector<ValueId> component;
  std::vector<std::uint32_t> numbers;  // of the values on `path`
  std::uint32_t seen = 0;
  const auto enter = [&](ValueId id) {
    lowest[id] = ++seen;
    numbers.push_back(seen);
    path.emplace_back(id);
    component.push_back(id);
  };
  const auto leave = [&] {
    const ValueId id = path.back().id;
    const bool is_first = lowest[id] == numbers.back();
    path.pop_back();
    numbers.pop_back();
    if (!path.empty()) lowest[path.back().id] = std::min(lowest[path.back().id], lowest[id]);
    if (!is_first) return;
    const bool alone = component.back() == id;
    for (bool more = true; more;) {
      const ValueId member = component.back();
      component.pop_back();
      lowest[member] = closed;
      if (!alone) cyclic[member] = true;
      more = member != id;
    }
  };
  for (const ValueId root : roots) {
    if (lowest[root] == 0) enter(root);
    while (!path.empty()) {
      const ValueId id = path.back().id;
      const ValueId operand = path.back().next(graph);
      if (operand == no_value) {
        leave();
      } else if (lowest[operand] == 0) {
        enter(operand);
      } else if (lowest[operand] != closed) {
        if (operand == id) cyclic[id] = true;
        lowest[id] = std::min(lowest[id], lowest[operand]);
      }
    }
  }
  return cyclic;
}

}  // namespace ckpt::pickle
