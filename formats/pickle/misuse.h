#pragma once

#include <cstddef>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/value.h"

namespace ckpt::pickle {

/// A name, and what the way in which it is used makes of it.
struct Misuse {
  ValueId name = no_value;
  Verdict verdict{};
};

/// The callables among the values from `first` on, known names all, of which some call or state is none that a pickler
/// writes: dangerous where it may reach memory or another call (see call_policy.h and numpy_states.h), else unknown,
/// since nobody has looked at what comes of it (see call_forms.h). A name may come more than once.
std::vector<Misuse> misused_names(const ValueGraph& values, std::size_t first);

}  // namespace ckpt::pickle
