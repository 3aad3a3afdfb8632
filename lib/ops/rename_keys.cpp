#include "ops/rename_keys.h"

#include "ckpt/error.h"
#include "ckpt/utf8.h"
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

RenamedKeys rename_keys(Checkpoint& checkpoint, const StateDict& dict, const RenameKey& rename, RenamedPlaces& renamed,
                        const std::string& advice) {
  constexpr std::size_t shown_keys = 3;
  ValueGraph& values = checkpoint.values;
  RenamedKeys done;
  const auto pairs = mapping_pairs(values, dict.value);
  std::vector<std::string> names;  // the new ones
  names.reserve(pairs.size());
  PositionIndex places;
  places.reserve(pairs.size());
  for (const MappingEntry& entry : pairs) {
    const std::string key(values.text(entry.key));
    const bool is_done = renamed.contains(place_of(entry));
    const auto other_name = is_done ? std::optional(key) : rename(key);
    const std::string& name = names.emplace_back(other_name.value_or(key));
    if (other_name && is_utf8(key, Surrogates::allowed) && !is_utf8(name, Surrogates::allowed))
      throw Error(ErrorCode::invalid_argument,
                  "the key '" + key + "' would be named '" + name + "', which is not UTF-8")
          .expected("text, as keys are")
          .in(checkpoint.file)
          .hint("this shell's text is in another encoding: a terminal in UTF-8 gives what was meant");
    const std::uint32_t other = places.add(hash_of(name), static_cast<std::uint32_t>(names.size() - 1),
                                           [&](std::uint32_t place) { return names[place] == name; });
    if (const std::string_view other_key = values.text(pairs[other].key); other_key != key)
      throw Error(ErrorCode::invalid_argument,
                  "the keys '" + std::string(other_key) + "' and '" + key + "' would both be named '" + name + "'")
          .in(checkpoint.file)
          .hint("ckpt inspect " + shell_word(checkpoint.file) + " shows both; " + advice);
    if (other_name) {
      if (!is_done) set_key(values, entry, *other_name);
      renamed.insert(place_of(entry));
      ++done.changed;
    } else {
      ++done.unchanged;
      if (done.left.size() < shown_keys) done.left.push_back(key);
    }
  }
  return done;
}

}  // namespace ckpt
