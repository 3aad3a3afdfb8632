#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ckpt/dtype.h"

namespace ckpt {

struct StorageType {
  DType dtype{};
  bool typed = true;  ///< false: torch.storage.UntypedStorage
};

/// The element type of torch.FloatStorage, torch.cuda.FloatStorage, torch.storage.UntypedStorage … (torch/__init__.py,
/// torch/storage.py), and torch.Float8_e4m3fnStorage … as TorchScript has them; none for any other name.
std::optional<StorageType> storage_type(std::string_view module, std::string_view name);

/// "FloatStorage", the class of Python's module torch that holds such elements; none where only untyped storages do.
std::optional<std::string> storage_class(DType dtype);

/// float32 for torch.FloatTensor and torch.cuda.FloatTensor; none for any other name.
std::optional<DType> tensor_type(std::string_view module, std::string_view name);

}  // namespace ckpt
