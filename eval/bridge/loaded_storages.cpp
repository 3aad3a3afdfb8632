#include "bridge/loaded_storages.h"

#include <ATen/ops/from_blob.h>

#include <cstdlib>
#include <limits>
#include <memory>
#include <string>

#include "bridge/storage_source.h"
#include "ckpt/error.h"

namespace ckpt::eval {
namespace {

/// What vector instructions, and libtorch's own allocator, want.
constexpr std::size_t alignment = 64;

c10::Storage load(const Storage& storage) {
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max() - alignment;
  const std::size_t room = (static_cast<std::size_t>(storage.nbytes) / alignment + 1) * alignment;
  // Pages are taken as bytes arrive, so that a size which is a lie costs none.
  auto* const memory = storage.nbytes > most ? nullptr : std::aligned_alloc(alignment, room);
  if (memory == nullptr)
    throw Error(ErrorCode::out_of_memory,
                "storage '" + storage.key + "' has " + std::to_string(storage.nbytes) + " bytes")
        .expected("as much free memory");
  const std::shared_ptr<void> owner(memory, std::free);
  read_storage(storage, {static_cast<std::byte*>(memory), static_cast<std::size_t>(storage.nbytes)});
  const std::int64_t size[] = {static_cast<std::int64_t>(storage.nbytes)};
  return at::from_blob(
             memory, size, [owner](void*) {}, at::kByte)
      .storage();
}

}  // namespace

LoadedStorages::LoadedStorages(const Checkpoint& checkpoint, const std::set<std::uint32_t>& wanted) {
  for (const std::uint32_t index : wanted) storages_.emplace(index, load(checkpoint.storages.at(index)));
}

void LoadedStorages::lend(Checkpoint& checkpoint) const {
  for (const auto& [index, memory] : storages_) {
    Storage& storage = checkpoint.storages.at(index);
    storage.bytes = storage_source(memory);
    storage.byte_order = ByteOrder::little;  // read_storage() has seen to it
  }
}

}  // namespace ckpt::eval
