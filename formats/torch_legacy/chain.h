#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ckpt/byte_source.h"

/// Storages that stand one behind the other, each behind a count of its elements: where each begins, in a file that may
/// be cut or damaged.
namespace ckpt::torch {

struct Link {
  bool is_known = false;  ///< its size, as the pickle has it
  std::uint64_t nbytes = 0;
  std::uint64_t element = 0;  ///< bytes of one
  /// Where its count stands; none where that cannot be told.
  std::optional<std::uint64_t> begin = {};
  bool is_counted = true;  ///< the count is what the size says
};

/// What the count of a known link is.
inline std::uint64_t elements(const Link& link) { return link.nbytes / link.element; }

/// Where the next count stands behind that of a storage at `at`; none past 2^64.
std::optional<std::uint64_t> behind_storage(std::uint64_t at, std::uint64_t nbytes);

/// Whether the counts that stand from `at` on are those of the first links.
bool begins_chain(const ByteSource& source, std::uint64_t at, const std::vector<Link>& links);

/// Where links begin that fill the file from there on; none before `least`, where most of their counts do not stand
/// there, and where a size is not known.
std::optional<std::uint64_t> begin_from_end(const ByteSource& source, std::uint64_t least,
                                            const std::vector<Link>& links);

/// Finds where each link begins, the first of them at `at`. A count that differs is believed to be damaged where the
/// file, or the next link, goes on as it should; else nothing behind it is, nor the one before it, which may be where
/// bytes are missing; but for those at the file's end that their counts confirm. Links of unknown size are found where
/// only one way leads through all counts to the very end of the file.
void follow_chain(const ByteSource& source, std::uint64_t at, std::vector<Link>& links);

}  // namespace ckpt::torch
