#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "ckpt/byte_source.h"
#include "ckpt/export.h"

namespace ckpt {

/// CRC-32 as zip and gzip use it, continued from `crc` (0 to begin).
CKPT_API std::uint32_t crc32(std::uint32_t crc, std::span<const std::byte> bytes);

/// The CRC-32 of the last `rest` bytes of what has the CRC-32 `whole` and begins with what has `head`.
CKPT_API std::uint32_t crc32_of_rest(std::uint32_t whole, std::uint32_t head, std::uint64_t rest);

/// The CRC-32 of what begins with bytes that have the CRC-32 `head`, and goes on with `count` that have `rest`.
CKPT_API std::uint32_t crc32_of_both(std::uint32_t head, std::uint32_t rest, std::uint64_t count);

/// Which bit of `count` bytes is another one than it was, counted from the first byte's lowest: where that alone makes
/// their CRC-32 `found` rather than `recorded`. None where more is wrong; by chance one in 2^29 / `count` of such
/// times.
CKPT_API std::optional<std::uint64_t> flipped_bit(std::uint32_t found, std::uint32_t recorded, std::uint64_t count);

/// Eight lower-case hexadecimal digits.
CKPT_API std::string hexadecimal(std::uint32_t value);

/// SHA-256, fed piece by piece.
class CKPT_API Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void update(std::span<const std::byte> bytes);
  /// 64 lower-case hexadecimal digits; call once.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Throws Error (corrupt, naming the source and both values) where the source records another CRC-32 than `computed`.
CKPT_API void check_recorded_crc32(const ByteSource& source, std::uint32_t computed);

}  // namespace ckpt
