#include "ckpt/assemble.h"

#include <utility>

#include "ckpt/error.h"
#include "ckpt/utf8.h"
#include "io/keyed_hash.h"
#include "pickled_tensors/assembler.h"

namespace ckpt {
namespace {

using torch::Assembler;
using torch::bad_tensor;

/// Keys and tensors in turn.
std::vector<ValueId> add_all(Assembler& assembler, std::vector<TensorSource> tensors) {
  NameViewSet names;
  for (const TensorSource& tensor : tensors) {
    if (!is_utf8(tensor.name)) throw bad_tensor(tensor, "its name is not UTF-8");
    if (!names.insert(tensor.name).second) throw bad_tensor(tensor, "its name comes twice");
  }
  names.clear();
  assembler.reserve_for(tensors.size());
  std::vector<ValueId> pairs;
  pairs.reserve(2 * tensors.size());
  for (TensorSource& tensor : tensors) {
    pairs.push_back(assembler.key(tensor.name));
    pairs.push_back(assembler.add(std::move(tensor)));
  }
  return pairs;
}

}  // namespace

Checkpoint assemble(std::vector<TensorSource> tensors) {
  Assembler assembler;
  const auto pairs = add_all(assembler, std::move(tensors));
  return assembler.finish(assembler.dict(pairs));
}

Checkpoint assemble_state_dict(std::vector<TensorSource> tensors, const std::vector<ModuleVersion>& metadata) {
  for (const ModuleVersion& module : metadata)
    if (!is_utf8(module.module))
      throw Error(ErrorCode::invalid_argument, "module '" + module.module + "': its name is not UTF-8");
  Assembler assembler;
  const auto pairs = add_all(assembler, std::move(tensors));
  const ValueId state_dict = assembler.ordered_dict(pairs);
  if (!metadata.empty()) assembler.set_metadata(state_dict, metadata);
  return assembler.finish(state_dict);
}

Checkpoint assemble_one(TensorSource tensor) {
  Assembler assembler;
  return assembler.finish(assembler.add(std::move(tensor)));
}

}  // namespace ckpt
