#pragma once

#include "scan/part.h"

namespace ckpt::scanning {

/// The member in which Stable-Baselines3 looks for an object of JSON, and in that for pickles.
inline constexpr std::string_view serialized_member = "data";

/// Visits what stands in base64 under each key ":serialized:" of a text that begins as an object of JSON. Returns how
/// many bytes of it were read. Throws Error: corrupt (its strings), limit_exceeded (limits::zip_small_member), and what
/// reading throws.
std::uint64_t each_serialized(const Part& json, const Visit& visit);

}  // namespace ckpt::scanning
