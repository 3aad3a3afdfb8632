#include "model/position_index.h"

#include <bit>
#include <utility>

#include "io/keyed_hash.h"

namespace ckpt {
std::uint64_t hash_of(std::string_view bytes) { return KeyedHash()(bytes); }

void PositionIndex::reserve(std::size_t positions) {
  if (const std::size_t slots = std::bit_ceil(2 * positions); slots > slots_.size()) grow_to(slots);
}

void PositionIndex::grow_to(std::size_t slots) {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots));
  for (const Slot& slot : old)
    if (slot.position != nowhere) slots_[place_of(slot.hash, [](std::uint32_t) { return false; })] = slot;
}

}  // namespace ckpt
