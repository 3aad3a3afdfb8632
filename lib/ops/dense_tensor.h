#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ckpt/checkpoint.h"

namespace ckpt {

/// A tensor whose elements lie in one storage: a tensor of the file, or a part of a sparse one.
struct DenseTensor {
  std::string name;
  const Tensor* tensor = nullptr;  ///< owned by the checkpoint
  const Tensor* whole = nullptr;   ///< of which it is a part; else the same
  /// How it lies in the whole of its storage: as a rule what the tensor itself says, which outlives this.
  std::shared_ptr<const TensorInfo> placed;
  std::uint64_t begin = 0;  ///< of its bytes in the storage
};

/// Whether it is on the meta device: the file has no elements of it.
bool is_meta(const Checkpoint& checkpoint, const Tensor& tensor);

/// Whether its elements stand where only its class finds them: as a numpy array, or in the tensor that a wrapper holds.
bool lacks_elements(const Checkpoint& checkpoint, const Tensor& tensor);

/// None for a meta tensor, which has no bytes. Throws Error, naming file and tensor: unsupported (held as a numpy
/// array), corrupt, limit_exceeded (a view that expands past ckpt/limits.h).
std::optional<DenseTensor> dense_tensor(const Checkpoint& checkpoint, std::string name, const Tensor& tensor);

/// Adds the tensor or, for one of parts, what it is made of, as NAME.indices, NAME.values …, in file order.
void add_dense_tensors(const Checkpoint& checkpoint, std::string name, const Tensor& tensor,
                       std::vector<DenseTensor>& dense);

/// What views stand for, and what their storages have: each view may stay below the cap and all of them take hours.
class ViewsTogether {
 public:
  /// A view of that storage, which has `nbytes`.
  void add(std::uint32_t storage, std::uint64_t nbytes, const TensorInfo& view);
  /// Throws Error (limit_exceeded) where that is far more.
  void check() const;

 private:
  std::uint64_t bytes_ = 0, held_ = 0;
  std::set<std::uint32_t> storages_;
};

/// Refuses views that stand together for far more bytes than their storages have. Throws Error (limit_exceeded).
void check_views_together(const Checkpoint& checkpoint, std::span<const DenseTensor* const> views);

/// The same of `views` that are, or hold as `tensor`, a DenseTensor.
template <class Views, class Member = std::identity>
void check_views_together(const Checkpoint& checkpoint, const Views& views, Member tensor = {}) {
  std::vector<const DenseTensor*> dense;
  dense.reserve(views.size());
  for (const auto& view : views) dense.push_back(&std::invoke(tensor, view));
  check_views_together(checkpoint, std::span<const DenseTensor* const>(dense));
}

/// "NAME.PART"; the part alone where the name is empty.
std::string part_name(const std::string& name, const std::string& part);

}  // namespace ckpt
