#pragma once

#include <optional>
#include <string_view>

#include "ckpt/value.h"

namespace ckpt::torch {

/// Protocol 0 has only text for a persistent id, so Python writes the str() of torch's tuple:
/// "('storage', <class 'torch.FloatStorage'>, '0', 'cpu', 4)". PyTorch cannot read that back; this can.
/// Returns a tuple that says the same, in `values`; none where the text is something else.
std::optional<ValueId> parse_text_id(ValueGraph& values, std::string_view text);

}  // namespace ckpt::torch
