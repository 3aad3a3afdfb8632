#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "ckpt/assemble.h"
#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "ckpt/state_dict.h"
#include "dcp/dcp.h"
#include "dcp/flatten.h"
#include "dcp/metadata_writer.h"
#include "io/bytes.h"
#include "model/dropped_calls.h"
#include "model/graph_copy.h"
#include "model/walk.h"
#include "named_tensors/losses.h"
#include "named_tensors/names.h"
#include "ops/dense_tensor.h"
#include "ops/gathered_source.h"
#include "ops/value_view.h"
#include "ops/watched_source.h"
#include "pickle/sharing.h"
#include "pickled_tensors/read_pickle.h"

namespace ckpt::dcp {
namespace {

constexpr std::string_view item_file = "__0_0.distcp";

/// Whether its elements lie one after the other, in whatever order of the dimensions: torch saves such a tensor as it
/// lies.
bool is_packed(const TensorInfo& info) {
  std::vector<std::size_t> order(info.shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return info.stride[a] > info.stride[b]; });
  std::int64_t step = 1;
  for (auto d = order.rbegin(); d != order.rend(); ++d) {
    if (info.shape[*d] == 1) continue;
    if (info.stride[*d] != step) return false;
    step *= info.shape[*d];
  }
  return true;
}

class Writer {
 public:
  Writer(const Checkpoint& checkpoint, FolderSink& folder, const WriteOptions& options)
      : checkpoint_(checkpoint),
        folder_(folder),
        options_(options),
        flat_(flatten(checkpoint)),
        storages_(watched_storages(checkpoint)),
        copy_(checkpoint.values),
        dropped_(checkpoint.values, checkpoint.root, checkpoint.discarded),
        torch_(*find_format("torch")) {}

  WriteReceipt run() {
    torch::refuse_dangerous(checkpoint_, options_.allow_unsafe);
    std::vector<DenseTensor> dense;
    for (const Leaf& leaf : flat_.leaves) {
      if (leaf.tensor == nullptr) continue;
      refuse_strange(leaf);
      add_dense_tensors(checkpoint_, leaf.name, *leaf.tensor, dense);
    }
    check_views_together(checkpoint_, dense);
    const auto file = folder_.add(std::string(item_file));
    for (const Leaf& leaf : flat_.leaves) {
      WrittenItem item{.offset = file->offset()};
      if (leaf.tensor != nullptr)
        write_tensor(leaf, *file, item);
      else
        write_value(leaf, *file);
      item.length = file->offset() - item.offset;
      items_.push_back(std::move(item));
    }
    finish_watching(storages_);
    file->commit();
    const auto metadata = folder_.add(".metadata");
    metadata->write(as_bytes(metadata_pickle(flat_, items_, std::string(item_file), options_.protocol)));
    metadata->commit();
    return std::move(receipt_);
  }

 private:
  void refuse_strange(const Leaf& leaf) const {
    const TensorInfo& info = leaf.tensor->info;
    const bool strided = info.layout == Layout::strided && leaf.tensor->parts.empty();
    const std::string what = !strided                   ? "torch." + std::string(layout_name(info.layout))
                             : is_quantised(info.dtype) ? "quantised (" + std::string(dtype_name(info.dtype)) + ")"
                                                        : "";
    if (what.empty()) return;
    throw Error(ErrorCode::unsupported, "tensor '" + leaf.name + "' is " + what)
        .expected("a tensor that torch.distributed.checkpoint can save")
        .in(checkpoint_.file)
        .hint(named_tensors::drop_hint(checkpoint_, leaf.name));
  }

  /// The tensor alone, in a storage of its own.
  TensorSource alone(const DenseTensor& dense) const {
    Storage storage = storages_[*dense.tensor->storage];
    const TensorInfo& info = *dense.placed;
    const std::uint64_t size = element_count(info) * dtype_size(info.dtype);
    TensorSource source{.name = dense.name, .dtype = info.dtype, .shape = info.shape};
    const bool straight = is_packed(info) && !info.conjugate && !info.negative;
    if (size == 0) {
      source.bytes = memory_source({}, storage.bytes->name());
    } else if (straight && (storage.byte_order == ByteOrder::little || !storage.typed)) {
      source.stride = info.stride;
      source.bytes = size == storage.nbytes ? storage.bytes
                                            : slice(storage.bytes, dense.begin, size, storage.bytes->source_name());
    } else {
      // Watched already: what this tensor does not show is read once, in the end, and not for each tensor.
      storage.bytes = slice(storage.bytes, 0, storage.nbytes, storage.bytes->source_name());
      source.bytes = gathered_source(std::move(storage), info);
    }
    return source;
  }

  void write_tensor(const Leaf& leaf, ByteSink& sink, WrittenItem& item) {
    const auto dense = dense_tensor(checkpoint_, leaf.name, *leaf.tensor);
    if (!dense)
      throw Error(ErrorCode::unsupported, "tensor '" + leaf.name + "' is on the meta device: it has no bytes")
          .in(checkpoint_.file)
          .hint(named_tensors::drop_hint(checkpoint_, leaf.name));
    item.dtype = leaf.tensor->info.dtype;
    item.shape = leaf.tensor->info.shape;
    Checkpoint only = assemble_one(alone(*dense));
    keep(torch_.write(only, sink, {}));
  }

  /// What torch.save would write of the value, with the storages of tensors in it.
  void write_value(const Leaf& leaf, ByteSink& sink) {
    Checkpoint part;
    part.root = copy_.below(leaf.value, part.values);
    if (const auto dropped = dropped_.that_change(copy_.reached()); !dropped.empty()) {
      part.values.clear();
      part.root = copy_.below(leaf.value, part.values, 0, dropped);
      for (const ValueId id : dropped) part.discarded.push_back(copy_.moved(id));
    }
    part.format = "torch";
    part.file = checkpoint_.file;
    part.protocol = checkpoint_.protocol;
    spend(copy_.reached());
    std::map<std::uint32_t, std::uint32_t> places;  // of storages, in the order in which they are written
    for (const ValueId id : copy_.reached()) {
      const StorageUse* const use = find_storage_use(checkpoint_, id);
      if (use == nullptr) continue;
      places[use->storage] = 0;
      part.storage_uses.emplace_back(copy_.moved(id), *use);
    }
    for (auto& [index, place] : places) {
      place = static_cast<std::uint32_t>(part.storages.size());
      part.storages.push_back(storages_[index]);
      part.storages.back().key = std::to_string(place);
    }
    for (auto& [id, use] : part.storage_uses) use.storage = places[use.storage];
    keep(torch_.write(part, sink, {.protocol = options_.protocol, .allow_unsafe = true}));
  }

  /// A few bytes hold one large value under thousands of names, and it is written for each.
  void spend(std::span<const ValueId> copied) {
    for (const ValueId id : copied) copied_ += cost_of(id);
    if (copied_ <= limits::dcp_steps) return;
    if (!cost_of_all_) {
      cost_of_all_ = 0;
      for (ValueId id = 0; id < checkpoint_.values.size(); ++id) *cost_of_all_ += cost_of(id);
    }
    if (copied_ <= limits::dcp_copies * *cost_of_all_) return;
    throw Error(ErrorCode::limit_exceeded, "values that several names share would be written more than " +
                                               std::to_string(limits::dcp_copies) + " times over")
        .in(checkpoint_.file)
        .hint("--format torch keeps them shared");
  }

  std::uint64_t cost_of(ValueId id) const {
    std::uint64_t operands = 0;
    checkpoint_.values.each_operand(id, [&](ValueId) { ++operands; });
    const StorageUse* const use = find_storage_use(checkpoint_, id);
    const std::uint64_t bytes =
        use != nullptr ? checkpoint_.storages[use->storage].nbytes : pickle::text_bytes(checkpoint_.values, id);
    return 1 + operands + bytes / bytes_a_step;
  }

  /// Storages are numbered through, in the order in which they are read again.
  void keep(const WriteReceipt& item) {
    for (std::size_t i = 0; i < item.size(); ++i) {
      const auto found = item.find(std::to_string(i));
      if (found == item.end())
        throw Error(ErrorCode::unsupported, "a value holds views of storages, as files before torch 1.6 have them")
            .in(checkpoint_.file)
            .hint("--format torch writes a file that can be converted to dcp");
      receipt_[std::to_string(receipt_.size())] = found->second;
    }
  }

  const Checkpoint& checkpoint_;
  FolderSink& folder_;
  const WriteOptions& options_;
  FlatDict flat_;
  std::vector<Storage> storages_;
  GraphCopy copy_;
  DroppedCalls dropped_;
  const Format& torch_;
  std::vector<WrittenItem> items_;
  WriteReceipt receipt_;
  std::uint64_t copied_ = 0;  ///< by cost_of()
  std::optional<std::uint64_t> cost_of_all_;
};

bool has_attributes(const Checkpoint& checkpoint) {
  const ValueGraph& values = checkpoint.values;
  for (ValueId id = 0; id < values.size(); ++id)
    if (is_mapping(values, id) && named_tensors::has_attributes(values, id)) return true;
  return false;
}

}  // namespace

WriteReceipt write_folder(const Checkpoint& checkpoint, FolderSink& sink, const WriteOptions& options) {
  return Writer(checkpoint, sink, options).run();
}

std::vector<std::string> losses(const Checkpoint& checkpoint) {
  const FlatDict flat = flatten(checkpoint);
  std::vector<std::string> lost;
  if (const auto [a, b] = named_tensors::shared_pair(flat.leaves); a != b)
    lost.push_back("tensors that share storage, such as '" + a + "' and '" + b + "', are written one by one");
  if (flat.has_other_keys) lost.emplace_back(named_tensors::keys_become_strings);
  if (flat.has_empty_dicts) lost.emplace_back("empty dicts are left out");
  if (flat.has_other_mappings) lost.emplace_back(named_tensors::mappings_become_dicts);
  if (has_attributes(checkpoint)) lost.emplace_back(named_tensors::attributes_are_left_out);
  const auto on_device = [&](const Leaf& leaf) {
    return leaf.tensor != nullptr && !device_of(checkpoint, *leaf.tensor).starts_with("cpu");
  };
  if (std::any_of(flat.leaves.begin(), flat.leaves.end(), on_device))
    lost.emplace_back("devices are left out: items are on the CPU, and loaded to where the model is");
  const ValueViews views(checkpoint);
  const auto special = [&](const Leaf& leaf) {
    if (leaf.tensor == nullptr) return false;
    const TensorFacts facts = tensor_facts(views, checkpoint, leaf.value);
    return facts.type != "torch.Tensor" || facts.requires_grad || !facts.children.empty();
  };
  if (std::any_of(flat.leaves.begin(), flat.leaves.end(), special))
    lost.emplace_back("what tensors are besides their elements (Parameter, requires_grad) is left out");
  return lost;
}

}  // namespace ckpt::dcp
