#include "torch_common/read_pickle.h"

#include "ckpt/error.h"
#include "pickle/machine.h"
#include "pickle/policy.h"
#include "torch_common/nested_files.h"
#include "torch_common/storage_ids.h"

namespace ckpt::torch {

std::uint64_t read_object(const ByteSource& source, std::uint64_t offset, std::uint64_t cap, Checkpoint& checkpoint,
                          const ReadContext* context) {
  pickle::Program program = pickle::run(source, offset, checkpoint.values, cap);
  checkpoint.root = program.root;
  checkpoint.protocol = program.protocol;
  checkpoint.discarded = std::move(program.discarded);
  checkpoint.globals = std::move(program.globals);
  try {
    collect_storages(checkpoint);
    if (context != nullptr) open_nested_files(checkpoint, program.texts, *context);
  } catch (Error& error) {
    name_dangers(error, checkpoint.globals);
    throw;
  }
  return program.end;
}

void refuse_dangerous(const Checkpoint& checkpoint, bool allow_unsafe) {
  if (allow_unsafe) return;
  std::string names;
  const GlobalUse* first = nullptr;
  for (const GlobalUse& global : checkpoint.globals) {
    if (global.verdict != Verdict::dangerous) continue;
    if (first == nullptr) first = &global;
    names += (names.empty() ? "" : ", ") + global.module + "." + global.name;
  }
  if (first == nullptr) return;
  throw Error(ErrorCode::unsafe, "the pickle calls for " + names + ", which can run code when it is loaded")
      .expected("only names that rebuild data")
      .at(first->offset)
      .in(checkpoint.file)
      .hint("ckpt inspect " + checkpoint.file + " shows what it holds; --allow-unsafe writes it all the same");
}

}  // namespace ckpt::torch
