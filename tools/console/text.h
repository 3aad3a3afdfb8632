#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// Text of files, which may hold anything, made fit to be shown: on a terminal, in JSON, in a command to be copied.
namespace ckpt::tools {

/// For people: control characters, bytes that are no UTF-8, and characters that hide or reorder what stands beside them
/// are spelt out (`\n`, `\x1b`, `\u202e`), so that a name cannot move a cursor or hide what it is. A backslash stays
/// one.
std::string printable(std::string_view text);

/// For JSON: bytes that are no UTF-8 become `\xNN`; everything else stays.
std::string valid_utf8(std::string_view text);

/// The same JSON, but with characters that hide or reorder others as `\uNNNN`: safe to look at.
std::string visible_json(std::string_view json);

/// Columns that printable text takes on a terminal.
std::size_t display_width(std::string_view text);

/// The candidate that `word` was most likely meant to be; none where nothing comes close.
std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace ckpt::tools
