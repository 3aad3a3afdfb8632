#include "inspection.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "ckpt/dtype.h"
#include "ckpt/glob.h"
#include "ckpt/ops.h"
#include "ckpt/state_dict.h"

namespace ckpt::tools {
namespace {

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

std::uint64_t capped_add(std::uint64_t a, std::uint64_t b) { return a > largest - b ? largest : a + b; }
std::uint64_t capped_multiply(std::uint64_t a, std::uint64_t b) { return b != 0 && a > largest / b ? largest : a * b; }

std::vector<TensorRow> all_rows(const Checkpoint& checkpoint, std::vector<std::string>& warnings) {
  std::vector<NamedTensor> names = tensor_names(checkpoint, &warnings);
  std::vector<TensorRow> rows;
  rows.reserve(names.size());
  std::vector<std::optional<std::size_t>> numbers(checkpoint.storages.size());
  std::size_t next = 0;
  for (NamedTensor& named : names) {
    TensorRow row{std::move(named.name), named.tensor, {}, 0};
    if (named.tensor->storage) {
      std::optional<std::size_t>& number = numbers[*named.tensor->storage];
      if (!number) number = next++;
      row.storage = number;
    }
    row.nbytes = logical_bytes(*named.tensor);
    rows.push_back(std::move(row));
  }
  return rows;
}

void count(Inspection& inspection) {
  std::vector<bool> counted(inspection.checkpoint->tensors.size());
  std::map<std::string, std::size_t> devices;
  for (const TensorRow& row : inspection.rows) {
    const std::string device = device_of(inspection, row);
    if (!device.empty()) ++devices[device];
    const auto place = static_cast<std::size_t>(row.tensor - inspection.checkpoint->tensors.data());
    if (counted[place]) continue;  // the same tensor under another name
    counted[place] = true;
    ++inspection.tensors;
    inspection.parameters = capped_add(inspection.parameters, element_count(row.tensor->info));
    inspection.logical_bytes = capped_add(inspection.logical_bytes, row.nbytes);
  }
  inspection.devices.assign(devices.begin(), devices.end());
  std::sort(inspection.devices.begin(), inspection.devices.end(),
            [](const auto& a, const auto& b) { return std::tie(b.second, a.first) < std::tie(a.second, b.first); });
  for (const Storage& storage : inspection.checkpoint->storages) {
    inspection.storage_bytes = capped_add(inspection.storage_bytes, storage.nbytes);
  }
}

// What tensors use of one storage. Tensors that view the same elements in the same way (tied weights) count once.
struct Use {
  std::set<std::tuple<std::int64_t, std::vector<std::int64_t>, std::vector<std::int64_t>>> views;
  std::uint64_t bytes = 0, largest_view = 0;
  std::string name;
};

void add_use(Use& use, const Tensor& tensor, const std::string& name) {
  const TensorInfo& info = tensor.info;
  const std::uint64_t bytes = logical_bytes(tensor);
  if (use.views.emplace(info.offset, info.shape, info.stride).second) use.bytes = capped_add(use.bytes, bytes);
  if (use.name.empty() || bytes > use.largest_view) use.name = name, use.largest_view = bytes;
}

std::vector<WastefulStorage> wasteful_storages(const Checkpoint& checkpoint, const std::vector<TensorRow>& rows) {
  constexpr std::uint64_t tolerated_factor = 4, tolerated_bytes = 1 << 20;
  std::map<std::uint32_t, Use> uses;  // of storages that are large enough to matter
  const auto add = [&](const Tensor& tensor, const std::string& name, std::string_view part) {
    if (!tensor.storage || checkpoint.storages[*tensor.storage].nbytes <= tolerated_bytes) return;
    add_use(uses[*tensor.storage], tensor, part.empty() ? name : name + "." + std::string(part));
  };
  for (const TensorRow& row : rows) {
    add(*row.tensor, row.name, {});
    for (const Tensor::Part& part : row.tensor->parts) add(part.tensor, row.name, part.name);
  }
  std::vector<WastefulStorage> found;
  for (const auto& [storage, use] : uses) {
    const std::uint64_t held = checkpoint.storages[storage].nbytes;
    if (held / tolerated_factor > use.bytes) found.push_back({use.name, use.views.size() - 1, use.bytes, held});
  }
  return found;
}

StateDictSummary summary_of(const Checkpoint& checkpoint, const StateDict& state_dict) {
  std::array<std::size_t, std::size(wrapper_prefixes)> counts{};  // counts[0]: of DataParallel's
  StateDictSummary summary{state_dict.path, 0, {}, 0};
  for (const MappingEntry& entry : mapping_entries(checkpoint.values, state_dict.value)) {
    ++summary.keys;
    const std::string_view key = checkpoint.values.text(entry.key);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (key.substr(0, wrapper_prefixes[i].size()) == wrapper_prefixes[i]) ++counts[i];
    }
  }
  const std::size_t most = static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
  // "module." is a wrapper's even on some keys only; the others are ordinary names where not every key has them.
  const std::size_t chosen = counts[0] > 0 ? 0 : most;
  if (counts[chosen] == 0 || (chosen != 0 && counts[chosen] != summary.keys)) return summary;
  summary.prefix = wrapper_prefixes[chosen];
  summary.prefixed_keys = counts[chosen];
  return summary;
}

/// Keys of the root under which no state dict, module or optimizer's state stands.
std::vector<std::string> other_parts(const Inspection& inspection) {
  const Checkpoint& checkpoint = *inspection.checkpoint;
  std::vector<std::string> others;
  if (checkpoint.root == no_value || !is_mapping(checkpoint.values, checkpoint.root)) return others;
  std::vector<std::string_view> paths;
  for (const StateDictSummary& found : inspection.state_dicts) paths.push_back(found.path);
  for (const Module& found : inspection.modules) paths.push_back(found.path);
  for (const OptimizerState& found : inspection.optimizers)
    for (const OptimizerState::Part& part : found.parts) paths.push_back(part.path);
  std::sort(paths.begin(), paths.end());
  if (paths.empty() || paths.front().empty()) return others;
  for (const MappingEntry& entry : mapping_entries(checkpoint.values, checkpoint.root)) {
    if (!checkpoint.values.is_string(entry.key)) continue;
    const std::string_view key = checkpoint.values.text(entry.key);
    const std::string below = std::string(key) + ".";
    const auto first = std::lower_bound(paths.begin(), paths.end(), std::string_view(below));
    const bool leads =
        std::binary_search(paths.begin(), paths.end(), key) || (first != paths.end() && first->starts_with(below));
    if (!leads) others.emplace_back(key);
  }
  return others;
}

}  // namespace

std::string device_of(const Inspection& inspection, const TensorRow& row) {
  return ckpt::device_of(*inspection.checkpoint, *row.tensor);
}

std::uint64_t logical_bytes(const Tensor& tensor) {
  const auto bytes_of = [](const TensorInfo& info) {
    const std::uint64_t count = dtype_per_byte(info.dtype) == 1 ? element_count(info) : element_count(packed(info));
    return capped_multiply(count, dtype_size(info.dtype));
  };
  if (tensor.parts.empty()) return bytes_of(tensor.info);
  std::uint64_t sum = 0;
  for (const Tensor::Part& part : tensor.parts) sum = capped_add(sum, bytes_of(part.tensor.info));
  return sum;
}

Inspection inspect_checkpoint(const Checkpoint& checkpoint, std::string file, std::uint64_t file_bytes,
                              const std::vector<std::string>& keys) {
  Inspection inspection;
  inspection.file = std::move(file);
  inspection.file_bytes = file_bytes;
  inspection.checkpoint = &checkpoint;
  inspection.warnings = checkpoint.warnings;
  inspection.rows = all_rows(checkpoint, inspection.warnings);
  inspection.wasteful = wasteful_storages(checkpoint, inspection.rows);
  const auto unmatched = [&](const TensorRow& row) { return !any_glob_match(keys, row.name); };
  inspection.rows.erase(std::remove_if(inspection.rows.begin(), inspection.rows.end(), unmatched),
                        inspection.rows.end());
  count(inspection);
  Parts parts = find_parts(checkpoint);
  for (const StateDict& state_dict : parts.state_dicts) {
    inspection.state_dicts.push_back(summary_of(checkpoint, state_dict));
  }
  inspection.weights_only = weights_only_options(checkpoint, parts);
  inspection.modules = std::move(parts.modules);
  inspection.optimizers = std::move(parts.optimizers);
  inspection.others = other_parts(inspection);
  return inspection;
}

void add_figures(Inspection& inspection, const std::vector<std::string>& keys) {
  CheckpointStats found = stats(*inspection.checkpoint, {{}, keys});
  // Keys 1 and '1' are two tensors of one name: both lists have them in one order.
  using Names = std::pair<std::string_view, std::string_view>;
  std::multimap<Names, std::optional<Figures>*> by_names;
  for (TensorStats& tensor : found.tensors) by_names.emplace(Names(tensor.whole, tensor.name), &tensor.figures);
  inspection.with_figures = true;
  inspection.figures.resize(inspection.rows.size());
  for (std::size_t i = 0; i < inspection.rows.size(); ++i) {
    const TensorRow& row = inspection.rows[i];
    const std::string name = row.tensor->parts.empty() ? row.name : row.name.empty() ? "values" : row.name + ".values";
    const auto [at, end] = by_names.equal_range(Names(row.name, name));
    if (at == end) continue;
    inspection.figures[i] = std::move(*at->second);
    by_names.erase(at);
  }
}

}  // namespace ckpt::tools
