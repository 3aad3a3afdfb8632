#include "bars.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace ckpt::tools {
namespace {

constexpr std::size_t steps = 8;
constexpr std::string_view heights[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::string_view plain_heights = " .:-=+*#@";
constexpr std::string_view widths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

/// 0 of nothing, at least 1 of something.
std::size_t scaled(std::uint64_t count, std::uint64_t largest, std::size_t most) {
  if (count == 0 || largest == 0) return 0;
  const double part = static_cast<double>(count) / static_cast<double>(largest);
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::lround(part * static_cast<double>(most))), 1, most);
}

}  // namespace

bool is_utf8_locale() {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    std::string text(value);
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return text.ends_with("utf-8") || text.ends_with("utf8");
  }
  return false;
}

std::size_t merged_bins(std::size_t bins, std::size_t most) {
  return std::max<std::size_t>(1, (bins + most - 1) / most);
}

std::vector<std::uint64_t> merged(const std::vector<std::uint64_t>& counts, std::size_t most) {
  const std::size_t each = merged_bins(counts.size(), most);
  std::vector<std::uint64_t> sums((counts.size() + each - 1) / each);
  for (std::size_t i = 0; i < counts.size(); ++i) sums[i / each] += counts[i];
  return sums;
}

std::string sparkline(const std::vector<std::uint64_t>& counts, bool utf8) {
  std::uint64_t largest = 0;
  for (const std::uint64_t count : counts) largest = std::max(largest, count);
  std::string out;
  for (const std::uint64_t count : counts) {
    const std::size_t height = scaled(count, largest, steps);
    out += utf8 ? heights[height] : plain_heights.substr(height, 1);
  }
  return out;
}

std::string bar(std::uint64_t count, std::uint64_t largest, std::size_t width, bool utf8) {
  if (!utf8) return std::string(scaled(count, largest, width), '#');
  const std::size_t eighths = scaled(count, largest, width * steps);
  std::string out;
  for (std::size_t i = 0; i < eighths / steps; ++i) out += heights[steps];
  return out += widths[eighths % steps];
}

}  // namespace ckpt::tools
