#include <array>
#include <set>

#include "ckpt/error.h"
#include "ckpt/state_dict.h"
#include "io/bytes.h"
#include "model/end_of_file.h"
#include "model/tensor_calls.h"
#include "ops/tensor_bytes.h"
#include "pickle/global_uses.h"
#include "pickle/machine.h"
#include "pickle/policy.h"
#include "pickled_tensors/nested_files.h"
#include "pickled_tensors/storage_ids.h"
#include "pickled_tensors/tensors.h"
#include "plain_pickle/arrays.h"
#include "plain_pickle/plain_pickle.h"

namespace ckpt::plain_pickle {
namespace {

/// Python cannot load a pickle with such ids by itself either: it is the middle of something.
void refuse_persistent_ids(const Checkpoint& checkpoint) {
  const ValueGraph& values = checkpoint.values;
  for (ValueId id = 0; id < values.size(); ++id)
    if (values.kind(id) == ValueKind::persistent)
      throw Error(ErrorCode::unsupported, "a pickle that names storages which it does not hold")
          .expected("a pickle that is whole by itself")
          .in(checkpoint.file)
          .hint(
              "is it the data.pkl of an archive that was unpacked? Give ckpt the archive, or zip the folder again: "
              "zip -0 -r model.pt FOLDER");
}

/// Puts the storages of nested files in the place of the calls that would load them.
void join(Checkpoint& checkpoint, const std::vector<torch::NestedFile>& files) {
  TensorCalls calls(checkpoint.values);
  std::vector<const Storage*> storages;
  std::size_t kept = 0;
  for (const auto& [call, nested] : files) {
    if (nested == nullptr) {
      ++kept;
      continue;
    }
    const Storage& storage = nested->storage;
    const ValueId id = calls.storage_id(nested->module, nested->name, std::to_string(storages.size()), storage.location,
                                        storage.nbytes / dtype_size(storage.dtype));
    checkpoint.values.become_persistent(call, id);
    storages.push_back(&storage);
  }
  torch::collect_storages(checkpoint);
  for (std::size_t i = 0; i < storages.size(); ++i) {
    checkpoint.storages[i].bytes = storages[i]->bytes;
    checkpoint.storages[i].byte_order = storages[i]->byte_order;
  }
  if (kept > 0)
    checkpoint.warnings.push_back("torch.storage._load_from_bytes is given more than a storage " +
                                  std::to_string(kept) + (kept == 1 ? " time" : " times") + ": kept as it is");
}

/// A few bytes suffice to have the same data loaded again.
void check_total(const Checkpoint& checkpoint) {
  std::uint64_t total = 0, held = 0;
  std::set<const ByteSource*> seen;
  for (const Storage& storage : checkpoint.storages) {
    total = checked_add(total, storage.nbytes).value_or(UINT64_MAX);
    if (seen.insert(storage.bytes.get()).second) held += storage.nbytes;
  }
  if (!expands_too_far(total, held)) return;
  throw Error(ErrorCode::limit_exceeded,
              "the pickle makes " + std::to_string(total) + " bytes of storages out of " + std::to_string(held))
      .expected(expected_expansion())
      .in(checkpoint.file);
}

/// A number, or what a call makes, with pickles behind it: a file of torch's whose magic number is another's, or
/// broken. Nothing would be left of such a file but that number.
void refuse_odd_head(const Checkpoint& checkpoint) {
  const ValueKind kind = checkpoint.values.kind(checkpoint.root);
  const bool scalar = kind != ValueKind::object && !is_mapping(checkpoint.values, checkpoint.root) &&
                      checkpoint.values.items(checkpoint.root).empty() && kind != ValueKind::list;
  const bool call = kind == ValueKind::object && !is_mapping(checkpoint.values, checkpoint.root);
  if (!checkpoint.tensors.empty() || !(scalar || call)) return;
  throw Error(ErrorCode::unsupported, "these are several pickles, the first of which holds no tensor")
      .expected("one object, or the magic number that torch.save began its files with until 1.5")
      .in(checkpoint.file);
}

/// pickle.load reads the first pickle; a program that was made to read on would run the others.
void judge_rest(const ByteSourcePtr& source, std::uint64_t end, const ReadContext& context, Checkpoint& checkpoint) {
  std::array<std::byte, 1> next{};
  if (source->read_at(end, next) == 0) return;
  pickle::GlobalUses globals(checkpoint.globals);
  std::uint64_t at = end, pickles = 0;
  try {
    while (pickles < limits::pickles_behind && source->read_at(at, next) != 0) {
      Checkpoint behind;
      behind.file = checkpoint.file;
      pickle::Program program = pickle::run_lazily(source, at, behind.values, context.pickle_cap);
      behind.globals = std::move(program.globals);
      torch::open_nested_files(behind, program.texts, context);
      globals.add(behind.globals);
      checkpoint.warnings.insert(checkpoint.warnings.end(), behind.warnings.begin(), behind.warnings.end());
      at = program.end;
      ++pickles;
    }
  } catch (const Error& error) {
    if (is_of_the_machine(error)) throw;
  }
  if (pickles > 0) refuse_odd_head(checkpoint);
  std::string more;
  if (pickles > 0)
    more = ": pickle.load reads one object a call, and there " +
           (pickles == 1 ? "is 1 more" : "are " + std::to_string(pickles) + " more");
  leave_out(checkpoint, source->size() - end, "the pickle", more);
}

}  // namespace

Checkpoint read(const ByteSourcePtr& source, const ReadContext& context) {
  Checkpoint checkpoint;
  checkpoint.file = source->name();
  checkpoint.format = format.name;
  pickle::Program program = pickle::run_lazily(source, 0, checkpoint.values, context.pickle_cap);
  checkpoint.root = program.root;
  checkpoint.protocol = program.protocol;
  checkpoint.discarded = std::move(program.discarded);
  checkpoint.globals = std::move(program.globals);
  try {
    refuse_persistent_ids(checkpoint);
    join(checkpoint, torch::open_nested_files(checkpoint, program.texts, context));
    torch::decode_tensors(checkpoint);
    add_arrays(checkpoint);
    check_total(checkpoint);
    judge_rest(source, program.end, context, checkpoint);
  } catch (Error& error) {
    name_dangers(error, checkpoint.globals);
    throw;
  }
  for (const Tensor& tensor : checkpoint.tensors)
    if (tensor.array) context.check_bytes(*checkpoint.storages[*tensor.storage].bytes, "an array's bytes");
  return checkpoint;
}

}  // namespace ckpt::plain_pickle
