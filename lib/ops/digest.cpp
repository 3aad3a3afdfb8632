#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

#include "ckpt/checkpoint.h"
#include "ckpt/error.h"
#include "ckpt/ops.h"
#include "io/bytes.h"
#include "io/checksum.h"
#include "ops/dense_tensor.h"
#include "ops/root.h"
#include "ops/tensor_bytes.h"
#include "ops/unpacked.h"

namespace ckpt {
namespace {

/// Storage by storage, each forward; equal views stand side by side.
auto reading_order(const DenseTensor& job) {
  const TensorInfo& info = job.placed;
  return std::tie(*job.tensor->storage, job.begin, info.dtype, info.shape, info.stride, info.conjugate, info.negative);
}

std::vector<DenseTensor> jobs_below(const Checkpoint& checkpoint, const std::string& root) {
  std::vector<DenseTensor> jobs;
  bool any = false;
  for (const NamedTensor& named : tensor_names(checkpoint)) {
    const auto name = name_below(root, named.name);
    if (!name) continue;
    any = true;
    add_dense_tensors(checkpoint, std::string(*name), *named.tensor, jobs);
  }
  if (!any && !root.empty()) {
    throw Error(ErrorCode::invalid_argument, "no tensor lies below '" + root + "'")
        .expected("the path of a state dict");
  }
  return jobs;
}

/// True where the tensor's bytes are the storage's, one for one.
bool is_whole_storage(const Storage& storage, const TensorInfo& placed) {
  const bool as_stored = storage.byte_order == ByteOrder::little || dtype_swap_size(storage.dtype) == 1;
  return as_stored && !placed.conjugate && !placed.negative && placed.offset == 0 && is_contiguous(placed) &&
         logical_bytes(placed) == storage.nbytes;
}

/// `first`: of its storage. Then the storage's recorded checksum is compared too, in the same reading where the tensor
/// is the whole of it.
std::string sha256_of(const Checkpoint& checkpoint, const DenseTensor& job, bool first) {
  const Storage& storage = checkpoint.storages[*job.tensor->storage];
  Sha256 hash;
  const auto update = [&](std::span<const std::byte> bytes) { hash.update(bytes); };
  try {
    if (is_whole_storage(storage, job.placed)) {
      stream_all(*storage.bytes, update);
    } else {
      if (first && storage.bytes->recorded_crc32()) stream_all(*storage.bytes, [](std::span<const std::byte>) {});
      stream_tensor(storage, job.placed, update);
    }
  } catch (Error& error) {
    error.within("tensor '" + job.name + "'");
    throw;
  }
  return hash.hex();
}

/// In the order of `jobs`; each view is read once, however many names it has.
std::vector<std::string> hash_all(const Checkpoint& checkpoint, const std::vector<DenseTensor>& jobs) {
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return reading_order(jobs[a]) < reading_order(jobs[b]); });
  const auto repeats = [&](std::size_t i) {
    return i > 0 && reading_order(jobs[order[i - 1]]) == reading_order(jobs[order[i]]);
  };
  std::vector<const DenseTensor*> views;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (!repeats(i)) views.push_back(&jobs[order[i]]);
  check_views_together(checkpoint, views);
  std::vector<std::string> hashes(jobs.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const DenseTensor& job = jobs[order[i]];
    if (repeats(i)) {
      hashes[order[i]] = hashes[order[i - 1]];
    } else {
      const bool first = i == 0 || jobs[order[i - 1]].tensor->storage != job.tensor->storage;
      hashes[order[i]] = sha256_of(checkpoint, job, first);
    }
  }
  return hashes;
}

std::string total_line(const std::string& sha256, const DenseTensor& job) {
  const TensorInfo& info = job.tensor->info;
  std::string line = sha256 + " " + std::string(dtype_name(info.dtype)) + " [";
  for (std::size_t i = 0; i < info.shape.size(); ++i) line += (i == 0 ? "" : ",") + std::to_string(info.shape[i]);
  return line + "] " + job.name + "\n";
}

}  // namespace

void check_views(const Checkpoint& checkpoint, std::string_view root) {
  try {
    const std::vector<DenseTensor> jobs = jobs_below(checkpoint, resolve_root(checkpoint, root));
    std::vector<const DenseTensor*> views;  // each under all its names: that is how often it is copied
    for (const DenseTensor& job : jobs) views.push_back(&job);
    check_views_together(checkpoint, views);
  } catch (Error& error) {
    error.in(checkpoint.file);
    throw;
  }
}

CheckpointDigest digest(const Checkpoint& packed, std::string_view root) {
  try {
    std::optional<Unpacked> unpacked;
    if (root == "auto") unpacked.emplace(packed);
    const Checkpoint& checkpoint = unpacked ? unpacked->get() : packed;
    const std::vector<DenseTensor> jobs = jobs_below(checkpoint, resolve_root(checkpoint, root));
    std::vector<std::string> hashes = hash_all(checkpoint, jobs);
    finish_reading(checkpoint);
    CheckpointDigest result;
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      lines.push_back(total_line(hashes[i], jobs[i]));
      result.tensors.push_back({jobs[i].name, std::move(hashes[i])});
    }
    std::sort(lines.begin(), lines.end());
    Sha256 total;
    for (const std::string& line : lines) total.update(as_bytes(line));
    result.total = total.hex();
    return result;
  } catch (Error& error) {
    error.in(packed.file);
    throw;
  }
}

}  // namespace ckpt
