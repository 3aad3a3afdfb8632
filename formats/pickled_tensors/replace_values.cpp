#include "pickled_tensors/replace_values.h"

#include "model/replace_operands.h"

namespace ckpt::torch {
namespace {

ValueId replaced(const std::unordered_map<ValueId, ValueId>& by, ValueId id) {
  const auto found = by.find(id);
  return found == by.end() ? id : found->second;
}

}  // namespace

void replace_values(ValueGraph& values, const std::unordered_map<ValueId, ValueId>& by) {
  if (by.empty()) return;
  const auto count = static_cast<ValueId>(values.size());
  for (ValueId id = 0; id < count; ++id)
    replace_operands(values, id, [&](ValueId operand) { return replaced(by, operand); });
}

void replace_values(Checkpoint& checkpoint, const std::unordered_map<ValueId, ValueId>& by) {
  replace_values(checkpoint.values, by);
  checkpoint.root = replaced(by, checkpoint.root);
  for (ValueId& id : checkpoint.discarded) id = replaced(by, id);
}

}  // namespace ckpt::torch
