#include "ckpt/extract.h"

#include <algorithm>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/tensor_ops.h"
#include "model/tensor_calls.h"
#include "ops/prune.h"
#include "ops/whole_module.h"

namespace ckpt {

Checkpoint extract(Checkpoint checkpoint, std::string_view name, bool named) {
  const std::vector<NamedTensor> names = tensor_names(checkpoint);
  const auto found =
      std::find_if(names.begin(), names.end(), [&](const NamedTensor& each) { return each.name == name; });
  if (found == names.end())
    throw Error(ErrorCode::invalid_argument, "no tensor is named '" + std::string(name) + "'")
        .expected("one of its " + std::to_string(names.size()))
        .in(checkpoint.file);
  if (whole_module(checkpoint))
    checkpoint = take_tensor(std::move(checkpoint), *found);
  else
    checkpoint.root = found->tensor->value;
  if (named) {
    TensorCalls calls(checkpoint.values);
    const ValueId pair[] = {calls.text(name), checkpoint.root};
    checkpoint.root = calls.kept(checkpoint.values.make_container(ValueKind::dict));
    checkpoint.values.add_effect(checkpoint.root, EffectKind::set_items, pair);
  }
  return compact(prune(std::move(checkpoint))).first;
}

}  // namespace ckpt
