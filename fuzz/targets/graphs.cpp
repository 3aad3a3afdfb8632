#include "targets/graphs.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "pickle/reach.h"

namespace ckpt::fuzz {
namespace {

/// Two's complement without the bytes that only repeat the sign.
std::string_view shortest(std::string_view integer) {
  const auto negative = [](char byte) { return (byte & 0x80) != 0; };
  while (integer.size() > 1 && integer.back() == (negative(integer[integer.size() - 2]) ? '\xff' : '\0'))
    integer.remove_suffix(1);
  return integer;
}

/// A literal's content, spelt so that equal values have equal texts.
std::string content(const ValueGraph& graph, ValueId id) {
  switch (graph.kind(id)) {
    case ValueKind::boolean:
    case ValueKind::integer:
    case ValueKind::extension:
      return std::to_string(graph.integer(id));
    case ValueKind::real:
      return std::to_string(std::bit_cast<std::uint64_t>(graph.real(id)));
    case ValueKind::big_integer:
      return std::string(shortest(graph.text(id)));
    case ValueKind::str:
    case ValueKind::bytes:
    case ValueKind::bytearray:
    case ValueKind::py2_str:
      return std::string(graph.text(id));
    case ValueKind::global:
      return std::string(graph.module(id)) + '\n' + std::string(graph.name(id));
    case ValueKind::object:
      return std::to_string(static_cast<int>(graph.call(id)));
    default:
      return {};
  }
}

bool is_observer(const ValueGraph& graph, ValueId id) {
  const ValueKind kind = graph.kind(id);
  return kind == ValueKind::object || kind == ValueKind::persistent;
}

/// What Python has one of, however often it is made: whether two are the same one means nothing.
bool is_one_in_python(const ValueGraph& graph, ValueId id) {
  if (graph.first_effect(id) != 0) return false;
  switch (graph.kind(id)) {
    case ValueKind::none:
    case ValueKind::boolean:
      return true;
    case ValueKind::integer:
      return -5 <= graph.integer(id) && graph.integer(id) <= 256;
    case ValueKind::tuple:
      return graph.items(id).empty();
    default:
      return false;
  }
}

std::string at(ValueId a, ValueId b) { return " (value " + std::to_string(a) + " and " + std::to_string(b) + ")"; }

}  // namespace

/// A call, or a change to what a call made (or to a class).
struct GraphPair::Event {
  Time time = 0;
  ValueId id = no_value;
  std::uint32_t handle = 0;
};

std::string GraphPair::compare_operands(std::span<const ValueId> a, std::span<const ValueId> b, const char* what) {
  if (a.size() != b.size())
    return std::string(what) + ": " + std::to_string(a.size()) + " became " + std::to_string(b.size());
  for (std::size_t i = 0; i < a.size(); ++i) open_.emplace_back(a[i], b[i]);
  return {};
}

std::string GraphPair::compare(ValueId a, ValueId b, Time until_a, Time until_b) {
  if (!is_one_in_python(a_, a) || !is_one_in_python(b_, b)) {
    const bool met = there_[a] != no_value || back_[b] != no_value;
    if (met) return there_[a] == b && back_[b] == a ? "" : "sharing differs";
    there_[a] = b;
    back_[b] = a;
  }
  if (a_.kind(a) != b_.kind(b)) return "another kind of value";
  if (content(a_, a) != content(b_, b)) return "another content";
  if (a_.kind(a) == ValueKind::persistent && persistent_) {
    if (const auto same = persistent_(a, b)) return *same ? "" : "another persistent value";
  }
  if (a_.kind(a) != ValueKind::global)  // a global's name has been compared, however it was spelt
    if (auto found = compare_operands(a_.items(a), b_.items(b), "operands"); !found.empty()) return found;
  auto x = a_.first_effect(a), y = b_.first_effect(b);
  const auto skip = [](const ValueGraph& graph, std::uint32_t handle, Time until) {
    while (handle != 0 && graph.effect(handle).time >= until) handle = graph.effect(handle).next;
    return handle;
  };
  for (x = skip(a_, x, until_a), y = skip(b_, y, until_b); x != 0 && y != 0;
       x = skip(a_, a_.effect(x).next, until_a), y = skip(b_, b_.effect(y).next, until_b)) {
    if (a_.effect(x).kind != b_.effect(y).kind) return "another kind of change";
    if (auto found = compare_operands(a_.items(a_.effect(x)), b_.items(b_.effect(y)), "a change's operands");
        !found.empty())
      return found;
  }
  return x == y || (x == 0 && y == 0) ? "" : "another number of changes";
}

std::string GraphPair::difference(std::vector<ValueId> a, std::vector<ValueId> b, Time until_a, Time until_b) {
  there_.assign(a_.size(), no_value);
  back_.assign(b_.size(), no_value);
  open_.clear();
  if (auto found = compare_operands(a, b, "roots"); !found.empty()) return found;
  while (!open_.empty()) {
    const auto [x, y] = open_.back();
    open_.pop_back();
    if (auto found = compare(x, y, until_a, until_b); !found.empty()) return found + at(x, y);
  }
  return {};
}

std::vector<GraphPair::Event> GraphPair::events(const ValueGraph& graph, const std::vector<ValueId>& roots) {
  const auto uses = pickle::count_uses(graph, roots);
  std::vector<Event> all;
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (uses[id] == 0) continue;
    if (is_observer(graph, id)) all.push_back({graph.made(id), id, 0});
    if (!is_observer(graph, id) && graph.kind(id) != ValueKind::global) continue;
    for (auto handle = graph.first_effect(id); handle != 0; handle = graph.effect(handle).next)
      all.push_back({graph.effect(handle).time, id, handle});
  }
  std::sort(all.begin(), all.end(), [](const Event& x, const Event& y) { return x.time < y.time; });
  return all;
}

std::string GraphPair::difference_of_events(const std::vector<ValueId>& a, const std::vector<ValueId>& b) {
  auto there = there_;
  const auto mine = events(a_, a), theirs = events(b_, b);
  if (mine.size() != theirs.size()) return "another number of calls and changes";
  if (mine.size() * (a_.size() + b_.size()) > 200'000) return {};
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const Event &x = mine[i], &y = theirs[i];
    if (there[x.id] == no_value) there[x.id] = y.id;  // made and dropped
    if (there[x.id] != y.id || (x.handle == 0) != (y.handle == 0))
      return "another order of calls and changes" + at(x.id, y.id);
    const auto operands = [](const ValueGraph& graph, const Event& event) {
      const auto items = event.handle == 0 ? graph.items(event.id) : graph.items(graph.effect(event.handle));
      std::vector<ValueId> all(items.begin(), items.end());
      if (event.handle != 0) all.push_back(event.id);
      return all;
    };
    if (auto found = difference(operands(a_, x), operands(b_, y), x.time, y.time); !found.empty())
      return "a call sees another thing: " + found + at(x.id, y.id);
  }
  return {};
}

}  // namespace ckpt::fuzz
