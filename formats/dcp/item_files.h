#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "ckpt/byte_source.h"
#include "format.h"

namespace ckpt::dcp {

/// The files beside `.metadata`, of which a large job has thousands: so many are open at a time, the others are opened
/// again when they are read again.
class ItemFiles {
 public:
  explicit ItemFiles(const ReadContext& context);

  /// Null where there is none of that name. Throws Error: what opening throws.
  ByteSourcePtr open(const std::string& name);

 private:
  static constexpr std::size_t most_open = 64;
  class File;
  struct Room {
    ReadContext context;
    std::list<const File*> open;  ///< last opened first
  };
  std::shared_ptr<Room> room_;
};

}  // namespace ckpt::dcp
