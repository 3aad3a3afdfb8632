#include "model/making_order.h"

namespace ckpt {
namespace {

/// A value whose operands are being made: its items (effect 0), then those of its effects.
struct Open {
  ValueId id = no_value;
  std::uint32_t effect = 0;
  std::size_t next = 0;
};

}  // namespace

std::optional<MakingOrder> making_order(const ValueGraph& values, ValueId root) {
  MakingOrder order;
  order.values.assign(values.size(), 0);
  std::vector<bool> begun(values.size(), false);
  std::vector<Open> open;
  Time now = 0;
  const auto begin = [&](ValueId id) {
    begun[id] = true;
    open.push_back({id});
  };
  begin(root);
  while (!open.empty()) {
    Open& at = open.back();
    const auto items = at.effect == 0 ? values.items(at.id) : values.items(values.effect(at.effect));
    if (at.next < items.size()) {
      const ValueId item = items[at.next++];
      if (begun[item] && order.values[item] == 0) return std::nullopt;
      if (!begun[item]) begin(item);
      continue;
    }
    if (at.effect == 0)
      order.values[at.id] = ++now;
    else
      order.effects[at.effect] = ++now;
    at.effect = at.effect == 0 ? values.first_effect(at.id) : values.effect(at.effect).next;
    at.next = 0;
    if (at.effect == 0)
      open.pop_back();
    else if (values.effect(at.effect).late)
      return std::nullopt;
  }
  return order;
}

}  // namespace ckpt
