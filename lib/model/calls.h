#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include "ckpt/value.h"

namespace ckpt {

/// Module and name of what an object calls; empty where that is no global.
std::pair<std::string_view, std::string_view> callable(const ValueGraph& values, ValueId object);

/// What an object's call is given, whatever opcode makes it; empty where that is no tuple.
std::span<const ValueId> call_arguments(const ValueGraph& values, ValueId object);

/// What an object is made of or has for its attributes: whatever is taken from that is taken from the object. The
/// arguments of its call, but for what a mapping has its first pairs from (given_pairs()), what BUILD gives it, and of
/// a tuple of that both parts.
void each_attached(const ValueGraph& values, ValueId object, const std::function<void(ValueId)>& use);

/// The list of members that a call of set or frozenset is given, which is how sets are written before protocol 4;
/// no_value where the object is none.
ValueId members_of_set_call(const ValueGraph& values, ValueId object);

/// Which of torch._utils' calls are given a tensor of the CPU, or a numpy array, and a device to put it on.
bool puts_on_device(std::string_view name);

/// What a call of torch.jit's restore_type_tag is given, which is what that returns; else the value itself.
ValueId without_type_tag(const ValueGraph& values, ValueId id);

/// torch's (function, class, arguments, state): a tensor of a class of its own, or with attributes, around what the
/// function makes. PyTorch 1.7 to 1.11 had the first form, in torch.tensor before it was torch._tensor.
inline bool is_rebuild_from_type(std::string_view module, std::string_view name) {
  if (module == "torch.tensor") return name == "_rebuild_from_type";
  return module == "torch._tensor" && (name == "_rebuild_from_type_v2" || name == "_rebuild_from_type");
}

}  // namespace ckpt
