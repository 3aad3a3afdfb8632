#pragma once

#include <c10/core/Storage.h>

#include <cstdint>
#include <map>
#include <set>

#include "ckpt/checkpoint.h"

namespace ckpt::eval {

/// Storages of a checkpoint in memory that tensors can own.
class LoadedStorages {
 public:
  /// Reads `wanted`, indices into Checkpoint::storages, in the file's order.
  LoadedStorages(const Checkpoint& checkpoint, const std::set<std::uint32_t>& wanted);

  /// Has `checkpoint`, which has the same storages, read them from there.
  void lend(Checkpoint& checkpoint) const;

  [[nodiscard]] const c10::Storage& at(std::uint32_t storage) const { return storages_.at(storage); }

 private:
  std::map<std::uint32_t, c10::Storage> storages_;
};

}  // namespace ckpt::eval
