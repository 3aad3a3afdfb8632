#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "ckpt/value.h"

namespace ckpt {

/// Of a text that is copied or compared for each thing that it names, so many bytes count as a step.
constexpr std::uint64_t bytes_a_step = 64;

/// Bytes of names that a walk may copy: a few bytes of a file say a long name again and again.
class NameBudget {
 public:
  explicit NameBudget(std::string file, std::uint64_t most = limits::walked_name_bytes)
      : file_(std::move(file)), most_(most), left_(most) {}
  /// Throws Error (limit_exceeded), naming the file.
  void spend(std::uint64_t bytes) {
    if (bytes > left_)
      throw Error(ErrorCode::limit_exceeded, "the names in the file take more than " + std::to_string(most_) + " bytes")
          .in(file_);
    left_ -= bytes;
  }
  /// For the pairs of a mapping whose keys come again: each costs as much to look at as a name of some bytes.
  void spend_repeats(std::uint64_t pairs, std::size_t entries) {
    constexpr std::uint64_t bytes_a_pair = 8;
    if (pairs > entries) spend(bytes_a_pair * (pairs - entries));
  }

 private:
  std::string file_;
  std::uint64_t most_, left_;
};

/// Values under their parts of a path. A container may have tens of thousands: the parts stand in one text.
class NamedChildren {
 public:
  void add(std::string_view part, ValueId value, NameBudget& budget) {
    budget.spend(part.size());
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
/// positions of a sequence or a set, attributes by name, arguments of an unknown call by position.
NamedChildren named_children(const ValueGraph& values, ValueId id, NameBudget& budget);

/// The mappings of attributes in the state given to BUILD: a dict, or (dict or None, dict of slots), as copyreg's
/// protocol has it. None where it is anything else.
std::vector<ValueId> state_mappings(const ValueGraph& values, ValueId state);

/// What APPEND(S) put into a value after it was made.
std::vector<ValueId> appended_to(const ValueGraph& values, ValueId id);

/// For each value, whether one of `held` can be reached from it: a search backward from those, linear in the graph.
std::vector<bool> values_holding(const ValueGraph& values, const std::vector<ValueId>& held);
/// The same of the checkpoint's tensors.
std::vector<bool> values_holding_tensors(const Checkpoint& checkpoint);

/// What tensor_names() may come to. Tests give smaller ones.
struct NameCaps {
  std::uint64_t names = limits::tensor_names;
  std::uint64_t names_a_tensor = limits::names_a_tensor;
  std::uint64_t name_bytes = limits::tensor_name_bytes;
  std::uint64_t part_bytes = limits::walked_name_bytes;
  std::uint64_t steps = limits::walk_steps;
  std::uint64_t steps_a_value = limits::walk_steps_a_value;
};
std::vector<NamedTensor> tensor_names_within(const Checkpoint& checkpoint, std::vector<std::string>* warnings,
                                             const NameCaps& caps);

}  // namespace ckpt
