#include "ops/whole_module.h"

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/error.h"
#include "io/machine_error.h"
#include "ops/plain_tensors.h"
#include "ops/prune.h"

namespace ckpt {

namespace {

/// What libtorch pickles in a way of its own, which Python does not read.
void refuse_unsayable(const Checkpoint& checkpoint, std::string_view name, const Tensor& tensor) {
  if (tensor.storage) return;
  throw Error(ErrorCode::unsupported, "tensor '" + std::string(name) + "' is " +
                                          (tensor.parts.empty() ? "a meta" : "a sparse") +
                                          " tensor of a TorchScript file, which Python pickles in another way")
      .expected("strided tensors")
      .in(checkpoint.file)
      .hint("in Python: torch.save(torch.jit.load(path).state_dict(), out)");
}

void refuse_unsayable(const Checkpoint& checkpoint, const StateEntries& told) {
  std::map<ValueId, const Tensor*> tensors;
  for (const Tensor& tensor : checkpoint.tensors) tensors.emplace(tensor.value, &tensor);
  for (const auto& [name, value] : told.tensors) refuse_unsayable(checkpoint, name, *tensors.at(value));
}

/// Where nothing can be had but a tensor.
std::string hint_of_tensors(const Checkpoint& checkpoint) {
  const std::string file = shell_word(checkpoint.file);
  return checkpoint.tensors.empty() ? "there is no tensor in it: ckpt inspect " + file + " shows what there is"
                                    : "ckpt extract " + file + " NAME -o OUT takes one of its tensors";
}

/// The root alone: no module, and no name that only other pickles of the archive call for.
Checkpoint without_module(Checkpoint checkpoint, const std::string& format) {
  checkpoint.details = nullptr;
  checkpoint.format = format;
  checkpoint = prune(std::move(checkpoint));
  const ValueGraph& values = checkpoint.values;
  std::set<std::pair<std::string_view, std::string_view>> own;
  for (ValueId id = 0; id < values.size(); ++id)
    if (values.kind(id) == ValueKind::global) own.emplace(values.module(id), values.name(id));
  std::erase_if(checkpoint.globals, [&](const GlobalUse& global) {
    return !own.contains({global.module, global.name});
  });
  return checkpoint;
}

}  // namespace

Checkpoint unpack_whole_module(Checkpoint checkpoint) {
  const StateEntries told = checkpoint.details->state_entries(checkpoint);
  if (told.tensors.empty())
    throw Error(ErrorCode::invalid_argument, "the module has no parameters and no buffers: its state dict is empty")
        .expected("tensors that state_dict() gives")
        .in(checkpoint.file)
        .hint(hint_of_tensors(checkpoint));
  refuse_unsayable(checkpoint, told);
  ValueGraph& values = checkpoint.values;
  PlainTensors tensors(checkpoint);
  const auto kept = [&](ValueId id) {
    values.set_memoized(id);
    return id;
  };
  const auto dict_of = [&](const ValueId key, const ValueId value) {
    const ValueId pair[] = {key, value};
    const ValueId dict = kept(values.make_container(ValueKind::dict));
    values.add_effect(dict, EffectKind::set_items, pair);
    return dict;
  };
  std::vector<ValueId> entries, metadata;
  for (const auto& [name, value] : told.tensors) {
    entries.push_back(kept(values.make_str(name)));
    entries.push_back(tensors.detached(value));
  }
  for (const std::string& name : told.modules) {
    metadata.push_back(kept(values.make_str(name)));
    metadata.push_back(dict_of(tensors.calls().text("version"), values.make_integer(1)));
  }
  checkpoint.root = tensors.calls().ordered_dict(entries);
  const ValueId state = dict_of(tensors.calls().text("_metadata"), tensors.calls().ordered_dict(metadata));
  values.add_effect(checkpoint.root, EffectKind::build, std::span(&state, 1));
  tensors.finish();
  return without_module(std::move(checkpoint), told.format);
}

Checkpoint take_tensor(Checkpoint checkpoint, const NamedTensor& named) {
  refuse_unsayable(checkpoint, named.name, *named.tensor);
  const std::string format = checkpoint.details->state_entries(checkpoint).format;
  PlainTensors tensors(checkpoint);
  checkpoint.root = tensors.detached(named.tensor->value);
  tensors.finish();
  return without_module(std::move(checkpoint), format);
}

bool has_no_state(const Checkpoint& checkpoint) {
  if (!whole_module(checkpoint)) return false;
  try {
    const StateEntries told = checkpoint.details->state_entries(checkpoint);
    refuse_unsayable(checkpoint, told);
    return told.tensors.empty();
  } catch (const Error& error) {
    if (is_of_the_machine(error)) throw;
    return true;
  }
}

void refuse_part(const Checkpoint& checkpoint) {
  if (!whole_module(checkpoint)) return;
  throw Error(ErrorCode::unsupported, "a " + checkpoint.format + " file is taken whole: its code names what is in it")
      .expected("its state dict, of which a part can be taken")
      .in(checkpoint.file)
      .hint(has_no_state(checkpoint) ? hint_of_tensors(checkpoint)
                                     : "ckpt convert " + shell_word(checkpoint.file) + " OUT --weights-only makes one");
}

}  // namespace ckpt
