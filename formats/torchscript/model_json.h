#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/byte_source.h"
#include "ckpt/dtype.h"

/// model.json, which PyTorch 1.0 to 1.2 wrote in the place of data.pkl
/// (torch/csrc/jit/serialization/import_legacy.cpp): protobuf's JSON, in which 64-bit integers are strings, and what is
/// zero, false or empty may be left out.
namespace ckpt::torchscript {

struct ModelTensor {
  std::vector<std::int64_t> dims, strides;
  std::int64_t offset = 0;
  DType dtype{};
  std::string member;  ///< that holds its storage
  std::string device;
};

struct ModelModule {
  /// By name, with its place in the table of tensors, or among the attributes of attributes.pkl.
  using Named = std::vector<std::pair<std::string, std::int64_t>>;
  std::string name;  ///< qualified; empty for the model itself
  Named parameters, buffers, attributes;
};

struct ScriptModel {
  std::string class_name;
  std::vector<ModelTensor> tensors;
  std::vector<ModelModule> modules;  ///< each before those that it holds
};

/// Throws Error: corrupt, unsupported (quantised tensors, other types), limit_exceeded.
ScriptModel parse_model(const ByteSource& model);

/// The same text with other devices for tensors, by their members; as it was where all are there already.
std::string with_devices(const ByteSource& model, const std::map<std::string, std::string>& devices);

}  // namespace ckpt::torchscript
