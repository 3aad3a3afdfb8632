#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/limits.h"
#include "ckpt/value.h"

namespace ckpt {

/// Values under their parts of a path. A container may have tens of thousands: the parts stand in one text.
class NamedChildren {
 public:
  void add(std::string_view part, ValueId value) {
    text_ += part;
    children_.push_back({text_.size(), value});
  }
  [[nodiscard]] std::size_t size() const { return children_.size(); }
  [[nodiscard]] std::string_view part(std::size_t index) const {
    const std::size_t begin = index == 0 ? 0 : children_[index - 1].end;
    return std::string_view(text_).substr(begin, children_[index].end - begin);
  }
  [[nodiscard]] ValueId value(std::size_t index) const { return children_[index].value; }

 private:
  struct Child {
    std::size_t end;  ///< of its part in text_
    ValueId value;
  };
  std::string text_;
  std::vector<Child> children_;
};

/// The values a Python program would find in a value, each with its part of a path: entries of a mapping by key,
/// positions of a sequence, attributes by name, arguments of an unknown call by position.
NamedChildren named_children(const ValueGraph& values, ValueId id);

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
