#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace ckpt::numpy {

/// Reads the few forms of Python that an npy header is made of, strictly and from left to right. Every function skips
/// white space before what it reads, and throws Error (corrupt) where it finds anything else; its byte is that of
/// the file, where the text begins at `base`.
class LiteralReader {
 public:
  LiteralReader(std::string_view text, std::uint64_t base) : text_(text), base_(base) {}

  /// Whether `c` comes next; it is taken if so.
  bool accept(char c);
  void expect(char c);
  /// Whether `c` comes next; it stays.
  bool sees(char c);
  /// In single or double quotes, without escapes.
  std::string_view string();
  bool boolean();
  /// Zero or more, below 2^63; Python 2's L at its end is let pass.
  std::int64_t integer();
  /// A tuple of integers.
  std::vector<std::int64_t> integers();
  /// Nothing but white space may be left.
  void finish();

 private:
  void skip_space();
  [[noreturn]] void fail(std::string_view expected) const;

  std::string_view text_;
  std::uint64_t base_;
  std::size_t next_ = 0;
};

}  // namespace ckpt::numpy
