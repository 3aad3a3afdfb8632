#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/diff.h"

namespace ckpt {

/// A name that only one file has, and what its tensor is: equal for equal tensors.
struct Candidate {
  std::string name;
  std::string content;
};

/// Which name of the one is which of the other: names of equal content, first those that the change of prefix explains
/// which explains most, then in order. Indices into both lists; each is used once at most.
std::vector<std::pair<std::size_t, std::size_t>> match_renames(const std::vector<Candidate>& a,
                                                               const std::vector<Candidate>& b);

/// Names of more bytes are passed over where a change of prefix is looked for: a model gives far shorter ones.
inline constexpr std::size_t longest_renamed = 4096;

/// What two names differ in before the parts, from dot to dot, that both end in.
RenamedPrefix prefix_change(std::string_view a, std::string_view b);

/// The one change of prefix that makes each first name of the pairs the second; none where there is no such.
std::optional<RenamedPrefix> common_change(const std::vector<RenamedTensor>& renamed);

}  // namespace ckpt
