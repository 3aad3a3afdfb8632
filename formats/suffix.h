#pragma once

#include <array>
#include <span>
#include <string_view>

/// What names of files and of members of archives say, in any case of letters (ASCII's).
namespace ckpt {

/// `lower`: in lower case.
bool equal_in_any_case(std::string_view name, std::string_view lower);
bool ends_with_in_any_case(std::string_view name, std::string_view lower);

/// The first of `suffixes`, in lower case, that a name ends with; empty where it ends with none.
std::string_view suffix_among(std::string_view name, std::span<const std::string_view> suffixes);

/// Of compressions that are neither read nor written.
inline constexpr std::array<std::string_view, 6> foreign_compressions{".xz", ".lzma", ".bz2", ".zst", ".lz4", ".z"};

/// Whether it is the name of a file in gzip.
bool ends_in_gz(std::string_view name);
/// What stands before its ".gz"; all of the name where it has none.
std::string_view without_gz(std::string_view name);

}  // namespace ckpt
