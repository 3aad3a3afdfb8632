#pragma once

#include "ckpt/checkpoint.h"
#include "format.h"
#include "torchscript/details.h"

namespace ckpt::torchscript {

/// Reads an archive whose model is a model.json and attributes.pkl: tensors by their qualified names, and those that
/// only code names as CONSTANTS.c0 … Sets details.entries. The key of a storage is its member: "tensors/0".
/// Throws Error: corrupt, truncated, unsupported (a quantised tensor), limit_exceeded.
Checkpoint read_model(ScriptDetails& details, const ByteSource& source, const ReadContext& context);

}  // namespace ckpt::torchscript
