#include <map>
#include <tuple>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/tensor_ops.h"
#include "ops/dense_tensor.h"
#include "ops/gathered_source.h"
#include "ops/tensor_bytes.h"
#include "ops/tensor_edit.h"

namespace ckpt {
namespace {

/// What a view shows, the lazy signs aside.
using Shown = std::tuple<std::uint32_t, DType, std::vector<std::int64_t>, std::vector<std::int64_t>, std::int64_t>;

bool needs_gathering(const Storage& storage, const TensorInfo& info) {
  return storage.bytes != nullptr && dtype_per_byte(info.dtype) == 1 && !is_contiguous(info);
}

/// Each view is written out. Throws Error (limit_exceeded) where one, or all together, stand for far more bytes than
/// there are.
void check_expansions(const TensorEdit& edit) {
  const Checkpoint& checkpoint = edit.checkpoint();
  ViewsTogether together;
  try {
    for (const auto& [place, info] : edit.views()) {
      check_expansion("", info, checkpoint.storages[place]);
      together.add(place, checkpoint.storages[place].nbytes, info);
    }
    together.check();
  } catch (Error& error) {
    throw error.in(checkpoint.file);
  }
}

}  // namespace

std::pair<Checkpoint, std::size_t> make_contiguous(Checkpoint checkpoint) {
  TensorEdit edit(std::move(checkpoint));
  check_expansions(edit);
  std::map<Shown, std::uint32_t> made;
  std::size_t count = 0;
  for (std::size_t i = 0; i < edit.views().size(); ++i) {
    const auto [place, info] = edit.views()[i];
    const Storage& storage = edit.checkpoint().storages[place];
    if (!needs_gathering(storage, info)) continue;
    const auto [found, fresh] = made.try_emplace({place, info.dtype, info.shape, info.stride, info.offset}, 0);
    if (fresh) {
      // The elements as they are: torch's lazy signs stay with the tensor.
      TensorInfo plain = info;
      plain.conjugate = plain.negative = false;
      Storage gathered = storage, material = edit.material(place);
      std::optional<std::uint64_t> block;
      if (material.bytes && material.bytes->is_concurrent()) block = large_gathered_block;
      gathered.bytes = gathered_source(std::move(material), plain, block);
      gathered.nbytes = gathered.bytes->size();
      gathered.byte_order = ByteOrder::little;
      found->second = edit.add(std::move(gathered), place);
    }
    TensorInfo contiguous = info;
    contiguous.offset = 0;
    contiguous.stride = contiguous_stride(info.shape);
    edit.set(i, found->second, std::move(contiguous));
    ++count;
  }
  return {edit.finish(), count};
}

}  // namespace ckpt
