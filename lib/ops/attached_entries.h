#pragma once

#include <cstddef>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ops/entry_walk.h"

namespace ckpt {

/// Of the entries that go, those of a mapping that an object which stays has been given: its attributes
/// (`vars(args)` beside `args`), or what it was made of. Without them it would be another object. `goes` is by place in
/// `entries`; what is returned is taken to stay, ascending.
std::vector<std::size_t> attached_entries(const Checkpoint& checkpoint, const std::vector<EntryWalk::Entry>& entries,
                                          std::vector<bool> goes);

}  // namespace ckpt
