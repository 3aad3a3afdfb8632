#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/dtype.h"
#include "ckpt/value.h"
#include "dcp/flatten.h"

namespace ckpt::dcp {

/// An item that has been written, of the leaf at the same place.
struct WrittenItem {
  std::uint64_t offset = 0, length = 0;
  std::optional<DType> dtype;  ///< of a tensor
  std::vector<std::int64_t> shape;
};

/// The pickle of the Metadata that torch 2.11 would have written for one rank, all items in `file`; in protocol 2 if no
/// other is asked for.
std::string metadata_pickle(const FlatDict& flat, const std::vector<WrittenItem>& items, const std::string& file,
                            std::optional<int> protocol);

}  // namespace ckpt::dcp
