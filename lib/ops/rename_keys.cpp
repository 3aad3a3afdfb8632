#include "ops/rename_keys.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/modules.h"
#include "ckpt/utf8.h"
#include "model/model_names.h"
#include "model/position_index.h"

namespace ckpt {

void set_key(ValueGraph& values, const MappingEntry& entry, std::string_view name) {
  const ValueId key = values.make_text(values.kind(entry.key), name);  // a Python 2 str stays one
  if (entry.effect != 0)
    values.set_effect_item(entry.effect, entry.index, key);
  else
    values.set_item(entry.holder, entry.index, key);
}

void set_value(ValueGraph& values, const MappingEntry& entry, ValueId value) {
  if (entry.value_effect != 0)
    values.set_effect_item(entry.value_effect, 0, value);
  else if (entry.effect != 0)
    values.set_effect_item(entry.effect, entry.index + 1, value);
  else
    values.set_item(entry.holder, entry.index + 1, value);
}

std::vector<StateDict> named_dicts(const Checkpoint& checkpoint) {
  Parts parts = find_parts(checkpoint);
  std::ranges::move(parts.mixed, std::back_inserter(parts.state_dicts));
  return std::move(parts.state_dicts);
}

KeyRenamer::KeyRenamer(Checkpoint& checkpoint, std::string advice)
    : checkpoint_(checkpoint), advice_(std::move(advice)), is_tensor_(checkpoint.values.size()) {
  for (const Tensor& tensor : checkpoint.tensors) is_tensor_[tensor.value] = true;
}

bool KeyRenamer::is_renamed(const MappingEntry& entry) const {
  const ValueGraph& values = checkpoint_.values;
  const std::string_view key = values.text(entry.key);
  return is_tensor_[entry.value] || values.kind(entry.value) == ValueKind::none || may_hold_anything(key) ||
         is_models_key(key);
}

RenamedKeys KeyRenamer::rename_keys(const StateDict& dict, const RenameKey& rename) {
  constexpr std::size_t shown_keys = 3;
  ValueGraph& values = checkpoint_.values;
  RenamedKeys done;
  auto pairs = mapping_pairs(values, dict.value);
  std::erase_if(pairs, [&](const MappingEntry& entry) { return !values.is_string(entry.key); });
  std::vector<std::string> names;  // the new ones
  names.reserve(pairs.size());
  PositionIndex places;
  places.reserve(pairs.size());
  for (const MappingEntry& entry : pairs) {
    const std::string key(values.text(entry.key));
    const bool stays = !is_renamed(entry), is_done = done_.contains(place_of(entry));
    const auto other_name = stays ? std::nullopt : is_done ? std::optional(key) : rename(key);
    const std::string& name = names.emplace_back(other_name.value_or(key));
    if (other_name && is_utf8(key, Surrogates::allowed) && !is_utf8(name, Surrogates::allowed))
      throw Error(ErrorCode::invalid_argument,
                  "the key '" + key + "' would be named '" + name + "', which is not UTF-8")
          .expected("text, as keys are")
          .in(checkpoint_.file)
          .hint("this shell's text is in another encoding: a terminal in UTF-8 gives what was meant");
    const std::uint32_t other = places.add(hash_of(name), static_cast<std::uint32_t>(names.size() - 1),
                                           [&](std::uint32_t place) { return names[place] == name; });
    if (const std::string_view other_key = values.text(pairs[other].key); other_key != key)
      throw Error(ErrorCode::invalid_argument,
                  "the keys '" + std::string(other_key) + "' and '" + key + "' would both be named '" + name + "'")
          .in(checkpoint_.file)
          .hint("ckpt inspect " + shell_word(checkpoint_.file) + " shows both; " + advice_);
    if (other_name) {
      if (!is_done) set_key(values, entry, *other_name);
      done_.insert(place_of(entry));
      ++done.changed;
    } else if (!stays) {
      ++done.unchanged;
      if (done.left.size() < shown_keys) done.left.push_back(key);
    }
  }
  return done;
}

}  // namespace ckpt
