#pragma once

#include <string>
#include <vector>

#include "ckpt/byte_source.h"
#include "ckpt/checkpoint.h"

namespace ckpt::torch {

/// What a torch zip holds beside its pickle and storages, and the order of it all.
class ZipDetails final : public FormatDetails {
 public:
  struct Member {
    enum class Kind : std::uint8_t { pickle, storage, record } kind{};
    std::string name;     ///< within the root folder; of a storage: its key
    ByteSourcePtr bytes;  ///< of a record
  };
  std::string root;              ///< the folder that all members lie in: "archive"
  std::uint32_t alignment = 64;  ///< of members' data
  std::vector<Member> members;   ///< in the order of the file
};

}  // namespace ckpt::torch
