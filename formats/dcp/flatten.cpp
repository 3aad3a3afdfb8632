#include "dcp/flatten.h"

#include <algorithm>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/glob.h"
#include "ckpt/limits.h"
#include "ckpt/state_dict.h"
#include "ckpt/utf8.h"
#include "io/keyed_hash.h"
#include "model/pair_lists.h"
#include "model/python_str.h"
#include "model/walk.h"
#include "named_tensors/losses.h"
#include "named_tensors/names.h"

namespace ckpt::dcp {
namespace {

class Flattener {
 public:
  explicit Flattener(const Checkpoint& checkpoint)
      : checkpoint_(checkpoint),
        values_(checkpoint.values),
        tensor_of_(values_.size(), 0),
        open_(values_.size(), false),
        budget_(checkpoint.file) {
    for (std::uint32_t i = 0; i < checkpoint.tensors.size(); ++i)
      if (!checkpoint.tensors[i].array) tensor_of_[checkpoint.tensors[i].value] = i + 1;  // numpy's are no tensors
    find_entered_lists();
  }

  FlatDict run() {
    if (!shows_all_pairs(values_, checkpoint_.root) || tensor(checkpoint_.root) != nullptr)
      throw Error(ErrorCode::unsupported, "the object is no dict")
          .expected("a state dict, as torch.distributed.checkpoint saves")
          .in(checkpoint_.file)
          .hint(tensor(checkpoint_.root) != nullptr       ? "in Python, of a dict: {'NAME': tensor}"
                : named_tensors::has_weights(checkpoint_) ? "--weights-only takes the state dict alone"
                                                          : "--root PATH takes a part of it");
    enter(checkpoint_.root, 0, "");
    while (!tasks_.empty()) {
      Task task = std::move(tasks_.back());
      tasks_.pop_back();
      if (task.leave) {
        open_[task.value] = false;
        continue;
      }
      visit(task);
    }
    refuse_holes();
    return std::move(flat_);
  }

 private:
  struct Task {
    ValueId value = no_value;
    std::uint32_t path = 0;
    std::string name;
    bool leave = false;  ///< all that it holds has been visited
  };

  const Tensor* tensor(ValueId id) const {
    return tensor_of_[id] == 0 ? nullptr : &checkpoint_.tensors[tensor_of_[id] - 1];
  }

  /// A list is entered for a tensor or a dict that it holds, itself or in a list that is.
  void find_entered_lists() {
    entered_.assign(values_.size(), false);
    std::vector<std::vector<ValueId>> within;  // lists that hold the list, where any do
    within.resize(values_.size());
    std::vector<ValueId> found;
    for (ValueId id = 0; id < values_.size(); ++id) {
      if (values_.kind(id) != ValueKind::list) continue;
      values_.each_operand(id, [&](ValueId item) {
        if (tensor(item) != nullptr || shows_all_pairs(values_, item)) {
          if (!entered_[id]) found.push_back(id);
          entered_[id] = true;
        } else if (values_.kind(item) == ValueKind::list) {
          within[item].push_back(id);
        }
      });
    }
    while (!found.empty()) {
      const ValueId id = found.back();
      found.pop_back();
      for (const ValueId around : within[id]) {
        if (!entered_[around]) found.push_back(around);
        entered_[around] = true;
      }
    }
  }

  void visit(const Task& task) {
    if (++steps_ > limits::walk_step_cap(values_.extent()))
      throw Error(ErrorCode::limit_exceeded, "shared containers multiply").in(checkpoint_.file);
    const bool container =
        tensor(task.value) == nullptr && (shows_all_pairs(values_, task.value) || entered_[task.value]);
    if (container) return enter(task.value, task.path, task.name);
    if (!names_.insert(task.name).second)
      throw Error(ErrorCode::invalid_argument, "two values would be called '" + task.name + "'")
          .expected("names that differ once they are joined by dots")
          .in(checkpoint_.file)
          .hint("convert's --root or --keep takes one of them, and --drop leaves both out");
    budget_.spend(task.name.size());
    flat_.leaves.push_back({task.name, task.path, task.value, tensor(task.value)});
  }

  void enter(ValueId id, std::uint32_t path, const std::string& name) {
    if (open_[id])
      throw Error(ErrorCode::unsupported, "'" + name + "' holds itself")
          .in(checkpoint_.file)
          .hint("--drop " + shell_value(escaped_glob(name)) + " leaves it out");
    open_[id] = true;
    tasks_.push_back({id, path, {}, true});
    const std::size_t first = tasks_.size();
    if (values_.kind(id) == ValueKind::list) {
      std::uint64_t place = 0;
      values_.each_operand(id, [&](ValueId item) {
        add(item, {path, true, place, {}}, name, std::to_string(place));
        ++place;
      });
    } else {
      const auto entries = mapping_entries(values_, id);
      budget_.spend_repeats(pair_count(values_, id), entries.size());
      flat_.has_empty_dicts = flat_.has_empty_dicts || entries.empty();
      flat_.has_other_mappings = flat_.has_other_mappings || values_.kind(id) != ValueKind::dict;
      NameSet keys;
      for (const MappingEntry& entry : entries) {
        const bool is_text = values_.is_string(entry.key);
        flat_.has_other_keys = flat_.has_other_keys || !is_text;
        std::string key = is_text ? std::string(values_.text(entry.key)) : python_str(values_, entry.key);
        if (!is_text)
          if (auto error = unprintable_key(key, name.empty() ? "a key" : "a key in '" + name + "'"))
            throw error->in(checkpoint_.file);
        const bool is_of_python3 = is_text && values_.kind(entry.key) != ValueKind::py2_str;
        if (!is_of_python3 && !is_utf8(key)) refuse_bytes(key);
        if (!keys.insert(key).second) refuse_keys(key);
        add(entry.value, {path, false, 0, key}, name, key);
      }
    }
    std::reverse(tasks_.begin() + static_cast<std::ptrdiff_t>(first), tasks_.end());
  }

  /// Of empty dicts nothing is written. In a list that is a place which others are counted from, and torch cannot load.
  void refuse_holes() const {
    std::vector<bool> leads_to_leaf(flat_.parts.size() + 1);
    for (const Leaf& leaf : flat_.leaves)
      for (std::uint32_t at = leaf.path; at != 0 && !leads_to_leaf[at]; at = flat_.parts[at - 1].parent)
        leads_to_leaf[at] = true;
    for (std::uint32_t at = 1; at <= flat_.parts.size(); ++at) {
      if (!flat_.parts[at - 1].is_place || leads_to_leaf[at]) continue;
      std::string name;
      for (const PathPart* const part : flat_.path(at))
        name += (name.empty() ? "" : ".") + (part->is_place ? std::to_string(part->place) : part->key);
      throw Error(ErrorCode::unsupported,
                  "'" + name + "' is an empty dict in a list, of which nothing would be written")
          .expected("one that holds something")
          .in(checkpoint_.file)
          .hint(named_tensors::drop_hint(checkpoint_, name));
    }
  }

  [[noreturn]] void refuse_keys(const std::string& key) const {
    throw Error(ErrorCode::invalid_argument, "two keys would be '" + key + "'")
        .expected("keys that differ as strings, which is what they become")
        .in(checkpoint_.file);
  }

  [[noreturn]] void refuse_bytes(const std::string& key) const {
    throw Error(ErrorCode::unsupported, "the key '" + key + "' is not UTF-8")
        .expected("text, as Python's str is")
        .in(checkpoint_.file)
        .hint("--format torch can say it");
  }

  void add(ValueId value, PathPart part, const std::string& name, const std::string& last) {
    std::string full = part.parent == 0 ? last : name + "." + last;
    budget_.spend(full.size());
    flat_.parts.push_back(std::move(part));
    tasks_.push_back({value, static_cast<std::uint32_t>(flat_.parts.size()), std::move(full), false});
  }

  const Checkpoint& checkpoint_;
  const ValueGraph& values_;
  std::vector<std::uint32_t> tensor_of_;  ///< index and one, by value
  std::vector<bool> entered_;             ///< lists that are no leaves
  std::vector<bool> open_;                ///< containers that the walk is in
  std::vector<Task> tasks_;               ///< last first
  NameSet names_;
  NameBudget budget_;
  std::uint64_t steps_ = 0;
  FlatDict flat_;
};

}  // namespace

std::vector<const PathPart*> FlatDict::path(std::uint32_t last) const {
  std::vector<const PathPart*> found;
  for (std::uint32_t at = last; at != 0; at = parts[at - 1].parent) found.push_back(&parts[at - 1]);
  std::reverse(found.begin(), found.end());
  return found;
}

FlatDict flatten(const Checkpoint& checkpoint) { return Flattener(checkpoint).run(); }

}  // namespace ckpt::dcp
