#include <algorithm>
#include <map>
#include <memory>

#include "ckpt/assemble.h"
#include "ckpt/error.h"
#include "ckpt/state_dict.h"
#include "io/bytes.h"
#include "named_tensors/losses.h"
#include "named_tensors/names.h"
#include "named_tensors/shard_names.h"
#include "named_tensors/sources.h"
#include "ops/watched_source.h"
#include "shards/index.h"
#include "shards/shards.h"
#include "shards/split.h"

namespace ckpt::shards {
namespace {

/// A checkpoint of these tensors alone.
Checkpoint part_of(const Checkpoint& checkpoint, const std::vector<NamedTensor>& names,
                   const std::vector<std::size_t>& members) {
  std::vector<NamedTensor> tensors;
  tensors.reserve(members.size());
  for (const std::size_t i : members) tensors.push_back(names[i]);
  Checkpoint part = assemble(named_tensors::tensor_sources(checkpoint, tensors));
  part.file = checkpoint.file;
  part.format = checkpoint.format;
  part.metadata = checkpoint.metadata;
  return part;
}

/// Storages are counted through all shards when they are read again.
void add_receipt(WriteReceipt& all, const WriteReceipt& shard) {
  const std::size_t before = all.size();
  for (const auto& [key, crc] : shard) all[std::to_string(before + std::stoull(key))] = crc;
}

void write_index(const Index& index, FolderSink& sink, const Flavour& flavour) {
  const auto file = sink.add(std::string(flavour.stem) + std::string(flavour.suffix) + ".index.json");
  file->write(as_bytes(make_index(index)));
  file->commit();
}

}  // namespace

WriteReceipt write_folder(const Checkpoint& checkpoint, FolderSink& sink, const WriteOptions& options,
                          const Flavour& flavour) {
  named_tensors::refuse_other_values(checkpoint);
  const std::vector<NamedTensor> names = named_tensors::names_of(checkpoint);
  if (!names.empty() && names.front().tensor->value == checkpoint.root)
    throw Error(ErrorCode::unsupported, "a tensor without a name")
        .expected("tensors by name, as an index holds")
        .in(checkpoint.file)
        .hint("--format torch holds one tensor without a name");
  const Format& format = *find_format(flavour.shard_format);
  const Split parts = split(checkpoint, names, options.shard_bytes, &flavour == &torch_flavour);
  Index index;
  index.weight_map.emplace();
  index.total_size = parts.bytes;
  ShardName name{std::string(flavour.stem), 0, static_cast<std::uint32_t>(parts.shards.size()),
                 std::string(flavour.suffix)};
  if (parts.shards.size() > limits::shard_files)
    throw Error(ErrorCode::invalid_argument, std::to_string(parts.shards.size()) + " shards")
        .expected("at most " + std::to_string(limits::shard_files))
        .in(checkpoint.file)
        .hint("a larger --shard-size");
  // Watched once: what a shard does not show of a storage is read in the end, and not for each shard.
  const std::vector<Storage> storages = watched_storages(checkpoint);
  std::map<const ByteSource*, ByteSourcePtr> watched;
  for (std::size_t i = 0; i < storages.size(); ++i)
    if (const ByteSourcePtr& bytes = storages[i].bytes; bytes != nullptr)
      watched[checkpoint.storages[i].bytes.get()] = slice(bytes, 0, storages[i].nbytes, bytes->source_name());
  WriteReceipt receipt;
  for (const auto& members : parts.shards) {
    ++name.number;
    index.shards.push_back(shard_name(name));
    for (const std::size_t i : members)
      if (!parts.is_view[i]) index.weight_map->emplace_back(names[i].name, name.number - 1);
    const std::unique_ptr<ByteSink> file = sink.add(index.shards.back());
    Checkpoint part = part_of(checkpoint, names, members);
    for (Storage& storage : part.storages)
      if (const auto found = watched.find(storage.bytes.get()); found != watched.end()) storage.bytes = found->second;
    add_receipt(receipt, format.write(part, *file, options));
    file->commit();
  }
  finish_watching(storages);
  write_index(index, sink, flavour);
  return receipt;
}

std::vector<std::string> losses(const Checkpoint& checkpoint, const Flavour& flavour) {
  const Format& format = *find_format(flavour.shard_format);
  if (format.losses != nullptr) return format.losses(checkpoint);
  // A shard of torch's is a dict of plain tensors, whatever torch could say.
  std::vector<std::string> left_out = named_tensors::losses_beside_elements(checkpoint);
  // A state dict's _metadata, which is told of, is an OrderedDict's.
  const ValueGraph& values = checkpoint.values;
  const ValueId root = checkpoint.root;
  if (is_mapping(values, root) && values.kind(root) != ValueKind::dict && !named_tensors::has_attributes(values, root))
    left_out.emplace_back(named_tensors::mappings_become_dicts);
  return left_out;
}

}  // namespace ckpt::shards
