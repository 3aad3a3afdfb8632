#include "pickled_tensors/read_pickle.h"

#include <algorithm>
#include <utility>

#include "ckpt/error.h"
#include "pickle/global_uses.h"
#include "pickle/machine.h"
#include "pickle/policy.h"
#include "pickled_tensors/nested_files.h"
#include "pickled_tensors/storage_ids.h"

namespace ckpt::torch {

pickle::Program add_pickle(const ByteSource& source, std::uint64_t offset, std::uint64_t cap, Checkpoint& checkpoint,
                           std::string_view folder, const ReadContext* context) {
  const auto first = static_cast<ValueId>(checkpoint.values.size());
  pickle::Program program = pickle::run(source, offset, checkpoint.values, cap);
  pickle::GlobalUses(checkpoint.globals).add(program.globals);
  try {
    collect_storages(checkpoint, first, folder);
    if (context != nullptr) open_nested_files(checkpoint, program.texts, *context);
  } catch (Error& error) {
    name_dangers(error, checkpoint.globals);
    throw;
  }
  return program;
}

std::uint64_t read_object(const ByteSource& source, std::uint64_t offset, std::uint64_t cap, Checkpoint& checkpoint,
                          const ReadContext* context) {
  pickle::Program program = add_pickle(source, offset, cap, checkpoint, {}, context);
  checkpoint.root = program.root;
  checkpoint.protocol = program.protocol;
  checkpoint.discarded = std::move(program.discarded);
  return program.end;
}

ObjectEnd salvage_object(const ByteSource& source, std::uint64_t offset, Checkpoint& checkpoint, Doubts& doubts,
                         const ReadContext& context) {
  pickle::Salvage salvage = pickle::salvage(source, offset, checkpoint.values, context.pickle_cap);
  pickle::Program& program = salvage.program;
  pickle::GlobalUses(checkpoint.globals).add(program.globals);
  if (program.root == no_value) {
    name_dangers(*salvage.broken, checkpoint.globals);
    throw *salvage.broken;
  }
  collect_storages(checkpoint, 0, {}, &doubts);
  open_nested_files(checkpoint, program.texts, context);
  checkpoint.root = program.root;
  checkpoint.protocol = program.protocol;
  checkpoint.discarded = std::move(program.discarded);
  return {program.end, std::move(salvage.broken)};
}

void refuse_dangerous(const Checkpoint& checkpoint, bool allow_unsafe) {
  if (allow_unsafe) return;
  const auto first = std::find_if(checkpoint.globals.begin(), checkpoint.globals.end(),
                                  [](const GlobalUse& use) { return use.verdict == Verdict::dangerous; });
  if (first == checkpoint.globals.end()) return;
  const std::string& file = first->file.empty() ? checkpoint.file : first->file;
  throw Error(ErrorCode::unsafe,
              "the pickle calls for " + danger_names(checkpoint.globals) + ", which can run code when it is loaded")
      .expected("only names that rebuild data")
      .at(first->offset)
      .in(file)
      .hint("ckpt inspect " + shell_word(file) + " shows what it holds; --allow-unsafe writes it all the same");
}

}  // namespace ckpt::torch
