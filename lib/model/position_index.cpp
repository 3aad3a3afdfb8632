#include "model/position_index.h"

#include <sys/auxv.h>

#include <array>
#include <cstring>
#include <utility>

namespace ckpt {
namespace {

/// 16 random bytes that the kernel gives each process.
std::array<std::uint64_t, 2> random_seed() {
  std::array<std::uint64_t, 2> seed{0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93};
  if (const unsigned long at = ::getauxval(AT_RANDOM); at != 0)
    std::memcpy(seed.data(), reinterpret_cast<const void*>(at), sizeof seed);
  seed[1] |= 1;
  return seed;
}

/// Both halves of the product, so that each bit of either factor reaches all of the result.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

std::uint64_t hash_of(std::string_view bytes) {
  static const std::array<std::uint64_t, 2> seed = random_seed();
  std::uint64_t hash = seed[0] ^ bytes.size();
  while (!bytes.empty()) {
    std::uint64_t piece = 0;
    const std::size_t size = bytes.size() < sizeof piece ? bytes.size() : sizeof piece;
    std::memcpy(&piece, bytes.data(), size);
    hash = mix(hash ^ piece, seed[1]);
    bytes.remove_prefix(size);
  }
  return mix(hash, seed[1]);
}

void PositionIndex::grow() {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.empty() ? 16 : 2 * slots_.size()));
  for (const Slot& slot : old)
    if (slot.position != nowhere) slots_[place_of(slot.hash, [](std::uint32_t) { return false; })] = slot;
}

}  // namespace ckpt
