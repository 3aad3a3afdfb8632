#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// Bars of characters: block elements where the locale's characters are UTF-8, else ASCII.
namespace ckpt::tools {

/// What LC_ALL, LC_CTYPE or LANG, the first that is set, says.
bool is_utf8_locale();

/// Of so many bins, how many are added up to one of at most `most`; the last may be of fewer.
std::size_t merged_bins(std::size_t bins, std::size_t most);
/// Neighbours added up until no more than `most` are left.
std::vector<std::uint64_t> merged(const std::vector<std::uint64_t>& counts, std::size_t most);

/// A character a count, the higher the larger the count is beside the largest; a space where there is nothing.
std::string sparkline(const std::vector<std::uint64_t>& counts, bool utf8);

/// A bar of at most `width` characters for `count` of `largest`; something always, where `count` is not 0.
std::string bar(std::uint64_t count, std::uint64_t largest, std::size_t width, bool utf8);

}  // namespace ckpt::tools
