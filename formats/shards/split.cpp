#include "shards/split.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "ckpt/error.h"
#include "io/keyed_hash.h"
#include "named_tensors/names.h"
#include "named_tensors/sharing.h"
#include "ops/dense_tensor.h"
#include "ops/tensor_bytes.h"

namespace ckpt::shards {
namespace {

/// Tensors that stay together, in the order of their names.
struct Block {
  std::vector<std::size_t> members;
  std::uint64_t bytes = 0;
};

std::vector<DenseTensor> dense_tensors(const Checkpoint& checkpoint, std::span<const NamedTensor> names) {
  std::vector<DenseTensor> dense;
  for (const NamedTensor& named : names) {
    auto tensor = named.tensor->info.layout == Layout::strided ? dense_tensor(checkpoint, named.name, *named.tensor)
                                                               : std::nullopt;
    if (!tensor)
      throw Error(ErrorCode::unsupported, "tensor '" + named.name + "' is sparse, nested or without elements")
          .expected("a dense tensor of numbers")
          .in(checkpoint.file)
          .hint(named_tensors::drop_hint(checkpoint, named.name));
    dense.push_back(*std::move(tensor));
  }
  return dense;
}

/// By the storage that they share.
std::vector<Block> blocks_by_storage(const Checkpoint& checkpoint, const std::vector<DenseTensor>& dense) {
  std::vector<Block> blocks;
  std::map<std::uint32_t, std::size_t> of;
  for (std::size_t i = 0; i < dense.size(); ++i) {
    const std::uint32_t storage = *dense[i].tensor->storage;
    const auto [found, fresh] = of.try_emplace(storage, blocks.size());
    if (fresh) blocks.push_back({{}, checkpoint.storages[storage].nbytes});
    blocks[found->second].members.push_back(i);
  }
  return blocks;
}

/// By the tensor that the others are views of.
std::vector<Block> blocks_by_tensor(const std::vector<DenseTensor>& dense, const named_tensors::Sharing& sharing) {
  NameViewMap<std::string_view> base;
  for (const named_tensors::View& view : sharing.views) base.emplace(view.name, view.of);
  std::vector<Block> blocks;
  NameViewMap<std::size_t> of;
  for (std::size_t i = 0; i < dense.size(); ++i) {
    const auto view = base.find(dense[i].name);
    const std::string_view name = view == base.end() ? std::string_view(dense[i].name) : view->second;
    const auto [found, fresh] = of.try_emplace(name, blocks.size());
    if (fresh) blocks.emplace_back();
    Block& block = blocks[found->second];
    block.members.push_back(i);
    if (view == base.end()) block.bytes = logical_bytes(*dense[i].placed);
  }
  return blocks;
}

std::vector<std::vector<std::size_t>> fill(const std::vector<Block>& blocks, std::uint64_t most) {
  std::vector<std::vector<std::size_t>> shards;
  std::vector<std::size_t> current;
  std::uint64_t bytes = 0;
  for (const Block& block : blocks) {
    if (block.bytes > most) {
      shards.push_back(block.members);
      continue;
    }
    if (block.bytes > most - bytes) {
      shards.push_back(std::move(current));
      current.clear();
      bytes = 0;
    }
    current.insert(current.end(), block.members.begin(), block.members.end());
    bytes += block.bytes;
  }
  if (!current.empty() || shards.empty()) shards.push_back(std::move(current));
  for (auto& shard : shards) std::sort(shard.begin(), shard.end());
  return shards;
}

}  // namespace

Split split(const Checkpoint& checkpoint, std::span<const NamedTensor> names, std::uint64_t shard_bytes,
            bool whole_storages) {
  const std::vector<DenseTensor> dense = dense_tensors(checkpoint, names);
  check_views_together(checkpoint, dense);
  Split split;
  split.is_view.resize(dense.size(), false);
  std::vector<Block> blocks;
  if (whole_storages) {
    blocks = blocks_by_storage(checkpoint, dense);
  } else {
    std::vector<const DenseTensor*> views;
    for (const DenseTensor& tensor : dense) views.push_back(&tensor);
    const named_tensors::Sharing sharing = named_tensors::find_sharing(views);
    split.is_view = sharing.is_view;
    blocks = blocks_by_tensor(dense, sharing);
  }
  for (const Block& block : blocks) split.bytes += block.bytes;
  split.shards = fill(blocks, shard_bytes == 0 ? std::numeric_limits<std::uint64_t>::max() : shard_bytes);
  return split;
}

}  // namespace ckpt::shards
