#pragma once

#include <string_view>

#include "ckpt/byte_source.h"
#include "ckpt/error.h"

namespace ckpt {

/// The error for a source that no format knows: says what it is, where that can be told, and what to do.
Error foreign_file(const ByteSource& source);

/// What stands in place of many a download: a page, or a server's complaint ("JSON", "text"). Empty where what begins
/// with `head` is no text.
std::string_view text_kind(std::string_view head);

/// What begins with `head`, where that is an archive or a compressed file of a kind that ckpt does not open, as "a 7z
/// archive"; empty for everything else.
std::string_view packed_kind(std::string_view head);

}  // namespace ckpt
