#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>

#include "ckpt/checkpoint.h"
#include "ckpt/error.h"
#include "ckpt/glob.h"
#include "ckpt/limits.h"
#include "ckpt/ops.h"
#include "ckpt/quantizer.h"
#include "io/bytes.h"
#include "io/checksum.h"
#include "io/stream.h"
#include "io/workers.h"
#include "model/python_str.h"
#include "model/walk.h"
#include "ops/dense_tensor.h"
#include "ops/root.h"
#include "ops/tensor_bytes.h"
#include "ops/unpacked.h"

namespace ckpt {
namespace {

/// Storage by storage, each forward; equal views stand side by side.
auto reading_order(const DenseTensor& job) {
  const TensorInfo& info = *job.placed;
  return std::tie(*job.tensor->storage, job.begin, info.dtype, info.shape, info.stride, info.conjugate, info.negative);
}

/// The tensors to hash, and what quantised ones say beside their integers.
struct Jobs {
  std::vector<DenseTensor> all;
  std::unordered_map<const Tensor*, std::string> quantizers;
};

/// What quantised tensors say beside their integers: "per_tensor_affine(0.1,3)".
class Quantizers {
 public:
  explicit Quantizers(const Checkpoint& checkpoint) : checkpoint_(checkpoint), budget_(checkpoint.file) {}

  /// The numbers of channels that are tensors are jobs of their own.
  void add(const NamedTensor& named, Jobs& jobs) {
    if (tensors_.empty()) tensors_ = tensors_by_value(checkpoint_);
    const Quantizer quantizer = quantizer_of(checkpoint_.values, tensors_, *named.tensor);
    std::string text = "per_channel_affine(" + std::to_string(quantizer.axis);
    if (!quantizer.per_channel)
      text = "per_tensor_affine(" + float_repr(quantizer.scale) + "," + std::to_string(quantizer.zero_point);
    else
      for (const bool scales : {true, false}) {
        const ChannelNumbers& numbers = scales ? quantizer.scales : quantizer.zero_points;
        if (const auto* const list = std::get_if<ValueId>(&numbers))
          text += list_text(*list);
        else
          add_dense_tensors(checkpoint_, part_name(named.name, scales ? "scales" : "zero_points"),
                            *std::get<const Tensor*>(numbers), jobs.all);
      }
    jobs.quantizers[named.tensor] = text + ")";
  }

 private:
  /// Many tensors may share a long one.
  const std::string& list_text(ValueId list) {
    const auto [known, fresh] = lists_.try_emplace(list);
    if (fresh) {
      for (const double number : listed_numbers(checkpoint_.values, list))
        known->second += (known->second.empty() ? ",[" : ",") + float_repr(number);
      known->second += known->second.empty() ? ",[]" : "]";
    }
    budget_.spend(known->second.size());
    return known->second;
  }

  const Checkpoint& checkpoint_;
  TensorsByValue tensors_;
  NameBudget budget_;
  std::unordered_map<ValueId, std::string> lists_;
};

Jobs jobs_below(const Checkpoint& checkpoint, const std::string& root, const std::vector<std::string>& keys = {}) {
  Jobs jobs;
  Quantizers quantizers(checkpoint);
  const std::vector<NamedTensor> names = tensors_below(checkpoint, root);
  jobs.all.reserve(names.size());
  for (const NamedTensor& named : names) {
    if (!any_glob_match(keys, named.name)) continue;
    add_dense_tensors(checkpoint, named.name, *named.tensor, jobs.all);
    if (!is_quantised(named.tensor->info.dtype)) continue;
    try {
      quantizers.add(named, jobs);
    } catch (Error& error) {
      error.within("tensor '" + named.name + "'");
      throw;
    }
  }
  return jobs;
}

/// True where the tensor's bytes are the storage's, one for one.
bool is_whole_storage(const Storage& storage, const TensorInfo& placed) {
  const bool as_stored = storage.byte_order == ByteOrder::little || dtype_swap_size(storage.dtype) == 1;
  return as_stored && !placed.conjugate && !placed.negative && placed.offset == 0 && is_contiguous(placed) &&
         logical_bytes(placed) == storage.nbytes;
}

/// In hexadecimal digits.
using Hash = std::array<char, 64>;

std::string_view text_of(const Hash& hash) { return {hash.data(), hash.size()}; }

/// A view to be hashed.
struct View {
  const DenseTensor* tensor = nullptr;
  bool first = false;  ///< of its storage
  Hash sha256{};
};

/// Of the first view of a storage, the storage's recorded checksum is compared too, in the same reading where the
/// tensor is the whole of it.
Hash sha256_of(const Checkpoint& checkpoint, const View& view, ReadAhead ahead) {
  const DenseTensor& job = *view.tensor;
  const Storage& storage = checkpoint.storages[*job.tensor->storage];
  Sha256 hash;
  const auto update = [&](std::span<const std::byte> bytes) { hash.update(bytes); };
  try {
    if (is_whole_storage(storage, *job.placed)) {
      stream_all(*storage.bytes, update, ahead);
    } else {
      if (view.first && storage.bytes->recorded_crc32()) check_all(*storage.bytes);
      stream_tensor(storage, *job.placed, update);
    }
  } catch (Error& error) {
    error.within("tensor '" + job.name + "'");
    throw;
  }
  Hash digits{};
  const std::string text = hash.hex();
  std::copy_n(text.begin(), digits.size(), digits.begin());
  return digits;
}

/// What the jobs come down to: a view is hashed once, however many names it has.
struct Views {
  std::vector<View> all;                ///< in the order in which they are read
  std::vector<std::uint32_t> of_a_job;  ///< each job's place in `all`
};

Views views_of(const Checkpoint& checkpoint, const std::vector<DenseTensor>& jobs) {
  std::vector<std::uint32_t> order(jobs.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return reading_order(jobs[a]) < reading_order(jobs[b]); });
  Views views;
  views.all.reserve(jobs.size());
  views.of_a_job.resize(jobs.size());
  for (const std::uint32_t i : order) {
    if (views.all.empty() || reading_order(*views.all.back().tensor) != reading_order(jobs[i])) {
      const bool first = views.all.empty() || views.all.back().tensor->tensor->storage != jobs[i].tensor->storage;
      views.all.push_back({&jobs[i], first, {}});
    }
    views.of_a_job[i] = static_cast<std::uint32_t>(views.all.size() - 1);
  }
  check_views_together(checkpoint, views.all, [](const View& view) -> const DenseTensor& { return *view.tensor; });
  return views;
}

bool all_lie_there(const Checkpoint& checkpoint, const std::vector<View>& views) {
  return std::all_of(views.begin(), views.end(),
                     [&](const View& view) { return lies_there(checkpoint.storages[*view.tensor->tensor->storage]); });
}

/// Views side by side that are worth a task of their own.
std::vector<std::span<View>> batches_of(std::vector<View>& views) {
  constexpr std::uint64_t worth = limits::mib;
  std::vector<std::span<View>> batches;
  std::uint64_t bytes = 0;
  for (std::size_t begin = 0, end = 1; end <= views.size(); ++end) {
    bytes += logical_bytes(*views[end - 1].tensor->placed);
    if (bytes < worth && end < views.size()) continue;
    batches.push_back(std::span(views).subspan(begin, end - begin));
    begin = end;
    bytes = 0;
  }
  return batches;
}

void hash_all(const Checkpoint& checkpoint, std::vector<View>& views) {
  if (all_lie_there(checkpoint, views)) {
    Workers workers;
    std::vector<Workers::TaskPtr> tasks;
    for (const std::span<View> batch : batches_of(views))
      tasks.push_back(workers.start([&checkpoint, batch] {
        for (View& view : batch) view.sha256 = sha256_of(checkpoint, view, ReadAhead::no);
      }));
    for (const auto& task : tasks) workers.finish(task);
  } else {
    for (View& view : views) view.sha256 = sha256_of(checkpoint, view, ReadAhead::yes);
  }
}

std::string sizes_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(shape[i]);
  return text + "]";
}

/// A name, in one line whatever is in it: a backslash stands as two, a line feed as a backslash and an n.
void append_name(std::string& line, std::string_view name) {
  for (const char c : name) {
    if (c == '\\')
      line += "\\\\";
    else if (c == '\n')
      line += "\\n";
    else
      line.push_back(c);
  }
}

/// What a line of the total has behind the hash.
std::string ending_of(const DenseTensor& job, const Jobs& jobs) {
  const TensorInfo &info = job.tensor->info, &whole = job.whole->info;
  std::string line = " " + std::string(dtype_name(info.dtype)) + " " + sizes_text(info.shape) + " ";
  if (job.whole != job.tensor)
    line += "of " + std::string(layout_name(whole.layout)) + " " + sizes_text(whole.shape) + " ";
  if (const auto found = jobs.quantizers.find(job.tensor); found != jobs.quantizers.end()) line += found->second + " ";
  append_name(line, job.name);
  return line + "\n";
}

/// Of the lines of all tensors, in their order; a hash is what each begins with.
std::string total_of(const Jobs& jobs, const Views& views) {
  using Line = std::pair<std::string_view, std::string>;
  std::vector<Line> lines;
  lines.reserve(jobs.all.size());
  for (std::size_t i = 0; i < jobs.all.size(); ++i)
    lines.emplace_back(text_of(views.all[views.of_a_job[i]].sha256), ending_of(jobs.all[i], jobs));
  std::sort(lines.begin(), lines.end());
  Sha256 total;
  for (const auto& [hash, ending] : lines) {
    total.update(as_bytes(hash));
    total.update(as_bytes(ending));
  }
  return total.hex();
}

}  // namespace

void check_views(const Checkpoint& checkpoint, std::string_view root) {
  try {
    // Each under all its names: that is how often it is copied.
    check_views_together(checkpoint, jobs_below(checkpoint, resolve_root(checkpoint, root)).all);
  } catch (Error& error) {
    error.in(checkpoint.file);
    throw;
  }
}

CheckpointDigest digest(const Checkpoint& packed, std::string_view root, const std::vector<std::string>& keys) {
  try {
    std::optional<Unpacked> unpacked;
    if (root == "auto") unpacked.emplace(packed);
    const Checkpoint& checkpoint = unpacked ? unpacked->get() : packed;
    Jobs jobs = jobs_below(checkpoint, resolve_root(checkpoint, root), keys);
    Views views = views_of(checkpoint, jobs.all);
    hash_all(checkpoint, views.all);
    finish_reading(checkpoint);
    CheckpointDigest result{total_of(jobs, views), {}};
    result.tensors.reserve(jobs.all.size());
    for (std::size_t i = 0; i < jobs.all.size(); ++i)
      result.tensors.push_back(
          {std::move(jobs.all[i].name), std::string(text_of(views.all[views.of_a_job[i]].sha256))});
    return result;
  } catch (Error& error) {
    error.in(packed.file);
    throw;
  }
}

}  // namespace ckpt
