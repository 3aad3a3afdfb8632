#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "ckpt/byte_source.h"
#include "ckpt/checkpoint.h"

namespace ckpt::torch {

/// What a torch zip holds beside its pickle and storages, and the order of it all.
class ZipDetails : public FormatDetails {
 public:
  struct Member {
    enum class Kind : std::uint8_t { pickle, storage, record } kind{};
    std::string name;     ///< within the root folder; of a storage: its key
    ByteSourcePtr bytes;  ///< of a record
  };
  std::string root;              ///< the folder that all members lie in: "archive"
  std::uint32_t alignment = 64;  ///< of members' data

  /// Members in the order of the file; none past the last. Throws Error: what finding it throws.
  [[nodiscard]] virtual std::optional<Member> member(std::size_t index) const = 0;
  /// Whether one of them is the storage of that key.
  [[nodiscard]] virtual bool has_storage(std::string_view key) const = 0;
};

}  // namespace ckpt::torch
