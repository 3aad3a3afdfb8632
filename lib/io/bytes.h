#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

/// The vocabulary for bytes that came from a file: loads with a stated byte order, arithmetic that says when it
/// overflows.
namespace ckpt {

static_assert(std::endian::native == std::endian::little, "ckpt is built for little-endian machines");

template <class T>
[[nodiscard]] T load_le(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
[[nodiscard]] T load_be(const std::byte* from) {
  static_assert(sizeof(T) == 8 || sizeof(T) == 4 || sizeof(T) == 2);
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<T>(__builtin_bswap64(load_le<std::uint64_t>(from)));
  else if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(__builtin_bswap32(load_le<std::uint32_t>(from)));
  else
    return std::bit_cast<T>(__builtin_bswap16(load_le<std::uint16_t>(from)));
}

template <class T>
void store_le(void* to, T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::memcpy(to, &value, sizeof value);
}

/// Appends `value` to a byte buffer, little-endian.
template <class T, class Buffer>
void append_le(Buffer& to, T value) {
  static_assert(sizeof(typename Buffer::value_type) == 1);
  to.resize(to.size() + sizeof value);
  store_le(to.data() + to.size() - sizeof value, value);
}

template <class T>
[[nodiscard]] std::optional<T> checked_add(T a, T b) {
  T result;
  if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}

template <class T>
[[nodiscard]] std::optional<T> checked_mul(T a, T b) {
  T result;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

/// True where [offset, offset + size) lies in [0, total).
[[nodiscard]] inline bool in_bounds(std::uint64_t offset, std::uint64_t size, std::uint64_t total) {
  return offset <= total && size <= total - offset;
}

[[nodiscard]] inline std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

[[nodiscard]] inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace ckpt
