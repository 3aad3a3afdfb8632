#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/tensor.h"

/// How numbers and tables look in what is printed for people.
namespace ckpt::tools {

/// "512 B", "12.4 MB": powers of 1000, as disks and file managers count.
std::string size_text(std::uint64_t bytes);
/// "1,234,567"
std::string count_text(std::uint64_t count);
/// "1 tensor", "1,234 tensors"
std::string count_text(std::uint64_t count, std::string_view noun);
/// What JSON calls a file's compression.
constexpr std::string_view compression_name(bool gzip) { return gzip ? "gzip" : "none"; }

/// The first `shown` of `names`, quoted and printable, and how many more there are: `"a", "b" and 12 more`.
std::string list_text(const std::vector<std::string>& names, std::size_t total, std::size_t shown = 3);

/// Escape sequences where standard output is a terminal that shows them, and NO_COLOR is not set; else nothing.
class Colours {
 public:
  Colours();
  [[nodiscard]] std::string bold(std::string_view text) const { return wrap("\x1b[1m", text); }
  [[nodiscard]] std::string red(std::string_view text) const { return wrap("\x1b[1;31m", text); }
  [[nodiscard]] std::string yellow(std::string_view text) const { return wrap("\x1b[33m", text); }

 private:
  [[nodiscard]] std::string wrap(std::string_view code, std::string_view text) const;
  bool on_ = false;
};

/// Rows in aligned columns. A column is as wide as its widest cell, but no wider than 60: a longer cell pushes the rest
/// of its own row alone.
class Table {
 public:
  /// Where the last column stands: numbers go flush right.
  enum class Last { left, right };

  using Cells = std::span<const std::string_view>;

  explicit Table(Cells heading, Last last = Last::right);
  explicit Table(std::initializer_list<std::string_view> heading, Last last = Last::right)
      : Table(Cells(heading.begin(), heading.size()), last) {}
  void add(Cells cells);
  void add(std::initializer_list<std::string_view> cells) { add(Cells(cells.begin(), cells.size())); }
  /// All of it, a line a row.
  [[nodiscard]] std::string text(const Colours& colours) const;
  /// To standard output.
  void print(const Colours& colours) const;

 private:
  void append_row(std::size_t first, const Colours& colours, std::string& out) const;
  [[nodiscard]] std::string_view cell(std::size_t index) const;

  // Of tens of thousands of rows: all cells in one text, row by row.
  std::string text_;
  std::vector<std::size_t> ends_;    ///< of each cell in text_
  std::vector<std::size_t> widths_;  ///< of the columns
  Last last_;
};

}  // namespace ckpt::tools
