#include "ckpt/value.h"

#include <algorithm>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "io/bytes.h"

namespace ckpt {
namespace {

std::uint32_t index_for(std::size_t count, const char* what) {
  if (count >= no_value)
    throw Error(ErrorCode::limit_exceeded, std::string("more than 4,294,967,294 ") + what + " in one object graph");
  return static_cast<std::uint32_t>(count);
}

}  // namespace

ValueId ValueGraph::add(ValueKind kind, Span data, std::uint8_t detail) {
  const ValueId id = index_for(nodes_.size(), "values");
  nodes_.push_back({.kind = kind, .detail = detail, .data = data});
  return id;
}

ValueGraph::Span ValueGraph::add_children(std::span<const ValueId> items) {
  const std::uint32_t count = index_for(items.size(), "operands");
  const std::uint32_t first = index_for(children_.size() + items.size(), "operands") - count;
  // The items may be a span of children_ itself, which growing would move.
  if (children_.capacity() - children_.size() < items.size()) {
    const std::vector<ValueId> copy(items.begin(), items.end());
    children_.insert(children_.end(), copy.begin(), copy.end());
  } else {
    children_.insert(children_.end(), items.begin(), items.end());
  }
  return {first, count};
}

ValueGraph::Span ValueGraph::add_text(std::string_view text) {
  const std::uint32_t count = index_for(text.size(), "bytes of text");
  const std::uint32_t first = index_for(text_.size() + text.size(), "bytes of text") - count;
  text_.append(text);
  return {first, count};
}

void ValueGraph::reserve_for(std::size_t pickle_bytes) {
  // As state dicts have it: 10 bytes and more a value, 5 and more an operand, a third of it text. Room for what does
  // not come costs nothing; to move all because of the last few values costs as much again.
  nodes_.reserve(nodes_.size() + pickle_bytes / 10);
  children_.reserve(children_.size() + pickle_bytes / 5);
  text_.reserve(text_.size() + pickle_bytes / 3);
}

void ValueGraph::clear() {
  nodes_.clear();
  children_.clear();
  effects_.clear();
  names_.clear();
  text_.clear();
  far_.clear();
}

ValueId ValueGraph::make_none() { return add(ValueKind::none, {}); }

ValueId ValueGraph::make_boolean(bool value) {
  return add(ValueKind::boolean, std::bit_cast<Span>(std::int64_t{value ? 1 : 0}));
}

ValueId ValueGraph::make_integer(std::int64_t value) { return add(ValueKind::integer, std::bit_cast<Span>(value)); }

ValueId ValueGraph::make_big_integer(std::string_view little_endian_twos_complement) {
  return make_text(ValueKind::big_integer, little_endian_twos_complement);
}

ValueId ValueGraph::make_real(double value) { return add(ValueKind::real, std::bit_cast<Span>(value)); }

ValueId ValueGraph::make_text(ValueKind kind, std::string_view text) { return add(kind, add_text(text)); }

ValueId ValueGraph::make_far_text(ValueKind kind, ByteSourcePtr bytes) {
  const std::uint32_t place = index_for(far_.size(), "texts");
  far_.push_back(std::make_shared<FarText>(std::move(bytes)));
  return add(kind, {place, 0}, far);
}

ByteSourcePtr ValueGraph::far_text(ValueId id) const {
  const Node& node = nodes_[id];
  return has_text(node.kind) && node.detail == far ? far_[node.data.first]->source : nullptr;
}

std::string_view ValueGraph::far_text_of(std::uint32_t place) const {
  FarText& text = *far_[place];
  std::call_once(text.is_read, [&] { text.bytes = read_all(*text.source, limits::pickle_bytes); });
  return as_text(text.bytes);
}

ValueId ValueGraph::make_container(ValueKind kind, std::span<const ValueId> items) {
  if (kind != ValueKind::set || items.empty()) return add(kind, add_children(items));
  const ValueId set = make_container(kind);  // a pickle makes it empty, and fills it
  add_effect(set, EffectKind::add_items, items);
  return set;
}

ValueId ValueGraph::make_global(std::string_view module, std::string_view name) {
  const std::uint32_t place = index_for(names_.size(), "globals");
  names_.emplace_back();
  const ValueId global = add(ValueKind::global, {place, 0});
  rename_global(global, module, name);
  return global;
}

void ValueGraph::rename_global(ValueId global, std::string_view module, std::string_view name) {
  // Both at once: either may be a view of text_, which growing moves.
  const Span both = add_text(std::string(module).append(name));
  const auto count = static_cast<std::uint32_t>(module.size());
  Name& named = names_[nodes_[global].data.first];
  named.module = {both.first, count};
  named.name = {both.first + count, both.count - count};
}

ValueId ValueGraph::make_extension(std::int64_t code) { return add(ValueKind::extension, std::bit_cast<Span>(code)); }

ValueId ValueGraph::make_persistent(ValueId id) { return make_container(ValueKind::persistent, {&id, 1}); }

ValueId ValueGraph::make_object(CallKind call, std::span<const ValueId> items) {
  return add(ValueKind::object, add_children(items), static_cast<std::uint8_t>(call));
}

std::uint32_t ValueGraph::add_effect(ValueId target, EffectKind kind, std::span<const ValueId> items, std::uint8_t form,
                                     Time time, bool late) {
  const Span span = add_children(items);
  effects_.push_back({.kind = kind,
                      .form = form,
                      .late = late,
                      .target = target,
                      .time = time,
                      .first = span.first,
                      .count = span.count});
  const std::uint32_t handle = index_for(effects_.size(), "effects");
  Node& node = nodes_[target];
  if (node.first_effect == 0) node.first_effect = handle;
  Effect& first = effects_[node.first_effect - 1];
  if (first.last != 0) effects_[first.last - 1].next = handle;
  first.last = handle;
  return handle;
}

void ValueGraph::become_persistent(ValueId value, ValueId id) {
  const std::uint32_t effects = nodes_[value].first_effect;
  nodes_[value] = {.kind = ValueKind::persistent, .first_effect = effects, .data = add_children({&id, 1})};
}

void ValueGraph::become_object(ValueId value, CallKind call, std::span<const ValueId> items) {
  const std::uint32_t effects = nodes_[value].first_effect;
  const Span span = add_children(items);
  nodes_[value] = {.kind = ValueKind::object,
                   .detail = static_cast<std::uint8_t>(call),
                   .memoized = true,
                   .first_effect = effects,
                   .data = span};
}

void ValueGraph::set_item(ValueId id, std::size_t index, ValueId item) {
  children_[items_span(id)->first + index] = item;
}

void ValueGraph::set_effect_item(std::uint32_t handle, std::size_t index, ValueId item) {
  children_[effects_[handle - 1].first + index] = item;
}

void ValueGraph::set_items(ValueId id, std::span<const ValueId> items) {
  Node& node = nodes_[id];
  replace(node.kind == ValueKind::global ? names_[node.data.first].items : node.data, items);
}

void ValueGraph::set_effect_items(std::uint32_t handle, std::span<const ValueId> items) {
  Effect& effect = effects_[handle - 1];
  Span span{effect.first, effect.count};
  replace(span, items);
  effect.first = span.first;
  effect.count = span.count;
}

/// A run is one value's alone: what fits stays where it is.
void ValueGraph::replace(Span& span, std::span<const ValueId> items) {
  if (items.size() > span.count) {
    span = add_children(items);
  } else {
    std::copy(items.begin(), items.end(), children_.begin() + span.first);
    span.count = static_cast<std::uint32_t>(items.size());
  }
}

}  // namespace ckpt
