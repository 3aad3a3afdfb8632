#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "ckpt/byte_source.h"

namespace ckpt {

/// Opens the files that one checkpoint is made of, hundreds perhaps, and keeps few of them open at a time: the others
/// are opened again when they are read. One that has changed meanwhile is an Error (io) of the read, as it is of every
/// file. Its sources may be read by several threads at once; opening is for one.
class FilePool {
 public:
  /// Throws Error: io, unsupported (it is no regular file).
  [[nodiscard]] ByteSourcePtr open(const std::string& path);

 private:
  class Source;
  /// Those that are open, the last one used first. Sources share it, and may outlive the pool.
  struct Open {
    std::mutex mutex;
    std::list<std::pair<const Source*, ByteSourcePtr>> files;
  };

  std::shared_ptr<Open> open_ = std::make_shared<Open>();
};

}  // namespace ckpt
