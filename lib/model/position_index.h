#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ckpt/export.h"

namespace ckpt {

/// A hash of bytes, another in every run of the program: no file can be made so that its names collide.
CKPT_API std::uint64_t hash_of(std::string_view bytes);

/// Finds what a list holds by content: a flat hash table of positions. The list itself, and what equal means, stay with
/// the caller.
///
///     PositionIndex index;
///     const auto equal = [&](std::uint32_t other) { return names[other] == name; };
///     if (index.add(hash_of(name), names.size(), equal) == names.size()) names.push_back(name);
class CKPT_API PositionIndex {
 public:
  static constexpr std::uint32_t nowhere = 0xFFFFFFFF;

  /// Makes room for so many positions, so that none is moved as they are added.
  void reserve(std::size_t positions);

  /// The position added before under an equal content; else adds `position`, and returns that.
  template <class Equal>
  std::uint32_t add(std::uint64_t hash, std::uint32_t position, Equal equal) {
    if (2 * (count_ + 1) > slots_.size()) grow_to(slots_.empty() ? 16 : 2 * slots_.size());
    Slot& slot = slots_[place_of(hash, equal)];
    if (slot.position == nowhere) {
      slot = {static_cast<std::uint32_t>(hash), position};
      ++count_;
    }
    return slot.position;
  }

  /// `nowhere` where nothing equal was added.
  template <class Equal>
  [[nodiscard]] std::uint32_t find(std::uint64_t hash, Equal equal) const {
    return slots_.empty() ? nowhere : slots_[place_of(hash, equal)].position;
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t position = nowhere;
  };

  /// Where an equal content stands, or the free slot where it would.
  template <class Equal>
  [[nodiscard]] std::size_t place_of(std::uint64_t hash, Equal equal) const {
    const std::size_t mask = slots_.size() - 1;
    const auto part = static_cast<std::uint32_t>(hash);
    std::size_t at = part & mask;
    while (slots_[at].position != nowhere && !(slots_[at].hash == part && equal(slots_[at].position)))
      at = (at + 1) & mask;
    return at;
  }

  void grow_to(std::size_t slots);

  std::vector<Slot> slots_;  ///< a power of two of them, half of them free at least
  std::size_t count_ = 0;
};

}  // namespace ckpt
