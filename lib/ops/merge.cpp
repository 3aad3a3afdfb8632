#include "ckpt/merge.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/ops.h"
#include "ckpt/state_dict.h"
#include "io/keyed_hash.h"
#include "model/each_tensor.h"
#include "model/end_of_file.h"
#include "model/graph_copy.h"
#include "model/joined_metadata.h"
#include "model/raise_protocol.h"
#include "model/rooted.h"
#include "model/tensor_calls.h"
#include "ops/prune.h"

namespace ckpt {
namespace {

/// Puts state dicts one behind the other into a checkpoint.
class Merger {
 public:
  /// What is made is named as the first file is in messages, and pickled in the latest protocol of all.
  explicit Merger(const std::vector<Checkpoint>& parts) {
    merged_.file = parts.front().file;
    merged_.gzip = parts.front().gzip;
    for (const Checkpoint& part : parts) merged_.protocol = std::max(merged_.protocol, part.protocol);
  }

  void add(Checkpoint next) {
    const std::string file = next.file;
    check_root(next);
    for (std::string& warning : finish_joined(next)) next.warnings.push_back(std::move(warning));
    const std::size_t told = next.warnings.size();
    if (next.tensors.empty() && !next.pickled) return add_texts(std::move(next));  // a part of texts alone
    next = take_root(std::move(next), "auto");
    for (std::size_t i = told; i < next.warnings.size(); ++i) next.warnings[i] = file + ": " + next.warnings[i];
    if (!has_format_) {  // it is of the format of the first one's state dict
      merged_.format = next.format;
      merged_.pickled = next.pickled;
      has_format_ = true;
    }
    raise_protocol(next.values, next.protocol, merged_.protocol);
    GraphCopy copy(next.values);
    const ValueId root = copy.below(next.root, merged_.values, latest_, next.discarded);
    latest_ = copy.latest();
    add_storages(next, copy);
    add_entries(root, file);
    for (GlobalUse& global : next.globals) {
      raise_protocol(global, next.protocol, merged_.protocol);
      if (global.file.empty()) global.file = file;
      add_global(std::move(global));
    }
    for (const ValueId id : next.discarded) merged_.discarded.push_back(copy.moved(id));
    add_texts(std::move(next));
  }

  void add_texts(Checkpoint next) {
    if (merged_.format.empty()) merged_.format = next.format;
    texts_.add(std::move(next.metadata), next.file, merged_.warnings);
    std::move(next.parts.begin(), next.parts.end(), std::back_inserter(merged_.parts));
    std::move(next.warnings.begin(), next.warnings.end(), std::back_inserter(merged_.warnings));
  }

  Checkpoint finish() {
    TensorCalls calls(merged_.values);
    merged_.root = calls.ordered_dict(entries_);
    if (!modules_.empty()) {
      const ValueId pair[] = {calls.text("_metadata"), calls.ordered_dict(modules_)};
      const ValueId state = calls.kept(merged_.values.make_container(ValueKind::dict));
      merged_.values.add_effect(state, EffectKind::set_items, pair);
      merged_.values.add_effect(merged_.root, EffectKind::build, std::span(&state, 1));
    }
    calls.list_globals(merged_.globals);
    merged_.metadata = texts_.take();
    return prune(std::move(merged_));
  }

 private:
  void add_storages(const Checkpoint& next, const GraphCopy& copy) {
    const auto before = static_cast<std::uint32_t>(merged_.storages.size());
    for (const Storage& storage : next.storages) {
      merged_.storages.push_back(storage);
      merged_.storages.back().key = std::to_string(merged_.storages.size() - 1);
    }
    for (const auto& [id, use] : next.storage_uses) {
      if (copy.moved(id) == no_value) continue;
      merged_.storage_uses.emplace_back(copy.moved(id), use);
      StorageUse& moved = merged_.storage_uses.back().second;
      moved.storage += before;
      if (use.view == nullptr) continue;
      StorageView view = *use.view;
      view.key += "_" + std::to_string(files_);
      moved.view = std::make_shared<const StorageView>(std::move(view));
    }
    std::sort(merged_.storage_uses.begin(), merged_.storage_uses.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Tensor> tensors;
    for (const Tensor& tensor : next.tensors)
      if (copy.moved(tensor.value) != no_value) tensors.push_back(tensor);
    each_tensor(tensors, [&](Tensor& tensor) {
      tensor.value = tensor.value == no_value ? no_value : copy.moved(tensor.value);
      if (tensor.device_holder != no_value) tensor.device_holder = copy.moved(tensor.device_holder);
      if (tensor.storage) *tensor.storage += before;
    });
    std::move(tensors.begin(), tensors.end(), std::back_inserter(merged_.tensors));
    ++files_;
  }

  void add_entries(ValueId state_dict, const std::string& file) {
    for (const MappingEntry& entry : mapping_entries(merged_.values, state_dict)) {
      const std::string key(merged_.values.text(entry.key));
      const auto [known, fresh] = file_of_.try_emplace(key, file);
      if (!fresh)
        throw Error(ErrorCode::invalid_argument, "'" + key + "' is in " + known->second + " and in " + file)
            .expected("each name in one of them")
            .hint("ckpt convert " + shell_word(file) +
                  " OTHER --add-prefix=second. gives one of them other names; "
                  "ckpt average makes one model of several");
      entries_.insert(entries_.end(), {entry.key, entry.value});
    }
    const ValueId metadata = state_dict_metadata(merged_.values, state_dict);
    if (metadata == no_value) return;
    for (const MappingEntry& entry : mapping_entries(merged_.values, metadata)) {
      if (!merged_.values.is_string(entry.key)) continue;
      // Modules on the way to what several files have, the empty name first, are in each.
      if (!module_names_.emplace(merged_.values.text(entry.key)).second) continue;
      modules_.insert(modules_.end(), {entry.key, entry.value});
    }
  }

  void add_global(GlobalUse global) {
    if (globals_.emplace(global.module, global.name).second) merged_.globals.push_back(std::move(global));
  }

  Checkpoint merged_;
  Time latest_ = 0;
  std::size_t files_ = 0;
  bool has_format_ = false;
  std::vector<ValueId> entries_, modules_;  ///< keys and values in turn
  NameMap<std::string> file_of_;
  NameSet module_names_;
  std::set<std::pair<std::string, std::string>> globals_;
  JoinedMetadata texts_;
};

}  // namespace

Checkpoint merge(std::vector<Checkpoint> checkpoints) {
  if (checkpoints.empty()) throw Error(ErrorCode::invalid_argument, "no checkpoint to merge").expected("one at least");
  Merger merger(checkpoints);
  for (Checkpoint& checkpoint : checkpoints) merger.add(std::move(checkpoint));
  return merger.finish();
}

}  // namespace ckpt
