#include "ops/compare_code.h"

#include <algorithm>
#include <map>
#include <vector>

#include "ckpt/limits.h"
#include "io/bytes.h"
#include "ops/watched_source.h"

namespace ckpt {
namespace {

using Files = std::map<std::string, ByteSourcePtr>;

Files code_of(const Checkpoint& checkpoint) {
  Files files = checkpoint.details ? checkpoint.details->code() : Files();
  for (auto& [name, file] : files) file = watch(file);
  return files;
}

std::string size_text(const ByteSource& file) { return "code of " + std::to_string(file.size()) + " bytes"; }

/// The first byte in which they differ; none where they are the same. Reads both to their ends, whose checksums tell.
std::optional<std::uint64_t> first_difference(const ByteSource& a, const ByteSource& b) {
  std::optional<std::uint64_t> first;
  const auto piece = std::clamp<std::uint64_t>(std::max(a.size(), b.size()), 1, limits::copy_chunk);
  std::vector<std::byte> piece_a(piece), piece_b(piece);
  for (std::uint64_t at = 0;;) {
    const std::size_t got_a = a.read_at(at, piece_a), got_b = b.read_at(at, piece_b);
    if (got_a == 0 && got_b == 0) return first;
    const auto end_a = piece_a.begin() + static_cast<std::ptrdiff_t>(got_a);
    const auto end_b = piece_b.begin() + static_cast<std::ptrdiff_t>(got_b);
    const auto differs = std::mismatch(piece_a.begin(), end_a, piece_b.begin(), end_b).first;
    if (!first && (differs != end_a || got_a != got_b))
      first = at + static_cast<std::uint64_t>(differs - piece_a.begin());
    at += piece;
  }
}

}  // namespace

void compare_code(const Checkpoint& a, const Checkpoint& b, CheckpointDiff& found) {
  const Files code_a = code_of(a), code_b = code_of(b);
  if (code_a.empty() || code_b.empty()) return;
  for (const auto& [name, file] : code_a) {
    const auto other = code_b.find(name);
    if (other == code_b.end()) {
      found.other.push_back({name, size_text(*file), std::nullopt});
      continue;
    }
    ++found.values_compared;
    if (const auto at = first_difference(*file, *other->second))
      found.other.push_back(
          {name, size_text(*file), size_text(*other->second) + ", other from byte " + std::to_string(*at) + " on"});
  }
  for (const auto& [name, file] : code_b)
    if (!code_a.contains(name)) found.other.push_back({name, std::nullopt, size_text(*file)});
}

}  // namespace ckpt
