#include "ops/other_values.h"

#include <algorithm>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "io/keyed_hash.h"
#include "model/walk.h"
#include "ops/dense_tensor.h"
#include "ops/prune.h"

namespace ckpt {
namespace {

using Family = ValueView::Family;

bool same_matches(const std::vector<ViewChild>& a, const std::vector<ViewChild>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ViewChild& x, const ViewChild& y) { return x.match == y.match; });
}

/// True for what is compared faster than it is remembered that it was.
bool is_leaf(const ValueGraph& values, ValueId id) {
  constexpr std::size_t long_text = 64;
  switch (values.kind(id)) {
    case ValueKind::str:
    case ValueKind::py2_str:
    case ValueKind::bytes:
    case ValueKind::bytearray:
    case ValueKind::big_integer:
      return values.text(id).size() < long_text;
    case ValueKind::list:
    case ValueKind::tuple:
    case ValueKind::dict:
    case ValueKind::set:
    case ValueKind::frozenset:
    case ValueKind::persistent:
    case ValueKind::object:
      return false;
    default:
      return true;
  }
}

bool same_atom(const ValueView& a, const ValueView& b) {
  if (a.type != b.type) return false;
  // An older protocol's call for bytes is an atom of its own making, a newer one's literal the graph's.
  return (a.text.empty() ? a.atom : a.text) == (b.text.empty() ? b.atom : b.text);
}

std::uint64_t pair_of(ValueId a, ValueId b) { return std::uint64_t{a} << 32 | b; }

/// Calls that are thrown away and may have changed something that the root holds.
std::vector<ValueId> dropped_calls(const Checkpoint& checkpoint) {
  std::vector<bool> held(checkpoint.values.size());
  return mark_held(checkpoint.values, checkpoint.root, checkpoint.discarded, held);
}

const char* truth(bool value) { return value ? "True" : "False"; }

}  // namespace

OtherValues::OtherValues(const Checkpoint& a, const Checkpoint& b, std::unordered_set<ValueId> named_a,
                         std::unordered_set<ValueId> named_b, const NameViewSet& common, CheckpointDiff& found)
    : a_(a),
      b_(b),
      views_a_(a),
      views_b_(b),
      named_a_(std::move(named_a)),
      named_b_(std::move(named_b)),
      common_(common),
      found_(found) {}

void OtherValues::add_match(ValueId a, ValueId b) { matches_.insert(pair_of(a, b)); }

void OtherValues::compare_roots() {
  if (a_.root == no_value || b_.root == no_value) return;
  path_.clear();
  visit(a_.root, b_.root);
  run();
  compare_dropped();
}

/// What sets an object's state where its class says how is a call that is thrown away, and no part of the root.
void OtherValues::compare_dropped() {
  if (a_.discarded.empty() && b_.discarded.empty()) return;
  path_ = "(thrown away)";
  open_elements(dropped_calls(a_), dropped_calls(b_));
  run();
}

void OtherValues::compare_facts(const std::string& name, ValueId a, ValueId b, Facts facts) {
  const auto [known, fresh] = told_.try_emplace(pair_of(a, b));
  Told& told = known->second;
  if (!fresh) return note_again(told, name);
  told = {part_name(name, "").size(), found_.other.size(), 0};
  TensorFacts facts_a = tensor_facts(views_a_, a_, a), facts_b = tensor_facts(views_b_, b_, b);
  count_steps(facts_a.children.size() + facts_b.children.size() + 1);
  path_ = name;
  if (facts == Facts::quantizer) {
    const auto is_other = [](const ViewChild& child) { return child.label != "quantizer"; };
    std::erase_if(facts_a.children, is_other);
    std::erase_if(facts_b.children, is_other);
  } else if (facts == Facts::all) {
    if (facts_a.type != facts_b.type) note(below("type"), facts_a.type, facts_b.type);
    if (facts_a.requires_grad != facts_b.requires_grad)
      note(below("requires_grad"), truth(facts_a.requires_grad), truth(facts_b.requires_grad));
  }
  open(facts_a.children, facts_b.children, false);
  run();
  told.end = found_.other.size();
}

void OtherValues::note_again(const Told& told, const std::string& name) {
  count_steps(told.end - told.first + 1);
  for (std::size_t i = told.first; i < told.end; ++i) {
    const OtherDifference& found = found_.other[i];
    note(part_name(name, found.path.substr(told.prefix)), found.a, found.b);
  }
}

std::string OtherValues::below(const std::string& label) const { return part_name(path_, label); }

void OtherValues::run() {
  while (!open_.empty()) {
    Open& top = open_.back();
    path_.resize(top.path_size);
    const std::size_t next = top.next++;
    if (!path_.empty()) path_ += '.';
    if (next < top.pairs.size()) {
      path_ += top.pairs[next].label;
      visit(top.pairs[next].a, top.pairs[next].b);
    } else if (const std::size_t position = next - top.pairs.size(); position < top.elements_a.size()) {
      path_ += std::to_string(position);
      visit(top.elements_a[position], top.elements_b[position]);
    } else {
      open_.pop_back();
    }
  }
}

void OtherValues::visit(ValueId a, ValueId b) {
  const bool leaves = is_leaf(a_.values, a) && is_leaf(b_.values, b);
  if (!leaves && !met_.insert(pair_of(a, b)).second) return;
  ValueView view_a = views_a_.of(a), view_b = views_b_.of(b);
  count_steps(view_a.children.size() + view_b.children.size() + 1);
  count_steps(view_a.elements.size() + view_b.elements.size());
  count_steps((view_a.atom.size() + view_b.atom.size()) / bytes_a_step);
  if (view_a.text.size() == view_b.text.size()) count_steps(view_a.text.size() / bytes_a_step);
  ++found_.values_compared;
  if (view_a.family == view_b.family && (view_a.family == Family::tensor || view_a.family == Family::storage)) {
    // Tensors of the same name are compared elsewhere, whichever way the walk came to them.
    if (!matches_.contains(pair_of(a, b)))
      unnamed_.push_back({path_, view_a.value, view_b.value, views_a_.tensor(a), views_b_.tensor(b)});
    return;
  }
  if (!same_atom(view_a, view_b)) note(path_, text(views_a_, a), text(views_b_, b));
  const bool both_hold = view_a.family == view_b.family && view_a.family != Family::atom;
  if (!both_hold || (view_a.family == Family::object && view_a.type != view_b.type)) return;
  if (view_a.family == Family::sequence)
    open_elements(std::move(view_a.elements), std::move(view_b.elements));
  else
    open(view_a.children, view_b.children, view_a.family == Family::mapping);
}

void OtherValues::add_pair(const ViewChild& a, const ViewChild& b, std::vector<Pair>& pairs) const {
  // Of a set's members the key is the value.
  if (a.key != no_value && b.key != no_value && a.key != a.value) pairs.push_back({a.label, a.key, b.key});
  pairs.push_back({a.label, a.value, b.value});
}

void OtherValues::open(const std::vector<ViewChild>& a, const std::vector<ViewChild>& b, bool ordered) {
  Open opened{path_.size(), {}, {}, {}, 0};
  if (same_matches(a, b)) {
    opened.pairs.reserve(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) add_pair(a[i], b[i], opened.pairs);
  } else if (pair_by_match(a, b, opened.pairs) && ordered) {
    count_path(path_);
    found_.reordered.push_back(path_);
  }
  open_.push_back(std::move(opened));
}

void OtherValues::open_elements(std::vector<ValueId> a, std::vector<ValueId> b) {
  const std::size_t both = std::min(a.size(), b.size());
  for (std::size_t i = both; i < a.size(); ++i) note_lone(std::to_string(i), a[i], true);
  for (std::size_t i = both; i < b.size(); ++i) note_lone(std::to_string(i), b[i], false);
  a.resize(both);
  b.resize(both);
  open_.push_back({path_.size(), {}, std::move(a), std::move(b), 0});
}

/// True where keys that both have stand in another order.
bool OtherValues::pair_by_match(const std::vector<ViewChild>& a, const std::vector<ViewChild>& b,
                                std::vector<Pair>& pairs) {
  NameViewMap<std::size_t> places;
  for (std::size_t i = 0; i < b.size(); ++i) places.emplace(b[i].match, i);
  std::vector<bool> taken(b.size(), false);
  std::size_t last = 0;
  bool reordered = false;
  for (const ViewChild& child : a) {
    const auto found = places.find(child.match);
    if (found == places.end()) {
      note_lone(child.label, child.value, true);
      continue;
    }
    reordered = reordered || found->second < last;
    last = found->second;
    taken[found->second] = true;
    add_pair(child, b[found->second], pairs);
  }
  for (std::size_t i = 0; i < b.size(); ++i)
    if (!taken[i]) note_lone(b[i].label, b[i].value, false);
  return reordered;
}

/// A tensor that only one has is told by its name, but where both have that name: of 1 and '1', or 'a.b' and b in a.
void OtherValues::note_lone(const std::string& label, ValueId value, bool in_a) {
  const ValueViews& views = in_a ? views_a_ : views_b_;
  if ((in_a ? named_a_ : named_b_).contains(value) && !common_.contains(below(label))) return;
  std::string shown = text(views, value);
  if (in_a)
    note(below(label), std::move(shown), std::nullopt);
  else
    note(below(label), std::nullopt, std::move(shown));
}

void OtherValues::note(std::string path, std::optional<std::string> a, std::optional<std::string> b) {
  count_path(path);
  found_.other.push_back({std::move(path), std::move(a), std::move(b)});
}

std::string OtherValues::text(const ValueViews& views, ValueId id) {
  const ValueView view = views.of(id);
  count_steps(view.children.size() + view.elements.size() + view.atom.size() / bytes_a_step);
  return views.text(id);
}

/// Guards against containers that hold each other exponentially often.
void OtherValues::count_steps(std::uint64_t steps) {
  steps_ += steps;
  const std::uint64_t extent = std::uint64_t{a_.values.extent()} + b_.values.extent();
  const std::uint64_t text = (std::uint64_t{a_.values.text_size()} + b_.values.text_size()) / bytes_a_step;
  const std::uint64_t most = limits::diff_step_cap(extent + text);
  if (steps_ > most)
    throw Error(ErrorCode::limit_exceeded,
                "comparing the values of both files takes more than " + std::to_string(most) + " steps")
        .in(a_.file);
}

void OtherValues::count_path(const std::string& path) {
  path_bytes_ += path.size();
  if (path_bytes_ > limits::tensor_name_bytes)
    throw Error(ErrorCode::limit_exceeded,
                "the paths of what differs take more than " + std::to_string(limits::tensor_name_bytes) + " bytes")
        .in(a_.file);
}

}  // namespace ckpt
