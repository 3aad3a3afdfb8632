#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/byte_source.h"
#include "ckpt/checkpoint.h"
#include "ckpt/dtype.h"
#include "ckpt/value.h"
#include "dcp/steps.h"
#include "format.h"

/// What `.metadata` says (torch/distributed/checkpoint/metadata.py, filesystem.py; docs/formats/dcp.md).
namespace ckpt::dcp {

inline constexpr std::uint32_t nowhere = 0xFFFFFFFF;

/// Where one torch.save of a tensor's chunk, or of another value, lies.
struct Item {
  std::uint32_t file = 0;  ///< index into Metadata::files
  std::uint64_t offset = 0, length = 0;
};

/// Boxes of a tensor: for each, where it begins in every dimension, then how far it goes.
using Boxes = std::vector<std::int64_t>;

/// An entry of the flat state dict.
struct Entry {
  std::string name;
  bool is_tensor = false;  ///< else `items` has the one that holds a value
  DType dtype{};
  std::vector<std::int64_t> shape;
  Boxes boxes;
  std::vector<std::uint32_t> items;  ///< of each box, into Metadata::items
  ValueId path = no_value;           ///< a tuple of strings and integers in `values`; no_value: the name is the key
};

struct Metadata {
  ValueGraph values;
  std::vector<GlobalUse> globals;
  std::vector<std::string> files;
  std::vector<Item> items;
  Steps steps{0};              ///< left for what is made of it
  std::vector<Entry> entries;  ///< in the order of the file; those that findings say to be broken are left out
};

/// Throws Error: corrupt, unsupported (transformed items, tensors that are not strided), limit_exceeded, and what
/// reading the pickle throws. With findings, faults of single entries are noted there.
Metadata read_metadata(const ByteSource& source, const ReadContext& context);

/// The integers of a torch.Size, 0 or more each. Throws Error (corrupt, limit_exceeded).
std::vector<std::int64_t> size_of(const ValueGraph& values, ValueId id);

}  // namespace ckpt::dcp
