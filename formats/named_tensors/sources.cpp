#include "named_tensors/sources.h"

#include <map>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/utf8.h"
#include "io/swapped_source.h"
#include "named_tensors/names.h"

namespace ckpt::named_tensors {
namespace {

[[noreturn]] void refuse(const Checkpoint& checkpoint, const std::string& name, const std::string& what) {
  throw Error(ErrorCode::unsupported, "tensor '" + name + "' " + what)
      .expected("a dense tensor of numbers")
      .in(checkpoint.file)
      .hint(drop_hint(checkpoint, name));
}

const Storage& storage_of(const Checkpoint& checkpoint, const NamedTensor& named) {
  const Tensor& tensor = *named.tensor;
  if (!is_utf8(named.name, Surrogates::allowed)) refuse(checkpoint, named.name, "has a name that is not UTF-8");
  if (tensor.info.layout != Layout::strided)
    refuse(checkpoint, named.name, "is " + std::string(layout_name(tensor.info.layout)));
  if (is_quantised(tensor.info.dtype))
    refuse(checkpoint, named.name, "is quantised (" + std::string(dtype_name(tensor.info.dtype)) + ")");
  if (!tensor.storage || checkpoint.storages[*tensor.storage].bytes == nullptr)
    refuse(checkpoint, named.name,
           tensor.device == "meta" || tensor.storage ? "is a meta tensor, which has no elements"
                                                     : "is held as a numpy array");
  return checkpoint.storages[*tensor.storage];
}

}  // namespace

std::vector<TensorSource> tensor_sources(const Checkpoint& checkpoint, std::span<const NamedTensor> tensors) {
  std::vector<TensorSource> sources;
  sources.reserve(tensors.size());
  // A storage has one dtype: of another one it is read as one of its own.
  std::map<std::pair<std::uint32_t, DType>, ByteSourcePtr> bytes;
  std::map<std::uint32_t, DType> first;
  for (const NamedTensor& named : tensors) {
    const Storage& storage = storage_of(checkpoint, named);
    const TensorInfo& info = named.tensor->info;
    const std::uint32_t index = *named.tensor->storage;
    const std::size_t unit = storage.typed && storage.byte_order == ByteOrder::big ? dtype_swap_size(storage.dtype) : 1;
    const bool swaps_alike = unit == 1 || unit == dtype_swap_size(info.dtype);
    ByteSourcePtr& own = bytes[{index, info.dtype}];
    if (own == nullptr) {
      own = first.try_emplace(index, info.dtype).first->second == info.dtype
                ? storage.bytes
                : slice(storage.bytes, 0, storage.nbytes, storage.bytes->source_name());
      if (!swaps_alike) own = swapped(std::move(own), unit);
    }
    sources.push_back({.name = named.name,
                       .dtype = info.dtype,
                       .shape = info.shape,
                       .stride = info.stride,
                       .bytes = own,
                       .byte_order = unit > 1 && swaps_alike ? ByteOrder::big : ByteOrder::little,
                       .location = storage.location,
                       .offset = info.offset + static_cast<std::int64_t>(named.tensor->view_offset),
                       .conjugate = info.conjugate,
                       .negative = info.negative});
  }
  return sources;
}

}  // namespace ckpt::named_tensors
