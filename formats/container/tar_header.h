#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ckpt/byte_source.h"

namespace ckpt::tar {

inline constexpr std::uint64_t block = 512;

/// One header, as it stands.
struct Header {
  std::string name;
  std::optional<std::uint64_t> size;  ///< none where the header has no number there
  char type = '0';
  /// Its texts are names and nothing behind them: a header could else be a program to pickle.load, and begin a file of
  /// another format.
  bool has_names = true;
};

using Block = std::array<std::byte, block>;

bool is_zero(const Block& bytes);
/// None where the checksum is another than the bytes'.
std::optional<Header> parse_header(const Block& bytes);

/// What pax's records say of the member that follows.
struct Pax {
  std::optional<std::string> path;
  std::optional<std::uint64_t> size;
  bool is_sparse = false;
};

/// Reads "LENGTH key=value\n" records into `pax`; false where they are none.
bool parse_pax(std::string_view records, Pax& pax);

}  // namespace ckpt::tar
