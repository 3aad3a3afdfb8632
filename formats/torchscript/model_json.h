#pragma once

#include <string>

#include "ckpt/checkpoint.h"
#include "format.h"
#include "torchscript/details.h"

/// The form of torch 1.0 to 1.2 (torch/csrc/jit/serialization/import_legacy.cpp): no data.pkl, but model.json, which
/// holds the tree of modules and a table of tensors, and attributes.pkl.
namespace ckpt::torchscript {

/// The tensors by their qualified names; those that only code names as CONSTANTS.c0 … Sets details.entries. The key of
/// a storage is its member: "tensors/0". Throws Error: corrupt, truncated, unsupported (a quantised tensor),
/// limit_exceeded.
Checkpoint read_model_json(ScriptDetails& details, const ByteSource& source, const ReadContext& context);

/// model.json with the storages' present locations as its tensors' devices; as it was where all are there already.
std::string with_devices(const ByteSource& model, const Checkpoint& checkpoint);

}  // namespace ckpt::torchscript
