#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ckpt/assemble.h"
#include "ckpt/error.h"
#include "format.h"
#include "torchscript/details.h"

/// The table of tensors in model.json, and the words of its JSON: protobuf's, in which 64-bit integers are strings, and
/// what is zero, false or empty may be left out.
namespace ckpt::torchscript {

using Json = nlohmann::ordered_json;

Error wrong(const std::string& what, const std::string& expected);
/// Empty where the key is not there.
std::string text_of(const Json& object, const char* key);
std::int64_t integer_of(const Json& object, const char* key, std::int64_t otherwise);
/// An empty array where the key is not there.
const Json& array_of(const Json& object, const char* key);
/// Of a tensor: the member that holds its storage.
std::string member_of(const Json& tensor);

struct ModelTensors {
  std::vector<TensorSource> sources;  ///< named by their places in the table
  std::vector<std::string> members;   ///< those of the storages, in the order in which the sources name them first
};

/// Throws Error: corrupt (a member that is not there, a size that is not its dtype's), unsupported (quantised tensors).
ModelTensors read_tensors(const Json& table, const ScriptDetails& details, const ReadContext& context);

}  // namespace ckpt::torchscript
