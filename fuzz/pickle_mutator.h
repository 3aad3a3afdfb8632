#pragma once

#include <optional>

#include "mutator.h"

namespace ckpt::fuzz {

/// Of bytes that begin with whole pickles, one of these changed by whole instructions, so that it stays one:
/// instructions left out, doubled, moved and brought in, operands changed and exchanged. None where no pickle is there.
std::optional<Bytes> mutated_pickle(const Bytes& bytes, unsigned seed, Mutate mutate);

}  // namespace ckpt::fuzz
