#include "container/json_reader.h"

#include <algorithm>
#include <array>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "ckpt/utf8.h"
#include "io/bytes.h"

namespace ckpt {
namespace {

constexpr std::string_view white_space = " \t\n\r";
constexpr std::string_view digits = "0123456789";

bool is_high_surrogate(char32_t unit) { return unit >= 0xd800 && unit < 0xdc00; }
bool is_low_surrogate(char32_t unit) { return unit >= 0xdc00 && unit < 0xe000; }

}  // namespace

void JsonReader::fail(const std::string& expected) {
  const std::string_view rest = text_.substr(next_);
  const std::string found = rest.empty() ? "it ends" : "'" + std::string(rest.substr(0, 20)) + "'";
  throw Error(ErrorCode::corrupt, what_ + " is no JSON of its kind: " + found).expected(expected).at(base_ + next_);
}

char JsonReader::peek() {
  next_ = std::min(text_.find_first_not_of(white_space, next_), text_.size());
  return next_ < text_.size() ? text_[next_] : '\0';
}

std::uint64_t JsonReader::position() {
  peek();
  return base_ + next_;
}

bool JsonReader::sees(char c) { return peek() == c && next_ < text_.size(); }

void JsonReader::expect(char c) {
  if (!sees(c)) fail(std::string("'") + c + "'");
  ++next_;
}

bool JsonReader::at_end(char closing) {
  if (sees(closing)) {
    ++next_;
    first_ = false;
    return true;
  }
  if (!first_) {
    if (!sees(',')) fail(std::string("',' or '") + closing + "'");
    ++next_;
  }
  first_ = false;
  return false;
}

void JsonReader::enter_object() {
  expect('{');
  first_ = true;
}

std::optional<std::string> JsonReader::next_key() {
  if (at_end('}')) return std::nullopt;
  std::string key = string();
  expect(':');
  return key;
}

void JsonReader::enter_array() {
  expect('[');
  first_ = true;
}

bool JsonReader::next_item() { return !at_end(']'); }

std::string JsonReader::string() {
  if (!sees('"')) fail("a string");
  ++next_;
  std::string out;
  for (;;) {
    // Runs without an escape are nearly all there is.
    const std::size_t begin = next_;
    while (next_ < text_.size() && text_[next_] != '"' && text_[next_] != '\\' &&
           static_cast<unsigned char>(text_[next_]) >= 0x20)
      ++next_;
    const std::string_view run = text_.substr(begin, next_ - begin);
    if (!is_utf8(run)) {
      next_ = begin;
      fail("UTF-8");
    }
    out += run;
    if (next_ == text_.size() || static_cast<unsigned char>(text_[next_]) < 0x20) fail("the string's end");
    if (text_[next_++] == '"') return out;
    append_escape(out);
  }
}

bool JsonReader::find_string() {
  next_ = std::min(text_.find('"', next_), text_.size());
  return next_ < text_.size();
}

void JsonReader::append_escape(std::string& to) {
  constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
  if (next_ < text_.size()) {
    if (const std::size_t found = letters.find(text_[next_]); found != std::string_view::npos) {
      to += meanings[found];
      ++next_;
      return;
    }
  }
  if (!take("u")) fail("an escape of JSON");
  char32_t point = hex4();
  if (is_high_surrogate(point)) {
    if (!take("\\u")) fail("the second half of a surrogate pair");
    const char32_t low = hex4();
    if (!is_low_surrogate(low)) fail("the second half of a surrogate pair");
    point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
  } else if (is_low_surrogate(point)) {
    fail("the first half of a surrogate pair before its second");
  }
  append_utf8(to, point);
}

char32_t JsonReader::hex4() {
  char32_t value = 0;
  for (int i = 0; i < 4; ++i, ++next_) {
    const char c = next_ < text_.size() ? text_[next_] : ' ';
    const auto digit = c >= '0' && c <= '9'   ? c - '0'
                       : c >= 'a' && c <= 'f' ? c - 'a' + 10
                       : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                              : -1;
    if (digit < 0) fail("four hexadecimal digits");
    value = value << 4 | static_cast<char32_t>(digit);
  }
  return value;
}

bool JsonReader::take(std::string_view word) {
  if (!text_.substr(next_).starts_with(word)) return false;
  next_ += word.size();
  return true;
}

std::uint64_t JsonReader::integer() {
  constexpr std::string_view expected = "a whole number of 0 or more, below 2^64";
  peek();
  const std::size_t begin = next_;
  std::uint64_t value = 0;
  while (next_ < text_.size() && digits.find(text_[next_]) != std::string_view::npos) {
    const auto tenfold = checked_mul<std::uint64_t>(value, 10);
    const auto sum =
        tenfold ? checked_add<std::uint64_t>(*tenfold, static_cast<std::uint64_t>(text_[next_] - '0')) : std::nullopt;
    if (!sum) fail(std::string(expected));
    value = *sum;
    ++next_;
  }
  const bool none = next_ == begin, padded = next_ - begin > 1 && text_[begin] == '0';
  const bool real = next_ < text_.size() && std::string_view(".eE").find(text_[next_]) != std::string_view::npos;
  if (none || padded || real) {
    next_ = begin;
    fail(std::string(expected));
  }
  return value;
}

bool JsonReader::accept_null() {
  peek();
  return take("null");
}

void JsonReader::skip_number() {
  const auto run = [&] {
    const std::size_t end = std::min(text_.find_first_not_of(digits, next_), text_.size());
    const bool any = end > next_;
    next_ = end;
    return any;
  };
  static_cast<void>(take("-"));
  const bool zero = take("0");
  if (!zero && !run()) fail("a value");
  if (take(".") && !run()) fail("digits");
  if (take("e") || take("E")) {
    if (!take("+")) static_cast<void>(take("-"));
    if (!run()) fail("digits");
  }
}

void JsonReader::skip_scalar() {
  if (peek() == '"') {
    static_cast<void>(string());
    return;
  }
  if (take("null") || take("true") || take("false")) return;
  skip_number();
}

std::string_view JsonReader::skip() {
  peek();
  const std::size_t begin = next_;
  std::vector<char> open;
  do {
    // An object asks for a key before its value, an array for nothing.
    const bool more = open.empty() || (open.back() == '{' ? next_key().has_value() : next_item());
    if (!more) {
      open.pop_back();
    } else if (sees('{') || sees('[')) {
      if (open.size() == limits::json_depth)
        throw Error(ErrorCode::limit_exceeded, what_ + " is nested deeper than " + std::to_string(limits::json_depth))
            .at(base_ + next_);
      open.push_back(text_[next_++]);
      first_ = true;
    } else {
      skip_scalar();
    }
  } while (!open.empty());
  first_ = false;
  return text_.substr(begin, next_ - begin);
}

void JsonReader::finish() {
  peek();
  if (next_ < text_.size()) fail("its end");
}

std::optional<char> first_mark(const ByteSource& source) {
  std::array<std::byte, 64> start{};
  const std::string_view head = as_text(std::span<const std::byte>(start).first(source.read_at(0, start)));
  const std::size_t first = head.find_first_not_of(white_space);
  return first == std::string_view::npos ? std::nullopt : std::optional(head[first]);
}

void append_json_string(std::string& to, std::string_view text) {
  constexpr std::string_view special = "\"\\\b\f\n\r\t", letters = "\"\\bfnrt", hex = "0123456789abcdef";
  to += '"';
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (const std::size_t found = special.find(c); found != std::string_view::npos) {
      to += {'\\', letters[found]};
    } else if (code < 0x20) {
      to += "\\u00";
      to += {hex[code >> 4], hex[code & 15]};
    } else {
      to += c;
    }
  }
  to += '"';
}

}  // namespace ckpt
