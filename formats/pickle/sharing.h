#pragma once

#include <cstddef>
#include <cstdint>

#include "ckpt/value.h"

namespace ckpt::pickle {

/// What calls, persistent ids and states of objects are given, what values are looked up by, and what there is to give.
struct Sharing {
  std::uint64_t given = 0;  ///< bytes, each time they are given
  std::uint64_t keys = 0;   ///< … of keys of dicts and members of sets
  std::uint64_t made = 0;   ///< … once
};

/// Counts long texts, long names and the items of long tuples and large states, for the values of `graph` from `first`
/// on: a few bytes that fetch such a value from the memo again and again ask whoever reads calls for work without end.
/// So do keys of dicts and members of sets. Other texts and containers within plain containers cost nobody anything,
/// and are not counted; nor are bytes, which are not copied, but where they are keys.
Sharing count_sharing(const ValueGraph& graph, std::size_t first);

/// Bytes of a text, bytes or a large integer, in memory or far; 0 of any other value.
std::uint64_t text_bytes(const ValueGraph& graph, ValueId id);

/// A text of fewer bytes, or a tuple or state of fewer items, is nothing.
inline constexpr std::size_t shared_text = 64, shared_items = 16;

}  // namespace ckpt::pickle
