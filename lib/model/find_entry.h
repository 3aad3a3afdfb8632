#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "ckpt/state_dict.h"

namespace ckpt {

/// The entry whose key is that text, or null.
inline const MappingEntry* find_entry(const ValueGraph& values, const std::vector<MappingEntry>& entries,
                                      std::string_view key) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const MappingEntry& entry) { return values.is_string(entry.key, key); });
  return found == entries.end() ? nullptr : &*found;
}

}  // namespace ckpt
