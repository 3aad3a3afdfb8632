#pragma once

#include <memory>
#include <string>

#include "ckpt/byte_source.h"
#include "io/recently_used.h"

namespace ckpt {

/// Opens the files that one checkpoint is made of, hundreds perhaps, and keeps few of them open at a time: the others
/// are opened again when they are read. One that has changed meanwhile is an Error (io) of the read, as it is of every
/// file. Its sources may be read by several threads at once; opening is for one.
class FilePool {
 public:
  FilePool();
  /// Throws Error: io, unsupported (it is no regular file).
  [[nodiscard]] ByteSourcePtr open(const std::string& path);

 private:
  std::shared_ptr<RecentlyUsed> open_;  ///< which sources share: they may outlive the pool
};

}  // namespace ckpt
