#include "ckpt/glob.h"

#include <algorithm>
#include <cstddef>

#include "ckpt/utf8.h"

namespace ckpt {
namespace {

std::u32string code_points(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    // Python's surrogateescape: bytes that are no UTF-8 stay apart from every character.
    out.push_back(c.valid ? c.value : 0xDC00 + c.value);
    at += c.size;
  }
  return out;
}

// One place of a pattern: what it accepts, and where the next begins.
struct Step {
  bool accepts = false;
  std::size_t next = 0;
};

// The set whose '[' is at `at`; an unclosed one is a plain bracket, as in fnmatch.
Step match_set(const std::u32string& pattern, std::size_t at, char32_t c) {
  std::size_t i = at + 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  const std::size_t first = i;
  bool found = false;
  while (i < pattern.size() && (pattern[i] != ']' || i == first)) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
    const char32_t low = pattern[i++];
    char32_t high = low;
    if (i + 1 < pattern.size() && pattern[i] == '-' && pattern[i + 1] != ']') {
      i += pattern[i + 1] == '\\' && i + 2 < pattern.size() ? 2 : 1;
      high = pattern[i++];
    }
    found = found || (low <= c && c <= high);
  }
  if (i >= pattern.size()) return {c == '[', at + 1};
  return {found != negated, i + 1};
}

Step match_one(const std::u32string& pattern, std::size_t at, char32_t c) {
  if (pattern[at] == '?') return {true, at + 1};
  if (pattern[at] == '[') return match_set(pattern, at, c);
  if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
  return {pattern[at] == c, at + 1};
}

bool match(const std::u32string& pattern, const std::u32string& name) {
  std::size_t p = 0, n = 0;
  // After the last '*' met, and how much of the name it has taken: where to go on when what follows fails.
  std::size_t after_star = std::u32string::npos, taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p;
      taken = n;
      continue;
    }
    const Step step = p < pattern.size() ? match_one(pattern, p, name[n]) : Step{};
    if (step.accepts) {
      p = step.next;
      ++n;
    } else if (after_star != std::u32string::npos) {
      p = after_star;
      n = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of(U'*', p) == std::u32string::npos;
}

}  // namespace

bool glob_match(std::string_view pattern, std::string_view name) {
  return match(code_points(pattern), code_points(name));
}

bool any_glob_match(const std::vector<std::string>& patterns, std::string_view name) {
  return patterns.empty() || std::any_of(patterns.begin(), patterns.end(),
                                         [&](const std::string& pattern) { return glob_match(pattern, name); });
}

std::string escaped_glob(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') out += '\\';
    out += c == '\0' ? '?' : c;
  }
  return out;
}

}  // namespace ckpt
