#include "read_back.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/gzip.h"
#include "io/checksum.h"

namespace ckpt {
namespace {

[[noreturn]] void differ(const std::string& what) {
  throw Error(ErrorCode::io, "what was written does not read back: " + what)
      .on_output()
      .hint("the target's disk may be failing; nothing was replaced");
}

Checkpoint read_again(const Format& format, const ByteSourcePtr& written, ReadBack how) {
  // Where nothing but the receipt covers the storages, they are read when that is compared, and not before.
  std::vector<Finding> findings;
  const bool read_all = how == ReadBack::full && format.has_checksums;
  ReadContext context;
  context.folder = written->folder();
  if (read_all) context.findings = &findings;
  Checkpoint back = format.read(written, context);
  for (const Finding& finding : findings)
    if (finding.fault) differ(finding.what);
  return back;
}

void compare_storages(const Format& format, const Checkpoint& back, const WriteReceipt& receipt, ReadBack how) {
  if (back.storages.size() != receipt.size()) differ("another number of storages");
  for (const Storage& storage : back.storages) {
    const auto crc = receipt.find(storage.key);
    if (crc == receipt.end()) differ("storage '" + storage.key + "' was never written");
    std::optional<std::uint32_t> found = storage.bytes->recorded_crc32();
    if (!format.has_checksums && how == ReadBack::full)
      found = stream_all(*storage.bytes, [](std::span<const std::byte>) {});
    if (!format.has_checksums && how == ReadBack::quick) continue;
    if (found != crc->second) differ("storage '" + storage.key + "' has another CRC");
  }
}

/// A pickle keeps numpy's arrays, which are no tensors to torch.
bool is_written(const Format& format, const Tensor& tensor) { return !format.pickled || !tensor.array; }

std::vector<NamedTensor> written_names(const Format& format, const Checkpoint& checkpoint) {
  std::vector<NamedTensor> names = tensor_names(checkpoint);
  std::erase_if(names, [&](const NamedTensor& named) { return !is_written(format, *named.tensor); });
  return names;
}

/// A format of tensors by name makes one of each name.
std::size_t count_written(const Format& format, const Checkpoint& checkpoint) {
  if (format.losses != nullptr) return written_names(format, checkpoint).size();
  return static_cast<std::size_t>(std::count_if(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                                                [&](const Tensor& tensor) { return is_written(format, tensor); }));
}

void compare_tensors(const Checkpoint& back, std::vector<NamedTensor> wanted, bool in_order) {
  auto got = tensor_names(back);
  for (auto* const names : {&got, &wanted})
    if (!in_order)
      std::stable_sort(names->begin(), names->end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  if (got.size() != wanted.size()) differ("another number of names of tensors");
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i].name != wanted[i].name)
      differ("a tensor is named '" + got[i].name + "' and not '" + wanted[i].name + "'");
    const TensorInfo &a = got[i].tensor->info, &b = wanted[i].tensor->info;
    if (a.dtype != b.dtype || a.layout != b.layout || a.shape != b.shape)
      differ("tensor '" + got[i].name + "' has another dtype, layout or shape");
  }
}

}  // namespace

void check_read_back(const Format& format, const Checkpoint& checkpoint, const ByteSourcePtr& written,
                     const WriteReceipt& receipt, ReadBack how) {
  try {
    const Checkpoint back = read_again(format, written, how);
    const std::size_t read = format.losses != nullptr ? tensor_names(back).size() : back.tensors.size();
    if (read != count_written(format, checkpoint)) differ("another number of tensors");
    compare_storages(format, back, receipt, how);
    if (how != ReadBack::full) return;
    compare_tensors(back, written_names(format, checkpoint), format.losses == nullptr);
    static_cast<void>(written->size());  // a compressed stream is read to its end, and its own checksum compared
    if (gzip_trailing_bytes(*written) > 0) differ("bytes follow the gzip stream");
  } catch (Error& error) {
    if (error.is_output() || error.code() == ErrorCode::out_of_memory) throw error.in(written->name());
    try {
      differ(error.what());
    } catch (Error& as_output) {
      throw as_output.in(written->name());
    }
  }
}

}  // namespace ckpt
