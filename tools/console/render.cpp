#include "render.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "messages.h"
#include "text.h"

namespace ckpt::tools {

std::string size_text(std::uint64_t bytes) {
  if (bytes < 1000) return std::to_string(bytes) + " B";
  constexpr std::array<const char*, 6> units{"kB", "MB", "GB", "TB", "PB", "EB"};
  double value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  // 999.95 would round to "1000.0".
  for (; value >= 999.95 && unit + 1 < units.size(); ++unit) value /= 1000;
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.1f %s", value, units[unit]);
  return buffer.data();
}

std::string count_text(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string count_text(std::uint64_t count, std::string_view noun) {
  return count_text(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string list_text(const std::vector<std::string>& names, std::size_t total, std::size_t shown) {
  std::string out;
  const std::size_t count = std::min(names.size(), shown);
  for (std::size_t i = 0; i < count; ++i) out += (i == 0 ? "\"" : ", \"") + printable(names[i]) + "\"";
  return total > count ? out + " and " + count_text(total - count) + " more" : out;
}

Colours::Colours() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  on_ = (no_colour == nullptr || *no_colour == '\0') && terminal != nullptr && std::string_view(terminal) != "dumb" &&
        ::isatty(STDOUT_FILENO) == 1;
}

std::string Colours::wrap(std::string_view code, std::string_view text) const {
  if (!on_) return std::string(text);
  return std::string(code) + std::string(text) + "\x1b[0m";
}

Table::Table(Cells heading, Last last) : widths_(heading.size(), 0), last_(last) { add(heading); }

void Table::add(Cells cells) {
  constexpr std::size_t widest = 60;
  auto column = widths_.begin();
  for (const std::string_view text : cells) {
    const std::size_t width = display_width(text);
    if (width <= widest) *column = std::max(*column, width);
    ++column;
    text_ += text;
    ends_.push_back(text_.size());
  }
}

std::string_view Table::cell(std::size_t index) const {
  const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
  return std::string_view(text_).substr(begin, ends_[index] - begin);
}

void Table::append_row(std::size_t first, const Colours& colours, std::string& out) const {
  std::string line;
  for (std::size_t i = 0; i < widths_.size(); ++i) {
    const std::string_view text = cell(first + i);
    const std::size_t width = display_width(text), padding = widths_[i] > width ? widths_[i] - width : 0;
    const bool last = i + 1 == widths_.size();
    if (last && last_ == Last::right) line.append(padding, ' ');
    line += text;
    if (!last) line.append(padding + 2, ' ');
  }
  out += (first == 0 ? colours.bold(line) : line) + "\n";
}

std::string Table::text(const Colours& colours) const {
  std::string out;
  for (std::size_t first = 0; first < ends_.size(); first += widths_.size()) append_row(first, colours, out);
  return out;
}

void Table::print(const Colours& colours) const {
  std::string line;
  for (std::size_t first = 0; first < ends_.size(); first += widths_.size()) {
    line.clear();
    append_row(first, colours, line);
    tools::print(line);
  }
}

}  // namespace ckpt::tools
