#include "model/position_index.h"

#include <utility>

#include "io/keyed_hash.h"

namespace ckpt {
std::uint64_t hash_of(std::string_view bytes) { return KeyedHash()(bytes); }

void PositionIndex::grow() {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.empty() ? 16 : 2 * slots_.size()));
  for (const Slot& slot : old)
    if (slot.position != nowhere) slots_[place_of(slot.hash, [](std::uint32_t) { return false; })] = slot;
}

}  // namespace ckpt
