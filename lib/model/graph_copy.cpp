#include "model/graph_copy.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "ckpt/error.h"

namespace ckpt {

ValueId copy_value(const ValueGraph& from, ValueId id, ValueGraph& to, std::span<const ValueId> moved) {
  const auto operands = [&] {
    std::vector<ValueId> items;
    items.reserve(from.items(id).size());
    for (const ValueId item : from.items(id)) items.push_back(moved[item]);
    return items;
  };
  switch (from.kind(id)) {
    case ValueKind::none:
      return to.make_none();
    case ValueKind::boolean:
      return to.make_boolean(from.boolean(id));
    case ValueKind::integer:
      return to.make_integer(from.integer(id));
    case ValueKind::big_integer:
      return to.make_big_integer(from.text(id));
    case ValueKind::real:
      return to.make_real(from.real(id));
    case ValueKind::str:
    case ValueKind::bytes:
    case ValueKind::bytearray:
    case ValueKind::py2_str:
      if (const ByteSourcePtr far = from.far_text(id)) return to.make_far_text(from.kind(id), far);
      return to.make_text(from.kind(id), from.text(id));
    case ValueKind::global: {
      const ValueId global = to.make_global(from.module(id), from.name(id));
      if (!from.items(id).empty()) to.set_items(global, operands());
      return global;
    }
    case ValueKind::extension:
      return to.make_extension(from.integer(id));
    case ValueKind::persistent:
      return to.make_persistent(moved[from.items(id)[0]]);
    case ValueKind::object:
      return to.make_object(from.call(id), operands());
    default:
      return to.make_container(from.kind(id), operands());
  }
}

GraphCopy::GraphCopy(const ValueGraph& from) : from_(from), moved_(from.size(), no_value) {}

void GraphCopy::reach(ValueId root, std::span<const ValueId> more) {
  for (const ValueId id : reached_) moved_[id] = no_value;
  reached_.clear();
  const auto add = [&](ValueId id) {
    if (moved_[id] != no_value) return;
    moved_[id] = id;
    reached_.push_back(id);
  };
  add(root);
  for (const ValueId id : more) add(id);
  for (std::size_t i = 0; i < reached_.size(); ++i) from_.each_operand(reached_[i], add);
  std::sort(reached_.begin(), reached_.end());
}

Time GraphCopy::later(Time time, Time base) {
  if (time == 0) return 0;
  if (time > std::numeric_limits<Time>::max() - base)
    throw Error(ErrorCode::limit_exceeded, "the pickles have more steps than can be counted");
  latest_ = std::max(latest_, time + base);
  return time + base;
}

ValueId GraphCopy::below(ValueId root, ValueGraph& to, Time base, std::span<const ValueId> more) {
  reach(root, more);
  latest_ = base;
  auto next = static_cast<ValueId>(to.size());
  for (const ValueId id : reached_) moved_[id] = next++;
  std::vector<std::pair<std::uint32_t, ValueId>> effects;
  for (const ValueId id : reached_) {
    const ValueId copy = copy_value(from_, id, to, moved_);
    to.set_form(copy, from_.form(id));
    to.set_made(copy, later(from_.made(id), base));
    if (from_.memoized(id)) to.set_memoized(copy);
    for (auto handle = from_.first_effect(id); handle != 0; handle = from_.effect(handle).next)
      effects.emplace_back(handle, copy);
  }
  std::sort(effects.begin(), effects.end());
  std::vector<ValueId> items;
  for (const auto& [handle, target] : effects) {
    const Effect& effect = from_.effect(handle);
    items.clear();
    for (const ValueId item : from_.items(effect)) items.push_back(moved_[item]);
    to.add_effect(target, effect.kind, items, effect.form, later(effect.time, base), effect.late);
  }
  return moved_[root];
}

}  // namespace ckpt
