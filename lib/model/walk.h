#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/limits.h"
#include "ckpt/value.h"

namespace ckpt {

/// The values a Python program would find in a value, each with its part of a path: entries of a mapping by key,
/// positions of a sequence, attributes by name, arguments of an unknown call by position.
std::vector<std::pair<std::string, ValueId>> named_children(const ValueGraph& values, ValueId id);

/// What tensor_names() may come to. Tests give smaller ones.
struct NameCaps {
  std::uint64_t names = limits::tensor_names;
  std::uint64_t names_a_tensor = limits::names_a_tensor;
  std::uint64_t name_bytes = limits::tensor_name_bytes;
  std::uint64_t steps = limits::walk_steps;
};
std::vector<NamedTensor> tensor_names_within(const Checkpoint& checkpoint, std::vector<std::string>* warnings,
                                             const NameCaps& caps);

}  // namespace ckpt
