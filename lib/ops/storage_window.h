#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ckpt/storage.h"

namespace ckpt {

/// Fills `out` from `begin` on, in little-endian order whatever the file's. `begin` is a multiple of storage_alignment,
/// as is the end where it is not the storage's own. Throws what reading throws.
void read_little_endian(const Storage& storage, std::uint64_t begin, std::span<std::byte> out);

/// The largest element: what is read begins at its multiples, so that none is cut and every swap is whole.
constexpr std::uint64_t storage_alignment = 16;

/// A moving window over a storage's bytes, in little-endian order whatever the file's. Holds `window` bytes, never the
/// storage. Bytes that no one asks for are read only where they share a window with those that someone does.
class StorageWindow {
 public:
  /// Nothing at or past `end` is read but the rest of its swapped element. `storage` must outlive the window.
  StorageWindow(const Storage& storage, std::uint64_t end, std::size_t window);

  /// The bytes from `address` to the window's end, at least one; valid until the next call. `address` lies before
  /// `end`. Throws what reading throws.
  std::span<const std::byte> from(std::uint64_t address) {
    if (address < begin_ || address - begin_ >= bytes_.size()) load(address);
    return std::span<const std::byte>(bytes_).subspan(static_cast<std::size_t>(address - begin_));
  }

  [[nodiscard]] const Storage& storage() const { return storage_; }

  /// Copies out.size() bytes from `address` on.
  void copy(std::uint64_t address, std::span<std::byte> out);

 private:
  void load(std::uint64_t address);

  const Storage& storage_;
  std::uint64_t end_;
  std::size_t window_;
  std::uint64_t begin_ = 0;
  std::vector<std::byte> bytes_;
};

}  // namespace ckpt
