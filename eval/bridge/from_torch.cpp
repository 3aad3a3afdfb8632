#include <ATen/ops/empty.h>
#include <c10/core/Storage.h>

#include <map>
#include <utility>

#include "bridge/dtypes.h"
#include "bridge/storage_source.h"
#include "bridge/torch_errors.h"
#include "ckpt/error.h"
#include "ckpt/torch.h"

namespace ckpt::eval {
namespace {

c10::Storage on_cpu(const at::Tensor& tensor) {
  if (tensor.is_cpu()) return tensor.storage();
  const auto size = static_cast<std::int64_t>(tensor.storage().nbytes());
  const at::Tensor bytes = at::empty({0}, at::TensorOptions().dtype(at::kByte).device(tensor.device()));
  return bytes.set_(tensor.storage(), 0, {size}, {1}).cpu().storage();
}

class Sources {
 public:
  TensorSource add(const std::string& name, const at::Tensor& given) {
    const auto dtype = dtype_of(given.scalar_type());
    if (given.layout() != at::kStrided || given.is_quantized() || given.is_nested() || given.is_meta() || !dtype)
      throw Error(ErrorCode::unsupported, "only dense tensors with values can be saved").expected("such a one");
    const at::Tensor tensor = given.resolve_conj().resolve_neg();
    if (tensor.is_same(given)) return source(name, tensor, *dtype);
    kept_.push_back(tensor);  // so that no later storage takes its place
    return source(name, kept_.back(), *dtype);
  }

 private:
  TensorSource source(const std::string& name, const at::Tensor& tensor, DType dtype) {
    auto& bytes = sources_[tensor.storage().unsafeGetStorageImpl()];
    if (!bytes) bytes = storage_source(on_cpu(tensor));
    return {.name = name,
            .dtype = dtype,
            .shape = tensor.sizes().vec(),
            .stride = tensor.strides().vec(),
            .bytes = bytes,
            .offset = tensor.storage_offset()};
  }

  std::map<const c10::StorageImpl*, ByteSourcePtr> sources_;
  std::vector<at::Tensor> kept_;
};

}  // namespace

Checkpoint from_torch(const std::vector<StateTensor>& tensors, const std::vector<ModuleVersion>& metadata) {
  Sources sources;
  std::vector<TensorSource> all;
  all.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) {
    try {
      with_torch("libtorch", [&, &key = name, &held = tensor] { all.push_back(sources.add(key, held)); });
    } catch (Error& error) {
      error.within("tensor '" + name + "'");
      throw;
    }
  }
  return assemble_state_dict(std::move(all), metadata);
}

}  // namespace ckpt::eval
