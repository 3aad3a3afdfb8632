#include "safetensors/plan.h"

#include <algorithm>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/utf8.h"
#include "named_tensors/names.h"

namespace ckpt::safetensors {
namespace {

[[noreturn]] void refuse(const Checkpoint& checkpoint, const std::string& name, const std::string& what) {
  throw Error(ErrorCode::unsupported, "tensor '" + name + "' " + what)
      .expected("what safetensors can hold")
      .in(checkpoint.file)
      .hint(named_tensors::drop_hint(checkpoint, name));
}

OutTensor out_tensor(const Checkpoint& checkpoint, const NamedTensor& named) {
  const TensorInfo& info = named.tensor->info;
  if (info.layout != Layout::strided) refuse(checkpoint, named.name, "is " + std::string(layout_name(info.layout)));
  const ElementType* const type = find_type(info.dtype);
  if (type == nullptr) refuse(checkpoint, named.name, "is " + std::string(dtype_name(info.dtype)));
  if (is_packed(*type) && info.shape.empty())
    refuse(checkpoint, named.name, "is " + std::string(dtype_name(info.dtype)) + " without a dimension");
  if (named.name == metadata_key) refuse(checkpoint, named.name, "has the name of the metadata");
  if (!is_utf8(named.name)) refuse(checkpoint, named.name, "has a name that is not UTF-8");
  auto dense = dense_tensor(checkpoint, named.name, *named.tensor);
  if (!dense) refuse(checkpoint, named.name, "is a meta tensor, which has no elements");
  return {*std::move(dense), type};
}

}  // namespace

Plan plan_of(const Checkpoint& checkpoint) {
  std::vector<OutTensor> all;
  for (const NamedTensor& named : named_tensors::names_of(checkpoint)) all.push_back(out_tensor(checkpoint, named));
  check_views_together(checkpoint, all, &OutTensor::tensor);

  std::vector<const DenseTensor*> dense;
  dense.reserve(all.size());
  for (const OutTensor& out : all) dense.push_back(&out.tensor);
  named_tensors::Sharing sharing = named_tensors::find_sharing(dense);
  Plan plan{.written = {}, .views = std::move(sharing.views), .apart = std::move(sharing.apart)};
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!sharing.is_view[i]) plan.written.push_back(std::move(all[i]));
  std::sort(plan.written.begin(), plan.written.end(), [](const OutTensor& a, const OutTensor& b) {
    const std::size_t left = rank_of(*a.type), right = rank_of(*b.type);
    return left != right ? left > right : a.tensor.name < b.tensor.name;
  });
  return plan;
}

}  // namespace ckpt::safetensors
