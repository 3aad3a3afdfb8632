#include "read_back.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/gzip.h"
#include "io/stream.h"

namespace ckpt {
namespace {

[[noreturn]] void differ(const std::string& what,
                         std::string hint = "the target's disk may be failing; nothing was replaced") {
  throw Error(ErrorCode::io, "what was written does not read back: " + what).on_output().hint(std::move(hint));
}

Checkpoint read_again(const Format& format, const ByteSourcePtr& bytes, ReadContext context, ReadBack how) {
  // Where nothing but the receipt covers the storages, they are read when that is compared, and not before.
  std::vector<Finding> findings;
  const bool read_all = how == ReadBack::full && format.has_checksums;
  if (read_all) context.findings = &findings;
  Checkpoint back = format.read(bytes, context);
  // Of files in bytes, which are passed on as they were, nothing was read before.
  for (const Finding& finding : findings)
    if (finding.fault)
      differ(finding.what,
             "ckpt verify tells whether the input is broken there, too; else the target's disk may be failing. "
             "Nothing was replaced");
  return back;
}

void compare_storages(const Format& format, const Checkpoint& back, const WriteReceipt& receipt, ReadBack how) {
  if (back.storages.size() != receipt.size()) differ("another number of storages");
  for (const Storage& storage : back.storages) {
    const auto crc = receipt.find(storage.key);
    if (crc == receipt.end()) differ("storage '" + storage.key + "' was never written");
    // An archive without checksums, or what is to be taken for one, records 0.
    std::optional<std::uint32_t> found = storage.bytes->recorded_crc32();
    if (!format.has_checksums && how == ReadBack::full) found = check_all(*storage.bytes);
    if (!format.has_checksums && how == ReadBack::quick) continue;
    if (found.value_or(0) != crc->second) differ("storage '" + storage.key + "' has another CRC");
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

void compare_tensors(const Checkpoint& back, const Expected& expected, bool in_order) {
  const auto got = tensor_names(back);
  if (got.size() != expected.names.size()) differ("another number of names of tensors");
  std::vector<std::size_t> got_at(got.size()), wanted_at(got.size());
  for (std::size_t i = 0; i < got.size(); ++i) got_at[i] = wanted_at[i] = i;
  const auto by_name = [](const auto& names) {
    return [&names](std::size_t a, std::size_t b) { return names[a].name < names[b].name; };
  };
  if (!in_order) {
    std::stable_sort(got_at.begin(), got_at.end(), by_name(got));
    std::stable_sort(wanted_at.begin(), wanted_at.end(), by_name(expected.names));
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    const NamedTensor& found = got[got_at[i]];
    const Expected::Named& wanted = expected.names[wanted_at[i]];
    if (found.name != wanted.name) differ("a tensor is named '" + found.name + "' and not '" + wanted.name + "'");
    const TensorInfo &a = found.tensor->info, &b = wanted.info;
    if (a.dtype != b.dtype || a.layout != b.layout || a.shape != b.shape)
      differ("tensor '" + found.name + "' has another dtype, layout or shape");
  }
}

}  // namespace

Expected::Expected(const Format& format, const Checkpoint& checkpoint, ReadBack depth)
    : how(depth), file(checkpoint.file) {
  if (how == ReadBack::none) return;
  tensors = count_written(format, checkpoint);
  if (how != ReadBack::full) return;
  for (NamedTensor& named : written_names(format, checkpoint))
    names.push_back({std::move(named.name), named.tensor->info});
}

void check_read_back(const Format& format, const Expected& expected, const std::function<ByteSourcePtr()>& open,
                     bool gzip, const WriteReceipt& receipt) {
  ByteSourcePtr written;
  try {
    written = open();
    const ReadContext context = ReadContext::of(*written);
    if (gzip) written = expected.how == ReadBack::full ? gunzip(written) : gunzip_by_index(written);
    const Checkpoint back = read_again(format, written, context, expected.how);
    // Outside a pickle, no tensor has two names.
    const bool by_name = format.losses != nullptr && back.pickled;
    const std::size_t read = by_name ? tensor_names(back).size() : back.tensors.size();
    if (read != expected.tensors) differ("another number of tensors");
    compare_storages(format, back, receipt, expected.how);
    if (expected.how != ReadBack::full) return;
    compare_tensors(back, expected, format.losses == nullptr);
    static_cast<void>(written->size());  // a compressed stream is read to its end, and its own checksum compared
    if (gzip_trailing_bytes(*written) > 0) differ("bytes follow the gzip stream");
  } catch (Error& error) {
    const std::string file = written ? written->name() : error.file();
    if (error.is_output() || error.code() == ErrorCode::out_of_memory) throw error.in(file);
    // An older pickle calls for its bytes, say, and so may be past a cap that its source was not past.
    if (error.code() == ErrorCode::limit_exceeded)
      throw Error(error.code(), "what would be written could not be read again: " + std::string(error.what()))
          .hint(gzip ? "caps go by a file's size, and gzip makes this one small: --no-gzip" : "")
          .in(expected.file);
    try {
      differ(error.what());
    } catch (Error& as_output) {
      throw as_output.in(file);
    }
  }
}

}  // namespace ckpt
