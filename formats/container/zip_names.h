#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace ckpt::zip {

/// Refuses what leads out of a folder or is read differently by different readers: empty and absolute names, "..",
/// drive letters, backslashes, NUL. Throws Error (corrupt).
void check_name(std::string_view name);

/// Where each name stands in a list of members. Sorted by a hash of the name in lower case (ASCII), then by name: no
/// file can make it slow, as it could a hash table.
class NameIndex {
 public:
  using NameOf = std::function<std::string_view(std::size_t)>;

  NameIndex() = default;
  NameIndex(std::size_t count, const NameOf& name_of);

  /// Calls `found` with each pair of positions whose names are equal, or equal but for case.
  void each_clash(const NameOf& name_of, const std::function<void(std::size_t, std::size_t)>& found) const;

  /// The position of exactly `name` (the lowest, where several have it), or -1.
  [[nodiscard]] std::ptrdiff_t find(std::string_view name, const NameOf& name_of) const;

 private:
  struct Key {
    std::uint64_t hash;
    std::size_t position;
  };
  std::vector<Key> keys_;
};

}  // namespace ckpt::zip
