#include "io/gzip_header.h"

#include <algorithm>
#include <string>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "io/bytes.h"
#include "io/checksum.h"

namespace ckpt {
namespace {

constexpr std::byte first_magic{0x1f};
constexpr std::byte second_magic{0x8b};
constexpr auto method_deflate = std::uint8_t{8};

/// Reads a header's fields and keeps the CRC-32 of what went by.
class HeaderReader {
 public:
  explicit HeaderReader(CompressedInput& input) : input_(input) {}

  /// The next `count` bytes (a few), valid until the next call.
  std::span<const std::byte> take(std::size_t count) {
    const std::span<const std::byte> bytes = input_.require(count);
    if (bytes.size() < count) fail_truncated(bytes.size());
    pass(bytes.first(count));
    return bytes.first(count);
  }

  void skip(std::size_t count) {
    while (count != 0) {
      const std::span<const std::byte> bytes = some();
      const std::size_t step = std::min(count, bytes.size());
      pass(bytes.first(step));
      count -= step;
    }
  }

  void skip_text() {
    while (true) {
      const std::span<const std::byte> bytes = some();
      const auto end = std::find(bytes.begin(), bytes.end(), std::byte{0});
      if (end != bytes.end()) return pass(bytes.first(static_cast<std::size_t>(end - bytes.begin()) + 1));
      pass(bytes);
    }
  }

  [[nodiscard]] std::uint16_t crc16() const { return static_cast<std::uint16_t>(crc_); }

 private:
  std::span<const std::byte> some() {
    const std::span<const std::byte> bytes = input_.available();
    if (bytes.empty()) fail_truncated(0);
    return bytes;
  }

  void pass(std::span<const std::byte> bytes) {
    crc_ = crc32(crc_, bytes);
    input_.consume(bytes.size());
  }

  [[noreturn]] void fail_truncated(std::size_t left) const {
    throw Error(ErrorCode::truncated, "the header is cut off").at(input_.position() + left);
  }

  CompressedInput& input_;
  std::uint32_t crc_ = 0;
};

}  // namespace

bool has_gzip_magic(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == first_magic && bytes[1] == second_magic;
}

Error inflates_past(std::uint64_t most) {
  return Error(ErrorCode::limit_exceeded, "inflates past " + std::to_string(most) + " bytes")
      .expected("no more: of gzip within gzip, " + std::to_string(limits::inflated_ratio) + " times the file and " +
                std::to_string(limits::inflated_floor));
}

void skip_gzip_header(CompressedInput& input) {
  const std::uint64_t begin = input.position();
  HeaderReader header(input);
  const std::span<const std::byte> fixed = header.take(gzip_header_bytes);
  const auto method = std::to_integer<std::uint8_t>(fixed[2]);
  const auto flags = std::to_integer<std::uint8_t>(fixed[3]);
  if (method != method_deflate) {
    throw Error(ErrorCode::unsupported, "compression method " + std::to_string(method))
        .expected("8 (deflate)")
        .at(begin + 2);
  }
  if ((flags & gzip_reserved) != 0) {
    throw Error(ErrorCode::corrupt, "reserved flags are set").expected("zero").at(begin + 3);
  }
  if ((flags & gzip_extra) != 0) header.skip(load_le<std::uint16_t>(header.take(2).data()));
  if ((flags & gzip_name) != 0) header.skip_text();
  if ((flags & gzip_comment) != 0) header.skip_text();
  if ((flags & gzip_header_crc) != 0) {
    const std::uint16_t computed = header.crc16();
    const auto recorded = load_le<std::uint16_t>(header.take(2).data());
    if (recorded != computed) {
      throw Error(ErrorCode::corrupt, "the header has CRC-16 " + std::to_string(computed))
          .expected(std::to_string(recorded) + " as recorded")
          .at(input.position() - 2);
    }
  }
}

}  // namespace ckpt
