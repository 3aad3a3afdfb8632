#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <tuple>

#include "ckpt/checkpoint.h"
#include "ckpt/error.h"
#include "ckpt/glob.h"
#include "ckpt/limits.h"
#include "ckpt/ops.h"
#include "io/bytes.h"
#include "io/checksum.h"
#include "io/stream.h"
#include "io/workers.h"
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

std::vector<DenseTensor> jobs_below(const Checkpoint& checkpoint, const std::string& root,
                                    const std::vector<std::string>& keys = {}) {
  std::vector<DenseTensor> jobs;
  std::vector<NamedTensor> names = tensors_below(checkpoint, root);
  jobs.reserve(names.size());
  for (NamedTensor& named : names)
    if (any_glob_match(keys, named.name)) add_dense_tensors(checkpoint, std::move(named.name), *named.tensor, jobs);
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

/// What a line of the total has between hash and name.
std::string kind_of(const TensorInfo& info) {
  std::string kind = " " + std::string(dtype_name(info.dtype)) + " [";
  for (std::size_t i = 0; i < info.shape.size(); ++i) kind += (i == 0 ? "" : ",") + std::to_string(info.shape[i]);
  return kind + "] ";
}

/// Whether the line that ends in `a` comes before the one that ends in `b`, bytewise.
bool ends_before(std::string_view a, std::string_view b) {
  const auto [at, there] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  const auto byte = [](auto place, auto end) { return static_cast<unsigned char>(place == end ? '\n' : *place); };
  return !(at == a.end() && there == b.end()) && byte(at, a.end()) < byte(there, b.end());
}

/// Of the lines of all tensors, in their order; a hash is what each begins with.
std::string total_of(const std::vector<DenseTensor>& jobs, const Views& views) {
  std::vector<std::string> kinds;
  kinds.reserve(jobs.size());
  for (const DenseTensor& job : jobs) kinds.push_back(kind_of(job.tensor->info));
  const auto hash = [&](std::uint32_t job) { return text_of(views.all[views.of_a_job[job]].sha256); };
  std::vector<std::uint32_t> order(jobs.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (const int difference = hash(a).compare(hash(b)); difference != 0) return difference < 0;
    if (const int difference = kinds[a].compare(kinds[b]); difference != 0) return difference < 0;
    return ends_before(jobs[a].name, jobs[b].name);
  });
  Sha256 total;
  std::string line;
  for (const std::uint32_t i : order) {
    line.assign(hash(i)).append(kinds[i]).append(jobs[i].name).push_back('\n');
    total.update(as_bytes(line));
  }
  return total.hex();
}

}  // namespace

void check_views(const Checkpoint& checkpoint, std::string_view root) {
  try {
    // Each under all its names: that is how often it is copied.
    check_views_together(checkpoint, jobs_below(checkpoint, resolve_root(checkpoint, root)));
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
    std::vector<DenseTensor> jobs = jobs_below(checkpoint, resolve_root(checkpoint, root), keys);
    Views views = views_of(checkpoint, jobs);
    hash_all(checkpoint, views.all);
    finish_reading(checkpoint);
    CheckpointDigest result{total_of(jobs, views), {}};
    result.tensors.reserve(jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i)
      result.tensors.push_back({std::move(jobs[i].name), std::string(text_of(views.all[views.of_a_job[i]].sha256))});
    return result;
  } catch (Error& error) {
    error.in(packed.file);
    throw;
  }
}

}  // namespace ckpt
