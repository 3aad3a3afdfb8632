#include "inspection.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>

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
  std::vector<TensorRow> rows;
  std::unordered_map<std::uint32_t, std::size_t> numbers;
  for (NamedTensor& named : tensor_names(checkpoint, &warnings)) {
    TensorRow row{std::move(named.name), named.tensor, device_of(checkpoint, *named.tensor), {}, 0};
    if (named.tensor->storage) row.storage = numbers.try_emplace(*named.tensor->storage, numbers.size()).first->second;
    row.nbytes = logical_bytes(*named.tensor);
    rows.push_back(std::move(row));
  }
  return rows;
}

void count(Inspection& inspection) {
  std::set<const Tensor*> different;
  std::map<std::string, std::size_t> devices;
  for (const TensorRow& row : inspection.rows) {
    if (!row.device.empty()) ++devices[row.device];
    if (!different.insert(row.tensor).second) continue;  // the same tensor under another name
    inspection.parameters = capped_add(inspection.parameters, element_count(row.tensor->info));
    inspection.logical_bytes = capped_add(inspection.logical_bytes, row.nbytes);
  }
  inspection.tensors = different.size();
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

void add_use(std::unordered_map<std::uint32_t, Use>& uses, const Tensor& tensor, const std::string& name) {
  if (!tensor.storage) return;
  Use& use = uses[*tensor.storage];
  const TensorInfo& info = tensor.info;
  const std::uint64_t bytes = logical_bytes(tensor);
  if (use.views.emplace(info.offset, info.shape, info.stride).second) use.bytes = capped_add(use.bytes, bytes);
  if (use.name.empty() || bytes > use.largest_view) use.name = name, use.largest_view = bytes;
}

std::vector<WastefulStorage> wasteful_storages(const Checkpoint& checkpoint, const std::vector<TensorRow>& rows) {
  constexpr std::uint64_t tolerated_factor = 4, tolerated_bytes = 1 << 20;
  std::unordered_map<std::uint32_t, Use> uses;
  for (const TensorRow& row : rows) {
    add_use(uses, *row.tensor, row.name);
    for (const Tensor::Part& part : row.tensor->parts) add_use(uses, part.tensor, row.name + "." + part.name);
  }
  std::vector<WastefulStorage> found;
  for (std::uint32_t i = 0; i < checkpoint.storages.size(); ++i) {
    const auto use = uses.find(i);
    const std::uint64_t held = checkpoint.storages[i].nbytes;
    if (use == uses.end() || held <= tolerated_bytes) continue;
    if (held / tolerated_factor > use->second.bytes) found.push_back({use->second.name, use->second.bytes, held});
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

}  // namespace

std::uint64_t logical_bytes(const Tensor& tensor) {
  if (tensor.parts.empty()) return capped_multiply(element_count(packed(tensor.info)), dtype_size(tensor.info.dtype));
  std::uint64_t sum = 0;
  for (const Tensor::Part& part : tensor.parts) {
    sum = capped_add(sum, capped_multiply(element_count(packed(part.tensor.info)), dtype_size(part.tensor.info.dtype)));
  }
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
  for (const StateDict& state_dict : find_state_dicts(checkpoint)) {
    inspection.state_dicts.push_back(summary_of(checkpoint, state_dict));
  }
  return inspection;
}

}  // namespace ckpt::tools
