#include "ckpt/value.h"

#include <algorithm>
#include <limits>

#include "ckpt/error.h"

namespace ckpt {
namespace {

std::uint32_t index_for(std::size_t count, const char* what) {
  if (count >= no_value)
    throw Error(ErrorCode::limit_exceeded, std::string("more than 4,294,967,294 ") + what + " in one object graph");
  return static_cast<std::uint32_t>(count);
}

}  // namespace

std::string_view ValueGraph::text(ValueId id) const {
  const Node& node = nodes_[id];
  return std::string_view(text_).substr(node.text, node.length);
}

std::string_view ValueGraph::module(ValueId id) const {
  const Node& node = nodes_[id];
  return std::string_view(text_).substr(node.text, node.length >> 32);
}

std::string_view ValueGraph::name(ValueId id) const {
  const Node& node = nodes_[id];
  return std::string_view(text_).substr(node.text + (node.length >> 32), node.length & 0xFFFFFFFF);
}

std::span<const ValueId> ValueGraph::items(ValueId id) const {
  const Node& node = nodes_[id];
  return {children_.data() + node.first, node.count};
}

ValueId ValueGraph::add(const Node& node) {
  const ValueId id = index_for(nodes_.size(), "values");
  nodes_.push_back(node);
  return id;
}

std::uint32_t ValueGraph::add_children(std::span<const ValueId> items) {
  const std::uint32_t first =
      index_for(children_.size() + items.size(), "operands") - static_cast<std::uint32_t>(items.size());
  // The items may be a span of children_ itself, which growing would move.
  if (children_.capacity() - children_.size() < items.size()) {
    const std::vector<ValueId> copy(items.begin(), items.end());
    children_.insert(children_.end(), copy.begin(), copy.end());
  } else {
    children_.insert(children_.end(), items.begin(), items.end());
  }
  return first;
}

std::uint64_t ValueGraph::add_text(std::string_view text) {
  const std::uint64_t where = text_.size();
  text_.append(text);
  return where;
}

ValueId ValueGraph::make_none() { return add(Node(ValueKind::none)); }

ValueId ValueGraph::make_boolean(bool value) {
  Node node(ValueKind::boolean);
  node.integer = value ? 1 : 0;
  return add(node);
}

ValueId ValueGraph::make_integer(std::int64_t value) {
  Node node(ValueKind::integer);
  node.integer = value;
  return add(node);
}

ValueId ValueGraph::make_big_integer(std::string_view little_endian_twos_complement) {
  return make_text(ValueKind::big_integer, little_endian_twos_complement);
}

ValueId ValueGraph::make_real(double value) {
  Node node(ValueKind::real);
  node.real = value;
  return add(node);
}

ValueId ValueGraph::make_text(ValueKind kind, std::string_view text) {
  Node node(kind);
  node.text = add_text(text);
  node.length = text.size();
  return add(node);
}

ValueId ValueGraph::make_container(ValueKind kind, std::span<const ValueId> items) {
  Node node(kind);
  node.first = add_children(items);
  node.count = static_cast<std::uint32_t>(items.size());
  return add(node);
}

ValueId ValueGraph::make_global(std::string_view module, std::string_view name) {
  Node node(ValueKind::global);
  node.text = add_text(module);
  add_text(name);
  node.length = static_cast<std::uint64_t>(module.size()) << 32 | (name.size() & 0xFFFFFFFF);
  return add(node);
}

ValueId ValueGraph::make_extension(std::int64_t code) {
  Node node(ValueKind::extension);
  node.integer = code;
  return add(node);
}

ValueId ValueGraph::make_persistent(ValueId id) { return make_container(ValueKind::persistent, {&id, 1}); }

ValueId ValueGraph::make_object(CallKind call, std::span<const ValueId> items) {
  const ValueId id = make_container(ValueKind::object, items);
  nodes_[id].detail = static_cast<std::uint8_t>(call);
  return id;
}

std::uint32_t ValueGraph::add_effect(ValueId target, EffectKind kind, std::span<const ValueId> items, std::uint8_t form,
                                     Time time, bool late) {
  Effect effect{.kind = kind, .form = form, .late = late, .target = target, .time = time};
  effect.first = add_children(items);
  effect.count = static_cast<std::uint32_t>(items.size());
  effects_.push_back(effect);
  const std::uint32_t handle = index_for(effects_.size(), "effects");
  Node& node = nodes_[target];
  if (node.last_effect != 0)
    effects_[node.last_effect - 1].next = handle;
  else
    node.first_effect = handle;
  node.last_effect = handle;
  return handle;
}

void ValueGraph::set_item(ValueId id, std::size_t index, ValueId item) { children_[nodes_[id].first + index] = item; }

void ValueGraph::set_effect_item(std::uint32_t handle, std::size_t index, ValueId item) {
  children_[effects_[handle - 1].first + index] = item;
}

void ValueGraph::set_items(ValueId id, std::span<const ValueId> items) {
  const std::uint32_t first = add_children(items);
  nodes_[id].first = first;
  nodes_[id].count = static_cast<std::uint32_t>(items.size());
}

void ValueGraph::set_effect_items(std::uint32_t handle, std::span<const ValueId> items) {
  const std::uint32_t first = add_children(items);
  effects_[handle - 1].first = first;
  effects_[handle - 1].count = static_cast<std::uint32_t>(items.size());
}

}  // namespace ckpt
