#include <algorithm>

#include "ckpt/error.h"
#include "io/bytes.h"
#include "io/file_source.h"
#include "named_tensors/shard_names.h"
#include "shards/index.h"
#include "shards/shards.h"

namespace ckpt::shards {
namespace {

std::string index_suffix(const Flavour& flavour) { return std::string(flavour.suffix) + ".index.json"; }

std::vector<std::string> indexes_among(std::span<const std::string> names, const Flavour& flavour) {
  std::vector<std::string> indexes;
  std::copy_if(names.begin(), names.end(), std::back_inserter(indexes),
               [&](const std::string& name) { return name.ends_with(index_suffix(flavour)); });
  return indexes;
}

bool is_shard_of(const ShardName& shard, const Flavour& flavour) {
  // "shard-00001-model-00001-of-00002.safetensors" is a rank's file of a distributed checkpoint.
  return shard.suffix == flavour.suffix && !shard.stem.starts_with("shard-");
}

/// The first name of each set of shards.
std::vector<ShardName> sets_among(std::span<const std::string> names, const Flavour& flavour) {
  std::vector<ShardName> sets;
  for (const std::string& name : names) {
    const auto shard = parse_shard_name(name);
    if (!shard || !is_shard_of(*shard, flavour)) continue;
    const auto same = [&](const ShardName& set) { return set.stem == shard->stem && set.count == shard->count; };
    if (std::none_of(sets.begin(), sets.end(), same)) sets.push_back(*shard);
  }
  return sets;
}

Error several(const std::string& folder, const std::string& what, const std::string& first, const std::string& second) {
  return Error(ErrorCode::invalid_argument, "is a folder of several " + what + ": " + first + ", " + second)
      .expected("one that is meant")
      .in(folder);
}

/// All shards of the set, whether they are there or not.
ByteSourcePtr list_of(const std::string& folder, ShardName shard) {
  std::vector<std::string> names;
  for (shard.number = 1; shard.number <= shard.count; ++shard.number) names.push_back(shard_name(shard));
  const std::string list = make_list(names);
  const auto bytes = as_bytes(list);
  return memory_source({bytes.begin(), bytes.end()}, folder, folder);
}

}  // namespace

ByteSourcePtr enter(const std::string& folder, std::span<const std::string> names, const Flavour& flavour) {
  // Where the same weights lie there in both, what holds no code comes first, as it does in transformers.
  if (&flavour != &safetensors_flavour &&
      (!indexes_among(names, safetensors_flavour).empty() || !sets_among(names, safetensors_flavour).empty() ||
       std::find(names.begin(), names.end(), std::string(safetensors_flavour.stem) + ".safetensors") != names.end()))
    return nullptr;
  const std::vector<std::string> indexes = indexes_among(names, flavour);
  const std::string usual = std::string(flavour.stem) + index_suffix(flavour);
  if (std::find(indexes.begin(), indexes.end(), usual) != indexes.end()) return open_regular_file(folder + "/" + usual);
  if (indexes.size() > 1)
    throw several(folder, "indexes", indexes[0], indexes[1]).hint("name it: " + shell_word(folder + "/" + indexes[0]));
  if (!indexes.empty()) return open_regular_file(folder + "/" + indexes.front());
  const std::vector<ShardName> sets = sets_among(names, flavour);
  if (sets.size() > 1)
    throw several(folder, "sets of shards", shard_name(sets[0]), shard_name(sets[1]))
        .hint("a folder for each of them; their index would tell them apart, too");
  return sets.empty() ? nullptr : list_of(folder, sets.front());
}

}  // namespace ckpt::shards
