#include "ckpt/checkpoint.h"

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

void finish_reading(const Checkpoint& checkpoint) {
  if (checkpoint.source != nullptr && !checkpoint.source->size_is_known()) static_cast<void>(checkpoint.source->size());
}

std::string device_of(const Checkpoint& checkpoint, const Tensor& tensor) {
  const Tensor* told = &tensor;
  while (told->device.empty() && !told->storage && !told->parts.empty()) told = &told->parts.back().tensor;
  if (!told->device.empty()) return told->device;
  return told->storage ? checkpoint.storages[*told->storage].location : std::string();
}

}  // namespace ckpt
