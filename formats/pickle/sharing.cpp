#include "pickle/sharing.h"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <vector>

namespace ckpt::pickle {
namespace {

constexpr std::uint64_t bytes_of_item = 16;
/// What a byte of a key that is no text takes where keys are compared: four characters, some times over.
constexpr std::uint64_t bytes_of_escape = 16;

std::uint64_t own_weight(const ValueGraph& graph, ValueId id) {
  std::uint64_t text = 0, items = 0;
  switch (graph.kind(id)) {
    case ValueKind::str:
    case ValueKind::py2_str:
    case ValueKind::big_integer:
      text = text_bytes(graph, id);
      break;
    case ValueKind::global:
      text = graph.module(id).size() + graph.name(id).size();
      break;
    case ValueKind::tuple:
    case ValueKind::frozenset:
      items = graph.items(id).size();
      break;
    default:
      break;
  }
  return (text < shared_text ? 0 : text) + (items < shared_items ? 0 : items * bytes_of_item);
}

/// Bytes are not copied, but where they are keys.
std::uint64_t bytes_weight(const ValueGraph& graph, ValueId id) {
  const std::uint64_t size = graph.kind(id) == ValueKind::bytes ? text_bytes(graph, id) : 0;
  return size < shared_text ? 0 : size;
}

/// What a value weighs for who is given it, and for who looks up by it.
struct Weight {
  std::uint32_t given = 0, key = 0;
};

std::uint32_t capped(std::uint64_t weight) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(weight, UINT32_MAX));
}

/// What objects are given as their states, which are mappings as a rule.
class States {
 public:
  explicit States(const ValueGraph& graph) : graph_(graph) {}

  std::uint64_t weight(ValueId id) {
    const ValueKind kind = graph_.kind(id);
    if (kind == ValueKind::tuple && graph_.items(id).size() == 2) {  // of attributes and slots
      std::uint64_t sum = 0;
      for (const ValueId item : graph_.items(id))
        if (graph_.kind(item) != ValueKind::tuple) sum += weight(item);
      return sum;
    }
    if (kind != ValueKind::dict && kind != ValueKind::object) return 0;
    const auto [known, fresh] = weights_.try_emplace(id, 0);
    if (!fresh) return known->second;
    std::uint64_t items = 0;
    graph_.each_operand(id, [&](ValueId) { ++items; });
    known->second = items < shared_items ? 0 : items * bytes_of_item;
    made_ += known->second;
    return known->second;
  }
  [[nodiscard]] std::uint64_t made() const { return made_; }

 private:
  const ValueGraph& graph_;
  std::unordered_map<ValueId, std::uint64_t> weights_;
  std::uint64_t made_ = 0;
};

/// Whether reading it reads what it is given, too.
bool passes_on(ValueKind kind) {
  return kind == ValueKind::tuple || kind == ValueKind::persistent || kind == ValueKind::object;
}

/// Calls `use` with what whoever reads the value looks up by: the keys of a mapping, the members of a set.
template <class Use>
void each_key(const ValueGraph& graph, ValueId id, Use use) {
  const auto each = [&](std::span<const ValueId> items, std::size_t step) {
    for (std::size_t i = 0; i < items.size(); i += step) use(items[i]);
  };
  const ValueKind kind = graph.kind(id);
  if (kind == ValueKind::dict) each(graph.items(id), 2);
  if (kind == ValueKind::set || kind == ValueKind::frozenset) each(graph.items(id), 1);
  for (auto handle = graph.first_effect(id); handle != 0; handle = graph.effect(handle).next) {
    const Effect& effect = graph.effect(handle);
    if (effect.kind == EffectKind::set_items) each(graph.items(effect), 2);
    if (effect.kind == EffectKind::add_items) each(graph.items(effect), 1);
  }
}

}  // namespace

std::uint64_t text_bytes(const ValueGraph& graph, ValueId id) {
  switch (graph.kind(id)) {
    case ValueKind::str:
    case ValueKind::py2_str:
    case ValueKind::bytes:
    case ValueKind::bytearray:
    case ValueKind::big_integer: {
      const ByteSourcePtr far = graph.far_text(id);
      return far != nullptr ? far->size() : graph.text(id).size();
    }
    default:
      return 0;
  }
}

Sharing count_sharing(const ValueGraph& graph, std::size_t first) {
  Sharing sum;
  std::vector<Weight> weights(graph.size() - first);
  const auto weight_of = [&](ValueId id) { return id < first ? Weight() : weights[id - first]; };
  for (auto id = static_cast<ValueId>(first); id < graph.size(); ++id) {
    const std::uint64_t own = own_weight(graph, id), own_bytes = bytes_weight(graph, id);
    sum.made += own + own_bytes;
    std::uint64_t given = own, key = own + own_bytes;
    if (passes_on(graph.kind(id))) {
      for (const ValueId item : graph.items(id)) {
        given += weight_of(item).given;
        key += weight_of(item).key;
      }
    }
    weights[id - first] = {capped(given), capped(key)};
  }
  States states(graph);
  for (auto id = static_cast<ValueId>(first); id < graph.size(); ++id) {
    const ValueKind kind = graph.kind(id);
    each_key(graph, id,
             [&](ValueId key) { sum.keys += (graph.is_string(key) ? 1 : bytes_of_escape) * weight_of(key).key; });
    if (kind != ValueKind::object && kind != ValueKind::persistent && kind != ValueKind::global) continue;
    graph.each_operand(id, [&](ValueId item) { sum.given += weight_of(item).given; });
    for (auto handle = graph.first_effect(id); handle != 0; handle = graph.effect(handle).next) {
      if (graph.effect(handle).kind == EffectKind::build)
        sum.given += states.weight(graph.items(graph.effect(handle))[0]);
    }
  }
  sum.made += states.made();
  return sum;
}

}  // namespace ckpt::pickle
