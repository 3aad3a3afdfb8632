#include "ops/renames.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "io/keyed_hash.h"

namespace ckpt {
namespace {

using Places = NameViewMap<std::vector<std::size_t>>;

Places by_content(const std::vector<Candidate>& candidates) {
  Places places;
  for (std::size_t i = 0; i < candidates.size(); ++i) places[candidates[i].content].push_back(i);
  return places;
}

/// What turns most of the names whose content stands once in each file into their counterparts; where none does, what
/// turns the first name into one of equal content.
std::pair<std::string, std::string> likeliest_change(const std::vector<Candidate>& a, const std::vector<Candidate>& b,
                                                     const Places& places_a, const Places& places_b) {
  std::map<std::pair<std::string, std::string>, std::size_t> votes;
  for (const bool only_unique : {true, false}) {
    for (const Candidate& candidate : a) {
      const auto there = places_b.find(candidate.content);
      if (there == places_b.end()) continue;
      const bool unique = there->second.size() == 1 && places_a.at(candidate.content).size() == 1;
      if (only_unique && !unique) continue;
      const std::string& other = b[there->second.front()].name;
      if (candidate.name.size() > longest_renamed || other.size() > longest_renamed) continue;
      const RenamedPrefix change = prefix_change(candidate.name, other);
      ++votes[{change.lead + change.a, change.lead + change.b}];
    }
    if (!votes.empty()) break;
  }
  const auto most =
      std::max_element(votes.begin(), votes.end(), [](const auto& x, const auto& y) { return x.second < y.second; });
  return most == votes.end() ? std::pair<std::string, std::string>() : most->first;
}

}  // namespace

RenamedPrefix prefix_change(std::string_view a, std::string_view b) {
  std::size_t suffix = 0;  // of whole parts
  for (std::size_t i = 1; i <= std::min(a.size(), b.size()) && a[a.size() - i] == b[b.size() - i]; ++i) {
    const auto begins_part = [i](std::string_view name) {
      return i == name.size() || name[name.size() - i - 1] == '.';
    };
    if (begins_part(a) && begins_part(b)) suffix = i;
  }
  a.remove_suffix(suffix);
  b.remove_suffix(suffix);
  std::size_t lead = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()) && a[i] == b[i]; ++i)
    if (a[i] == '.') lead = i + 1;
  return {std::string(a.substr(0, lead)), std::string(a.substr(lead)), std::string(b.substr(lead))};
}

std::vector<std::pair<std::size_t, std::size_t>> match_renames(const std::vector<Candidate>& a,
                                                               const std::vector<Candidate>& b) {
  const Places places_a = by_content(a), places_b = by_content(b);
  const auto [from, to] = likeliest_change(a, b, places_a, places_b);
  NameViewMap<std::size_t> names_b;
  for (std::size_t i = 0; i < b.size(); ++i) names_b.emplace(b[i].name, i);

  std::vector<std::size_t> match(a.size(), b.size());
  std::vector<bool> taken(b.size(), false);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!a[i].name.starts_with(from)) continue;
    const auto found = names_b.find(to + a[i].name.substr(from.size()));
    if (found == names_b.end() || b[found->second].content != a[i].content || taken[found->second]) continue;
    match[i] = found->second;
    taken[found->second] = true;
  }
  NameViewMap<std::size_t> next;  // of the places of a content
  std::vector<std::pair<std::size_t, std::size_t>> matches;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto there = places_b.find(a[i].content);
    if (match[i] == b.size() && there != places_b.end()) {
      std::size_t& at = next[a[i].content];
      while (at < there->second.size() && taken[there->second[at]]) ++at;
      if (at < there->second.size()) match[i] = there->second[at];
      if (match[i] < b.size()) taken[match[i]] = true;
    }
    if (match[i] < b.size()) matches.emplace_back(i, match[i]);
  }
  return matches;
}

std::optional<RenamedPrefix> common_change(const std::vector<RenamedTensor>& renamed) {
  if (renamed.empty()) return std::nullopt;
  RenamedPrefix change = prefix_change(renamed.front().a, renamed.front().b);
  const std::string from = change.lead + change.a, to = change.lead + change.b;
  const bool all = std::all_of(renamed.begin(), renamed.end(), [&](const RenamedTensor& pair) {
    return pair.a.starts_with(from) && pair.b.starts_with(to) &&
           std::string_view(pair.a).substr(from.size()) == std::string_view(pair.b).substr(to.size());
  });
  if (!all || (renamed.size() == 1 && change.a.empty() == change.b.empty())) return std::nullopt;
  return change;
}

}  // namespace ckpt
