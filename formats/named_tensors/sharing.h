#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ops/dense_tensor.h"

/// Which of several tensors are views of others, for formats that write each byte once.
namespace ckpt::named_tensors {

struct View {
  std::string name, of;
  /// In elements of the tensor `of`, from its first one. Of a view of all of it, as it is, nothing is said here.
  std::vector<std::int64_t> shape, stride;
  std::int64_t offset = 0;
  bool whole = true;
};

struct Sharing {
  std::vector<bool> is_view;  ///< of each tensor
  std::vector<View> views;
  /// The first two that share a storage and of which neither lies in a third.
  std::pair<std::string, std::string> apart;
};

/// A tensor is a view of another, contiguous one of the same dtype and storage that holds all its elements, or of an
/// equal one. Of equal ones the first by name is no view (as in safetensors.torch.save_model). No view is of a view.
Sharing find_sharing(std::span<const DenseTensor* const> tensors);

}  // namespace ckpt::named_tensors
