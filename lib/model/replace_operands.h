#pragma once

#include <cstddef>

#include "ckpt/value.h"

namespace ckpt {

/// Puts in the place of each operand of a value, in its items and its effects, what `by` says of it.
template <class By>
void replace_operands(ValueGraph& values, ValueId id, const By& by) {
  for (std::size_t i = 0; i < values.items(id).size(); ++i) values.set_item(id, i, by(values.items(id)[i]));
  for (auto handle = values.first_effect(id); handle != 0; handle = values.effect(handle).next)
    for (std::size_t i = 0; i < values.effect(handle).count; ++i)
      values.set_effect_item(handle, i, by(values.items(values.effect(handle))[i]));
}

}  // namespace ckpt
