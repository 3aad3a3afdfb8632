#include "ops/attached_entries.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "model/calls.h"
#include "model/pair_lists.h"

namespace ckpt {
namespace {

class Search {
 public:
  Search(const ValueGraph& values, const std::vector<EntryWalk::Entry>& entries, std::vector<bool> goes)
      : values_(values), entries_(entries), goes_(std::move(goes)), reached_(values.size()) {
    for (std::size_t i = 0; i < entries.size(); ++i) by_holder_[entries[i].holder].push_back(i);
  }

  std::vector<std::size_t> run(ValueId root) {
    reach(root);
    while (!open_.empty()) {
      const ValueId id = open_.back();
      open_.pop_back();
      visit(id);
    }
    std::sort(attached_.begin(), attached_.end());
    return std::move(attached_);
  }

 private:
  void reach(ValueId id) {
    if (!reached_[id]) open_.push_back(id);
    reached_[id] = true;
  }

  void visit(ValueId id) {
    const auto entries = by_holder_.find(id);
    if (entries == by_holder_.end()) {
      values_.each_operand(id, [&](ValueId item) { reach(item); });
    } else {
      for (const std::size_t entry : entries->second)
        if (!goes_[entry]) reach_entry(entry);
      if (const ValueId given = given_pairs(values_, id); given != no_value) reached_[given] = true;  // by its entries
      if (values_.kind(id) == ValueKind::object)
        for (const ValueId item : values_.items(id)) reach(item);
    }
    if (values_.kind(id) == ValueKind::object)
      each_attached(values_, id, [&](ValueId part) {
        reach(part);
        attach(part);
      });
  }

  void attach(ValueId mapping) {
    const auto entries = by_holder_.find(mapping);
    if (entries == by_holder_.end()) return;
    for (const std::size_t entry : entries->second) {
      if (!goes_[entry]) continue;
      goes_[entry] = false;
      attached_.push_back(entry);
      reach_entry(entry);
    }
  }

  void reach_entry(std::size_t entry) {
    reach(entries_[entry].pair.key);
    reach(entries_[entry].pair.value);
  }

  const ValueGraph& values_;
  const std::vector<EntryWalk::Entry>& entries_;
  std::vector<bool> goes_;
  std::vector<bool> reached_;
  std::unordered_map<ValueId, std::vector<std::size_t>> by_holder_;
  std::vector<ValueId> open_;
  std::vector<std::size_t> attached_;
};

}  // namespace

std::vector<std::size_t> attached_entries(const Checkpoint& checkpoint, const std::vector<EntryWalk::Entry>& entries,
                                          std::vector<bool> goes) {
  if (checkpoint.root == no_value) return {};
  return Search(checkpoint.values, entries, std::move(goes)).run(checkpoint.root);
}

}  // namespace ckpt
