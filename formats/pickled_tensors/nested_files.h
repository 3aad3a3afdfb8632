#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ckpt/checkpoint.h"
#include "format.h"
#include "pickle/machine.h"

namespace ckpt::torch {

/// A storage, and the name of its class.
struct NestedStorage {
  std::string module, name;
  Storage storage;
};

/// A call of torch.storage._load_from_bytes, by which pickle saves a storage: its argument is a whole torch.save.
struct NestedFile {
  ValueId call = no_value;
  std::shared_ptr<const NestedStorage> storage;  ///< null where the bytes hold something else than a storage alone
};

/// Opens the files in the arguments of such calls through `context`, each once. Their globals are counted as the
/// checkpoint's, at the byte where they stand (`texts`: as the machine found them). The name itself then is known,
/// where each of its uses is a call whose bytes were opened as a file of torch's and call for nothing dangerous; else
/// it stays dangerous, and a warning says why. Returns the calls that were opened, by value, ascending. Throws Error:
/// io, out_of_memory.
std::vector<NestedFile> open_nested_files(Checkpoint& checkpoint, std::span<const pickle::LongText> texts,
                                          const ReadContext& context);

}  // namespace ckpt::torch
