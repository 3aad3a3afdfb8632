#pragma once

#include "ckpt/checkpoint.h"

namespace ckpt {

/// Makes values from `first` on, which a pickle of protocol `from` names, what one of protocol `to` names: one of below
/// 3 has Python 2's names. Nothing where `to` is no higher.
void raise_protocol(ValueGraph& values, int from, int to, ValueId first = 0);
void raise_protocol(GlobalUse& global, int from, int to);

}  // namespace ckpt
