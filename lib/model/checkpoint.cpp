#include "ckpt/checkpoint.h"

#include <algorithm>

#include "ckpt/device.h"
#include "ckpt/error.h"
#include "ckpt/gzip.h"
#include "model/rooted.h"

namespace ckpt {

FormatDetails::~FormatDetails() = default;

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::known:
      return "known";
    case Verdict::unknown:
      return "unknown";
    case Verdict::dangerous:
      return "dangerous";
  }
  return "";
}

const StorageUse* find_storage_use(const Checkpoint& checkpoint, ValueId id) {
  const auto& uses = checkpoint.storage_uses;
  const auto at = std::lower_bound(uses.begin(), uses.end(), id,
                                   [](const auto& use, ValueId wanted) { return use.first < wanted; });
  return at == uses.end() || at->first != id ? nullptr : &at->second;
}

std::vector<std::string> FormatDetails::finish() const { return {}; }

std::optional<std::string> FormatDetails::whole_module() const { return std::nullopt; }

StateEntries FormatDetails::state_entries(const Checkpoint&) const { return {}; }

std::vector<std::string> FormatDetails::out_of_reach(const DeviceMap&) const { return {}; }

std::map<std::string, ByteSourcePtr> FormatDetails::code() const { return {}; }

std::vector<std::string> files_of(const Checkpoint& checkpoint) {
  std::vector<std::string> files = checkpoint.parts;
  files.push_back(checkpoint.file);
  return files;
}

std::optional<std::string> whole_module(const Checkpoint& checkpoint) {
  return checkpoint.details == nullptr ? std::nullopt : checkpoint.details->whole_module();
}

std::vector<std::string> finish_reading(const Checkpoint& checkpoint) {
  std::vector<std::string> warnings;
  if (checkpoint.source == nullptr || !checkpoint.gzip) return warnings;
  const ByteSource& whole = checkpoint.archive ? *checkpoint.archive : *checkpoint.source;
  static_cast<void>(checkpoint.source->size());
  static_cast<void>(whole.size());
  if (checkpoint.details != nullptr) warnings = checkpoint.details->finish();
  if (const std::uint64_t trailing = gzip_trailing_bytes(whole); trailing > 0)
    warnings.push_back(std::to_string(trailing) + " bytes follow the gzip stream, belong to nothing and are left out");
  return warnings;
}

void check_root(const Checkpoint& checkpoint) {
  if (checkpoint.root == no_value || checkpoint.root < checkpoint.values.size()) return;
  throw Error(ErrorCode::invalid_argument, "the checkpoint's root is none of its values")
      .expected("a checkpoint that was not moved from")
      .in(checkpoint.file);
}

void require_root(const Checkpoint& checkpoint) {
  check_root(checkpoint);
  if (checkpoint.root == no_value)
    throw Error(ErrorCode::invalid_argument, "the checkpoint has no root")
        .expected("an object, of which there may be nothing left")
        .in(checkpoint.file);
}

std::string device_of(const Checkpoint& checkpoint, const Tensor& tensor) {
  const Tensor* told = &tensor;
  while (told->device.empty() && !told->storage && !told->parts.empty()) told = &told->parts.back().tensor;
  if (!told->device.empty()) return told->device;
  return told->storage ? checkpoint.storages[*told->storage].location : std::string();
}

}  // namespace ckpt
