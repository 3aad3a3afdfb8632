#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace ckpt {

/// For hash tables whose keys a file chooses: SipHash-1-3 with a key of this process, so that no file can be made whose
/// keys all fall into one bucket. Strings that collide in std::hash are easily made: its blocks cancel in pairs.
struct KeyedHash {
  using is_transparent = void;
  [[nodiscard]] std::size_t operator()(std::string_view text) const noexcept;
};

template <class Value>
using NameMap = std::unordered_map<std::string, Value, KeyedHash, std::equal_to<>>;
using NameSet = std::unordered_set<std::string, KeyedHash, std::equal_to<>>;
/// Of names that something else holds.
template <class Value>
using NameViewMap = std::unordered_map<std::string_view, Value, KeyedHash>;
using NameViewSet = std::unordered_set<std::string_view, KeyedHash>;

}  // namespace ckpt
