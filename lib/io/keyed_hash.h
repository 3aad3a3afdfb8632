#pragma once

#include <cstddef>
#include <string_view>

namespace ckpt {

/// For hash tables whose keys a file chooses: SipHash-2-4 with a key of this process, so that no file can be made whose
/// keys all fall into one bucket. Strings that collide in std::hash are easily made: its blocks cancel in pairs.
struct KeyedHash {
  using is_transparent = void;
  [[nodiscard]] std::size_t operator()(std::string_view text) const noexcept;
};

}  // namespace ckpt
