#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "model/path_walk.h"
#include "model/position_index.h"
#include "model/rooted.h"
#include "model/walk.h"

namespace ckpt {

std::vector<bool> values_holding(const ValueGraph& values, const std::vector<ValueId>& held) {
  std::vector<std::uint32_t> first(values.size() + 1, 0);
  const auto each_edge = [&](auto&& use) {
    for (ValueId id = 0; id < values.size(); ++id) values.each_operand(id, [&](ValueId item) { use(id, item); });
  };
  each_edge([&](ValueId, ValueId item) { ++first[item]; });
  // Where the holders of each end, and once they are filled in from there, where they begin.
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  std::vector<ValueId> holders(first.back());
  each_edge([&](ValueId id, ValueId item) { holders[--first[item]] = id; });

  std::vector<bool> holds(values.size(), false);
  std::vector<ValueId> open;
  const auto mark = [&](ValueId id) {
    if (!holds[id]) open.push_back(id);
    holds[id] = true;
  };
  for (const ValueId id : held) mark(id);
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    for (std::uint32_t i = first[id]; i < first[id + 1]; ++i) mark(holders[i]);
  }
  return holds;
}

std::vector<bool> values_holding_tensors(const Checkpoint& checkpoint) {
  std::vector<ValueId> tensors;
  for (const Tensor& tensor : checkpoint.tensors) tensors.push_back(tensor.value);
  return values_holding(checkpoint.values, tensors);
}

namespace {

class NameWalk {
 public:
  NameWalk(const Checkpoint& checkpoint, std::vector<std::string>* warnings, const NameCaps& caps)
      : checkpoint_(checkpoint),
        warnings_(warnings),
        caps_(caps),
        parts_(checkpoint.file, caps.part_bytes),
        holds_(values_holding_tensors(checkpoint)),
        walk_(checkpoint.values.size()),
        tensor_of_(checkpoint.values.size(), no_tensor) {
    for (std::uint32_t i = 0; i < checkpoint.tensors.size(); ++i) tensor_of_[checkpoint.tensors[i].value] = i;
    names_.reserve(checkpoint.tensors.size());
    places_.reserve(checkpoint.tensors.size());
  }

  std::vector<NamedTensor> walk() {
    if (checkpoint_.root != no_value) walk_.run(checkpoint_.root, [&](ValueId id) { visit(id); });
    return std::move(names_);
  }

 private:
  void visit(ValueId id);
  void add_name(const Tensor& tensor);

  const Checkpoint& checkpoint_;
  std::vector<std::string>* warnings_;
  NameCaps caps_;
  NameBudget parts_;
  std::vector<bool> holds_;
  PathWalk walk_;
  static constexpr std::uint32_t no_tensor = 0xFFFFFFFF;
  std::vector<std::uint32_t> tensor_of_;  ///< by value: index into the checkpoint's tensors
  std::vector<NamedTensor> names_;
  PositionIndex places_;                                      ///< of names_, but for repeated ones
  std::unordered_map<std::uint32_t, std::uint32_t> repeats_;  ///< how often a name at a place has come
  std::uint64_t steps_ = 0, name_bytes_ = 0;
};

void NameWalk::add_name(const Tensor& tensor) {
  const auto next = static_cast<std::uint32_t>(names_.size());
  const std::string& path = walk_.path();
  const std::uint32_t first =
      places_.add(hash_of(path), next, [&](std::uint32_t other) { return names_[other].name == path; });
  names_.push_back({path, &tensor});
  if (first != next) {
    std::uint32_t& count = repeats_.try_emplace(first, 1).first->second;
    std::uint32_t holder = PositionIndex::nowhere;
    while (holder != next) {  // a key may be spelt like a name that was made up for another
      const std::string name = path + "#" + std::to_string(++count);
      holder = places_.add(hash_of(name), next, [&](std::uint32_t other) { return names_[other].name == name; });
      names_.back().name = name;
    }
    name_bytes_ += path.size() + names_.back().name.size();  // the warning's
    if (warnings_ != nullptr)
      warnings_->push_back("two tensors are named '" + path + "'; one is shown as '" + names_.back().name + "'");
  }
  const std::uint64_t most = caps_.names + caps_.names_a_tensor * checkpoint_.tensors.size();
  if (names_.size() > most)
    throw Error(ErrorCode::limit_exceeded, "the file gives more than " + std::to_string(most) + " tensor names")
        .in(checkpoint_.file);
  name_bytes_ += names_.back().name.size();
  if (name_bytes_ > caps_.name_bytes)
    throw Error(ErrorCode::limit_exceeded,
                "the tensors' names take more than " + std::to_string(caps_.name_bytes) + " bytes")
        .in(checkpoint_.file);
}

void NameWalk::visit(ValueId id) {
  const std::uint64_t most = caps_.steps + caps_.steps_a_value * checkpoint_.values.extent();
  if (++steps_ > most)
    throw Error(ErrorCode::limit_exceeded,
                "containers of the file hold each other more than " + std::to_string(most) + " times over")
        .in(checkpoint_.file);
  if (tensor_of_[id] != no_tensor) return add_name(checkpoint_.tensors[tensor_of_[id]]);
  if (holds_[id] && !walk_.is_within(id)) walk_.enter(id, named_children(checkpoint_.values, id, parts_));
}

}  // namespace

std::vector<NamedTensor> tensor_names_within(const Checkpoint& checkpoint, std::vector<std::string>* warnings,
                                             const NameCaps& caps) {
  check_root(checkpoint);
  return NameWalk(checkpoint, warnings, caps).walk();
}

std::vector<NamedTensor> tensor_names(const Checkpoint& checkpoint, std::vector<std::string>* warnings) {
  return tensor_names_within(checkpoint, warnings, {});
}

std::size_t count_tensors(const Checkpoint& checkpoint) {
  std::vector<bool> named(checkpoint.tensors.size());
  for (const NamedTensor& each : tensor_names(checkpoint))
    named[static_cast<std::size_t>(each.tensor - checkpoint.tensors.data())] = true;
  return static_cast<std::size_t>(std::count(named.begin(), named.end(), true));
}

}  // namespace ckpt
