#include "torch_legacy/chain.h"

#include <algorithm>
#include <array>
#include <map>

#include "io/bytes.h"
#include "torch_legacy/parts.h"

namespace ckpt::torch {

std::optional<std::uint64_t> behind_storage(std::uint64_t at, std::uint64_t nbytes) {
  const auto begin = checked_add(at, count_bytes);
  return begin ? checked_add(*begin, nbytes) : std::nullopt;
}

namespace {

/// Counts that have to be right for a place to be believed.
constexpr std::size_t enough_counts = 4;
/// A count below this may be a number that stands there by chance.
constexpr std::uint64_t few_elements = 256;
/// Places that are followed at a time where sizes are not known; a wrong one rarely outlives the next count.
constexpr std::size_t most_ways = 64;
/// … and in all.
constexpr std::size_t most_places = 1 << 20;

std::optional<std::uint64_t> count_at(const ByteSource& source, std::uint64_t at) {
  std::array<std::byte, count_bytes> bytes;
  if (source.read_at(at, bytes) < bytes.size()) return std::nullopt;
  return load_le<std::uint64_t>(bytes.data());
}

std::optional<std::uint64_t> behind_all(std::uint64_t at, const std::vector<Link>& links) {
  std::optional<std::uint64_t> end = at;
  for (const Link& link : links) end = end ? behind_storage(*end, link.nbytes) : std::nullopt;
  return end;
}

/// Those from the link `first` on that stand at the end of the file, as far as their counts do.
void follow_back(const ByteSource& source, std::size_t first, std::vector<Link>& links) {
  std::uint64_t end = source.size();
  bool is_confirmed = false;  // bytes of numbers may look like a small count
  std::vector<std::uint64_t> begins(links.size());
  std::size_t i = links.size();
  for (; i > first; --i) {
    const Link& link = links[i - 1];
    if (end < count_bytes || end - count_bytes < link.nbytes) break;
    const std::uint64_t begin = end - count_bytes - link.nbytes;
    if (count_at(source, begin) != elements(link)) break;
    is_confirmed = is_confirmed || elements(link) >= few_elements;
    begins[i - 1] = end = begin;
  }
  for (; is_confirmed && i < links.size(); ++i) {
    links[i].begin = begins[i];
    links[i].is_counted = true;
  }
}

void follow_known(const ByteSource& source, std::uint64_t at, std::vector<Link>& links) {
  const bool fills_file = behind_all(at, links) == source.size();
  std::uint64_t next = at;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const auto count = count_at(source, next);
    if (!count) return;
    const auto after = behind_storage(next, links[i].nbytes);
    links[i].is_counted = *count == elements(links[i]);
    const bool goes_on = after && i + 1 < links.size() && count_at(source, *after) == elements(links[i + 1]);
    if (!links[i].is_counted && !fills_file && !goes_on) {
      if (i > 0) links[i - 1].begin.reset();
      return follow_back(source, i, links);
    }
    links[i].begin = next;
    if (!after) return;
    next = *after;
  }
}

/// Every way through the counts: of a link that is not known, an element may have any size.
void follow_unknown(const ByteSource& source, std::uint64_t at, std::vector<Link>& links) {
  struct Origin {
    std::uint64_t from = 0;
    bool is_only = true;
  };
  std::vector<std::map<std::uint64_t, Origin>> ways{{{at, {}}}};  // for each link, where it may begin
  std::size_t places = 0;
  for (const Link& link : links) {
    std::map<std::uint64_t, Origin> next;
    for (const auto& [from, origin] : ways.back()) {
      const auto count = count_at(source, from);
      if (!count || (link.is_known && *count != elements(link))) continue;
      constexpr std::uint64_t sizes[] = {1, 2, 4, 8, 16};
      for (const std::uint64_t size : sizes) {
        if (link.is_known && size != sizes[0]) break;
        const auto nbytes = link.is_known ? std::optional(link.nbytes) : checked_mul(*count, size);
        const auto to = nbytes ? behind_storage(from, *nbytes) : std::nullopt;
        if (!to || *to > source.size()) break;
        const auto [place, fresh] = next.try_emplace(*to, Origin{from});
        if (!fresh && place->second.from != from) place->second.is_only = false;
      }
    }
    places += next.size();
    if (next.empty() || next.size() > most_ways || places > most_places) return;
    ways.push_back(std::move(next));
  }
  std::uint64_t place = source.size();
  for (std::size_t i = links.size(); i-- > 0;) {
    const auto found = ways[i + 1].find(place);
    if (found == ways[i + 1].end() || !found->second.is_only) {
      for (Link& link : links) link.begin.reset();
      return;
    }
    place = found->second.from;
    links[i].begin = place;
  }
}

}  // namespace

bool begins_chain(const ByteSource& source, std::uint64_t at, const std::vector<Link>& links) {
  std::uint64_t next = at;
  for (std::size_t i = 0; i < std::min(links.size(), enough_counts); ++i) {
    const auto count = count_at(source, next);
    if (!count) return i > 1;
    if (*count != elements(links[i])) return false;
    const auto after = behind_storage(next, links[i].nbytes);
    if (!after) return false;
    next = *after;
  }
  return links.size() >= enough_counts || next == source.size();
}

std::optional<std::uint64_t> begin_from_end(const ByteSource& source, std::uint64_t least,
                                            const std::vector<Link>& links) {
  const auto bytes = behind_all(0, links);
  if (!bytes || *bytes > source.size() || source.size() - *bytes < least) return std::nullopt;
  std::uint64_t at = source.size() - *bytes;
  std::size_t right = 0;
  for (const Link& link : links) {
    if (!link.is_known) return std::nullopt;
    if (count_at(source, at) == elements(link)) ++right;
    at += count_bytes + link.nbytes;
  }
  return 2 * right > links.size() ? std::optional(source.size() - *bytes) : std::nullopt;
}

void follow_chain(const ByteSource& source, std::uint64_t at, std::vector<Link>& links) {
  const bool all_known = std::all_of(links.begin(), links.end(), [](const Link& link) { return link.is_known; });
  all_known ? follow_known(source, at, links) : follow_unknown(source, at, links);
}

}  // namespace ckpt::torch
