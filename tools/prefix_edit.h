#pragma once

#include <string>
#include <vector>

#include "ckpt/checkpoint.h"
#include "console/command.h"

namespace ckpt::tools {

/// Throws Error (invalid_argument) for a prefix that cannot be one, and warns of one that leaves keys with a leading
/// dot.
void check_prefixes(const std::vector<std::string>& prefixes, const std::string& option);

/// Takes each prefix in turn from the keys of every state dict; adds to `done` what was done, and notes (unless
/// `quiet`) keys that stayed as they were.
Checkpoint strip_prefixes(Checkpoint checkpoint, const std::vector<std::string>& prefixes,
                          std::vector<std::string>& done, bool quiet);

/// Puts each prefix in turn before the keys of every state dict: the last one ends up first.
Checkpoint add_prefixes(Checkpoint checkpoint, const std::vector<std::string>& prefixes, std::vector<std::string>& done,
                        bool quiet);

/// strip_prefixes or add_prefixes.
using PrefixEdit = Checkpoint (*)(Checkpoint checkpoint, const std::vector<std::string>& prefixes,
                                  std::vector<std::string>& done, bool quiet);

/// A command that does one such edit from IN to OUT: its options (--prefix, explained by `help`, and those of writing)
/// and its runner.
Runner define_prefix_edit(Arguments& arguments, const std::string& command, PrefixEdit edit, const std::string& help);

}  // namespace ckpt::tools
