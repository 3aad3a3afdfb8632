#include "ops/dense_tensor.h"

#include <utility>

#include "ckpt/error.h"
#include "io/bytes.h"
#include "ops/tensor_bytes.h"

namespace ckpt {
namespace {

/// Of tens of thousands of tensors, none or few need one of their own.
std::shared_ptr<const TensorInfo> placed_info(const Tensor& tensor) {
  if (tensor.view_offset == 0 && dtype_per_byte(tensor.info.dtype) == 1) return {std::shared_ptr<void>(), &tensor.info};
  TensorInfo placed = packed(tensor.info);
  placed.offset += static_cast<std::int64_t>(tensor.view_offset);
  return std::make_shared<const TensorInfo>(std::move(placed));
}

std::optional<DenseTensor> find_dense(const Checkpoint& checkpoint, std::string name, const Tensor& tensor) {
  if (tensor.storage && *tensor.storage >= checkpoint.storages.size()) {
    throw Error(ErrorCode::corrupt, "tensor '" + name + "' lies in storage " + std::to_string(*tensor.storage))
        .expected("one of " + std::to_string(checkpoint.storages.size()));
  }
  if (is_meta(checkpoint, tensor)) return std::nullopt;
  if (!tensor.storage) {
    throw Error(ErrorCode::unsupported,
                "tensor '" + name + "' has no storage (it is held as a numpy array, or of a class of its own)")
        .expected("tensors in storages")
        .hint("in Python, full_tensor() of a DTensor and cpu() of a device's tensor give one in a storage");
  }
  std::shared_ptr<const TensorInfo> placed = placed_info(tensor);
  check_expansion(name, *placed, checkpoint.storages[*tensor.storage]);
  const std::uint64_t begin = static_cast<std::uint64_t>(placed->offset) * dtype_size(placed->dtype);
  return DenseTensor{std::move(name), &tensor, &tensor, std::move(placed), begin};
}

}  // namespace

bool is_meta(const Checkpoint& checkpoint, const Tensor& tensor) {
  if (!tensor.storage) return tensor.device == "meta";
  const Storage& storage = checkpoint.storages[*tensor.storage];
  return storage.location == "meta" && !storage.bytes;
}

bool lacks_elements(const Checkpoint& checkpoint, const Tensor& tensor) {
  return !tensor.storage && tensor.parts.empty() && !is_meta(checkpoint, tensor);
}

std::string part_name(const std::string& name, const std::string& part) {
  return name.empty() ? part : name + "." + part;
}

std::optional<DenseTensor> dense_tensor(const Checkpoint& checkpoint, std::string name, const Tensor& tensor) {
  try {
    return find_dense(checkpoint, std::move(name), tensor);
  } catch (Error& error) {
    error.in(checkpoint.file);
    throw;
  }
}

void add_dense_tensors(const Checkpoint& checkpoint, std::string name, const Tensor& tensor,
                       std::vector<DenseTensor>& dense) {
  std::vector<std::pair<std::string, const Tensor*>> open;
  open.emplace_back(std::move(name), &tensor);
  while (!open.empty()) {
    auto [path, next] = std::move(open.back());
    open.pop_back();
    if (next->parts.empty()) {
      if (auto found = dense_tensor(checkpoint, std::move(path), *next)) {
        found->whole = &tensor;
        dense.push_back(std::move(*found));
      }
      continue;
    }
    for (auto part = next->parts.rbegin(); part != next->parts.rend(); ++part)
      open.emplace_back(part_name(path, part->name), &part->tensor);
  }
}

void ViewsTogether::add(std::uint32_t storage, std::uint64_t nbytes, const TensorInfo& view) {
  bytes_ = checked_add(bytes_, logical_bytes(view)).value_or(UINT64_MAX);
  if (storages_.insert(storage).second) held_ = checked_add(held_, nbytes).value_or(UINT64_MAX);
}

void ViewsTogether::check() const {
  if (!expands_too_far(bytes_, held_)) return;
  throw Error(ErrorCode::limit_exceeded, "the tensors stand for " + std::to_string(bytes_) +
                                             " bytes but their storages have " + std::to_string(held_))
      .expected(expected_expansion());
}

void check_views_together(const Checkpoint& checkpoint, std::span<const DenseTensor* const> views) {
  ViewsTogether together;
  for (const DenseTensor* view : views) {
    const std::uint32_t storage = *view->tensor->storage;
    together.add(storage, checkpoint.storages[storage].nbytes, *view->placed);
  }
  together.check();
}

}  // namespace ckpt
