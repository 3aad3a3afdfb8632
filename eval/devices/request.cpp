#include "devices/request.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

#include "ckpt/error.h"

namespace ckpt::eval {
namespace {

using Kind = DeviceRequest::Kind;

constexpr std::array<std::pair<std::string_view, Kind>, 5> words{{
    {"auto", Kind::automatic},
    {"cpu", Kind::cpu},
    {"cuda", Kind::cuda},
    {"cuda:all", Kind::all_gpus},
    {"mps", Kind::mps},
}};

/// What other programs call these.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> synonyms{{
    {"gpu", "cuda"},
    {"gpus", "cuda:all"},
    {"all", "cuda:all"},
    {"nvidia", "cuda"},
    {"metal", "mps"},
    {"best", "auto"},
    {"host", "cpu"},
    {"none", "cpu"},
}};

/// "0,2" as numbers; nothing where it is anything else ("01" is none of torch's), or names one twice.
std::optional<std::vector<int>> parse_indices(std::string_view text) {
  std::vector<int> indices;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    if (end > at + 1 && text[at] == '0') return std::nullopt;
    int index = -1;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, index);
    if (error != std::errc() || stop != text.data() + end || index < 0) return std::nullopt;
    if (std::find(indices.begin(), indices.end(), index) != indices.end()) return std::nullopt;
    indices.push_back(index);
    at = end + 1;
  }
  return indices;
}

/// Whether one letter more, less, other, or two exchanged make the one word of the other.
bool one_slip_apart(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > 1) return false;
  std::size_t at = 0;
  while (at < a.size() && a[at] == b[at]) ++at;
  if (a.size() < b.size()) return a.substr(at) == b.substr(at + 1);
  if (a.substr(std::min(at + 1, a.size())) == b.substr(std::min(at + 1, b.size()))) return true;
  return at + 1 < a.size() && a[at] == b[at + 1] && a[at + 1] == b[at] && a.substr(at + 2) == b.substr(at + 2);
}

/// What was most likely meant; empty where nothing comes close.
std::string nearest(std::string_view given) {
  std::string word;
  for (const char c : given)
    if (std::isspace(static_cast<unsigned char>(c)) == 0)
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto digits = word.find_first_of("0123456789");
  std::string letters = word.substr(0, std::min(word.find(':'), digits));
  for (const auto& [synonym, meant] : synonyms)
    if (letters == synonym) letters = meant;
  for (const auto& [name, kind] : words)
    if (letters == name || one_slip_apart(letters, name)) letters = name;
  // "cuda0", "gpu:1", "1", "cuda:0,cuda:1"
  if (digits != std::string::npos && (letters.empty() || letters == "cuda")) {
    std::string list;
    for (std::size_t i = digits; i < word.size(); ++i) {
      const bool is_digit = std::isdigit(static_cast<unsigned char>(word[i])) != 0;
      if (is_digit && (list == "0" || list.ends_with(",0"))) list.pop_back();  // "01" is "1"
      if (is_digit || word[i] == ',') list += word[i];
    }
    if (parse_indices(list)) return "cuda:" + list;
    return "cuda:0";
  }
  const auto known = [&](const auto& entry) { return entry.first == letters; };
  return std::any_of(words.begin(), words.end(), known) ? letters : "";
}

}  // namespace

DeviceRequest parse_device(std::string_view word) {
  for (const auto& [name, kind] : words)
    if (word == name) return {.kind = kind, .word = std::string(word)};
  constexpr std::string_view numbered = "cuda:";
  if (word.starts_with(numbered)) {
    if (auto indices = parse_indices(word.substr(numbered.size())))
      return {.kind = Kind::gpus, .indices = std::move(*indices), .word = std::string(word)};
  }
  const std::string meant = nearest(word);
  throw Error(ErrorCode::invalid_argument, "unknown device '" + std::string(word) + "'")
      .hint((meant.empty() ? "" : "--device " + meant + ", perhaps; ") +
            "there are auto, cpu, cuda, cuda:N, cuda:0,2 (several), cuda:all and mps");
}

}  // namespace ckpt::eval
