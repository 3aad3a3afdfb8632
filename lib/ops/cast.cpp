#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "ckpt/error.h"
#include "ckpt/glob.h"
#include "ckpt/quantizer.h"
#include "ckpt/tensor_ops.h"
#include "model/storage_types.h"
#include "ops/cast_elements.h"
#include "ops/cast_source.h"
#include "ops/prune.h"
#include "ops/tensor_edit.h"

namespace ckpt {
namespace {

/// Views that keep their dtype: `except` matches a name of theirs, or they say how to read quantised numbers. A view
/// without a name, a tensor's attribute or what a class of its own is made of, goes with the tensor that holds it.
std::vector<bool> excepted(const TensorEdit& edit, const std::vector<std::string>& except, CastReport& report) {
  std::vector<bool> keeps(edit.views().size()), matched(except.size());
  const auto of_quantised = given_to_quantised(edit.checkpoint());
  for (const Tensor& tensor : edit.checkpoint().tensors)
    if (of_quantised.contains(tensor.value))
      for (const std::size_t view : edit.views_of(tensor)) keeps[view] = true;
  std::vector<bool> has_name(keeps.size()), held(edit.checkpoint().values.size());
  for (const NamedTensor& named : tensor_names(edit.checkpoint())) {
    const Tensor& tensor = *named.tensor;
    const bool is_elsewhere = tensor.array || (!tensor.storage && tensor.parts.empty() && tensor.device != "meta");
    if (is_elsewhere && is_floating(tensor.info.dtype)) ++report.arrays;
    bool stays = is_elsewhere;
    for (std::size_t i = 0; i < except.size(); ++i) {
      if (!glob_match(except[i], named.name)) continue;
      matched[i] = stays = true;
      for (const std::size_t view : edit.views_of(tensor)) keeps[view] = true;
    }
    for (const std::size_t view : edit.views_of(tensor)) has_name[view] = true;
    if (stays) mark_reached(edit.checkpoint().values, tensor.value, held);
  }
  const bool all_stay = std::any_of(except.begin(), except.end(), [](auto& glob) { return glob_match(glob, ""); });
  for (const Tensor& tensor : edit.checkpoint().tensors)
    for (const std::size_t view : edit.views_of(tensor))
      if (!has_name[view] && (all_stay || held[tensor.value])) keeps[view] = true;
  for (std::size_t i = 0; i < except.size(); ++i)
    if (!matched[i]) report.idle_except.push_back(except[i]);
  return keeps;
}

/// PyTorch negates no float8, so that a tensor of one cannot be a lazy negative: it is made one of the bytes
/// themselves.
bool is_never_lazy(DType dtype) { return dtype == DType::float8_e4m3fn || dtype == DType::float8_e5m2; }

Storage cast_storage(const Storage& storage, DType from, DType to, bool negated) {
  Storage made = storage;
  made.typed = storage_class(to).has_value();
  made.dtype = made.typed ? to : DType::uint8;
  made.nbytes = storage.nbytes / dtype_size(from) * dtype_size(to);
  made.byte_order = ByteOrder::little;
  if (storage.bytes != nullptr) made.bytes = cast_source(storage, from, to, negated);
  return made;
}

}  // namespace

std::uint64_t storage_bytes(const Checkpoint& checkpoint) {
  std::uint64_t bytes = 0;
  for (const Storage& storage : checkpoint.storages) bytes += storage.nbytes;
  return bytes;
}

std::pair<Checkpoint, CastReport> cast(Checkpoint checkpoint, DType dtype, const std::vector<std::string>& except) {
  if (!is_cast_target(dtype))
    throw Error(ErrorCode::invalid_argument, "no tensor is cast to " + std::string(dtype_name(dtype)))
        .expected("float64, float32, float16, bfloat16, float8_e4m3fn or float8_e5m2");
  const std::uint64_t before = storage_bytes(checkpoint);
  TensorEdit edit(std::move(checkpoint));
  CastReport report;
  const std::vector<bool> keeps = excepted(edit, except, report);
  std::map<std::tuple<std::uint32_t, DType, bool>, std::uint32_t> made;
  for (std::size_t i = 0; i < edit.views().size(); ++i) {
    const auto& [storage, info] = edit.views()[i];
    if (keeps[i] || !is_floating(info.dtype) || info.dtype == dtype) continue;
    const bool negated = info.negative && is_never_lazy(dtype);
    const auto [place, fresh] = made.try_emplace({storage, info.dtype, negated}, 0);
    const Storage& old = edit.checkpoint().storages[storage];
    if (fresh) place->second = edit.add(cast_storage(old, info.dtype, dtype, negated), storage);
    TensorInfo cast_info = info;
    cast_info.dtype = dtype;
    if (negated) cast_info.negative = false;
    edit.set(i, place->second, std::move(cast_info));
    ++report.tensors;
  }
  made.clear();
  checkpoint = edit.finish();
  report.saved = static_cast<std::int64_t>(before) - static_cast<std::int64_t>(storage_bytes(checkpoint));
  return {std::move(checkpoint), std::move(report)};
}

}  // namespace ckpt
