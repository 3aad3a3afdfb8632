#include "read_back.h"

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

void compare_tensors(const Checkpoint& back, const Checkpoint& checkpoint) {
  const auto got = tensor_names(back), wanted = tensor_names(checkpoint);
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
    // A format that cannot say what tensors share makes one of each name.
    const bool by_name = format.losses != nullptr;
    const auto count = [&](const Checkpoint& of) { return by_name ? tensor_names(of).size() : of.tensors.size(); };
    if (count(back) != count(checkpoint)) differ("another number of tensors");
    compare_storages(format, back, receipt, how);
    if (how != ReadBack::full) return;
    compare_tensors(back, checkpoint);
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
