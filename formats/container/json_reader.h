#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ckpt/byte_source.h"

namespace ckpt {

/// Reads JSON (RFC 8259) strictly and from left to right, straight into what its caller makes of it: no tree is built,
/// so that a text takes no more memory than what is kept of it. Nothing recurses.
///
///     JsonReader json(text, 8, "the header");
///     json.enter_object();
///     while (auto key = json.next_key())
///       if (*key == "dtype") dtype = json.string(); else json.skip();
///     json.finish();
///
/// Every function skips white space before what it reads and throws Error (corrupt) where anything else stands there;
/// its byte is that of the file, where the text begins at `base`.
class JsonReader {
 public:
  /// `text` must outlive the reader. `what` is what messages call it.
  JsonReader(std::string_view text, std::uint64_t base, std::string what)
      : text_(text), base_(base), what_(std::move(what)) {}

  /// Of the next byte that is no white space.
  std::uint64_t position();
  bool sees(char c);

  void enter_object();
  /// The next key of the object that was entered last, with its colon; none at its end, which is then left.
  std::optional<std::string> next_key();
  void enter_array();
  /// Whether another item follows in the array that was entered last; at its end, that is left.
  bool next_item();

  std::string string();
  /// 0 to 2^64 - 1, in digits alone.
  std::uint64_t integer();
  /// Whether null comes next; it is taken if so.
  bool accept_null();
  /// Any value, as it stands in the text; throws limit_exceeded where it is nested deeper than limits::json_depth.
  std::string_view skip();
  /// Goes on to where the next string begins, whatever stands before it, JSON or not; false where there is none.
  bool find_string();
  /// Nothing but white space may be left.
  void finish();

  [[noreturn]] void fail(const std::string& expected);

 private:
  char peek();
  void expect(char c);
  bool take(std::string_view word);
  void append_escape(std::string& to);
  char32_t hex4();
  void skip_number();
  void skip_scalar();
  /// Takes what stands before another member or item; true at the end, which it takes too.
  bool at_end(char closing);

  std::string_view text_;
  std::uint64_t base_;
  std::string what_;
  std::size_t next_ = 0;
  bool first_ = true;  ///< nothing of the innermost object or array has been read
};

/// The first byte of a source that is no white space of JSON's, among 64; none where all of them are.
std::optional<char> first_mark(const ByteSource& source);

/// `text` as a string of JSON, in quotes, escaped as little as may be.
void append_json_string(std::string& to, std::string_view text);

}  // namespace ckpt
