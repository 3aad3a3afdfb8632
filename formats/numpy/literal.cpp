#include "numpy/literal.h"

#include <string>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "io/bytes.h"

namespace ckpt::numpy {

void LiteralReader::fail(std::string_view expected) const {
  const std::string_view rest = text_.substr(next_, 20);
  throw Error(ErrorCode::corrupt,
              rest.empty() ? "the array's header ends" : "the array's header goes on with '" + std::string(rest) + "'")
      .expected(std::string(expected))
      .at(base_ + next_);
}

void LiteralReader::skip_space() {
  constexpr std::string_view space = " \t\r\n\f";
  while (next_ < text_.size() && space.find(text_[next_]) != space.npos) ++next_;
}

bool LiteralReader::sees(char c) {
  skip_space();
  return next_ < text_.size() && text_[next_] == c;
}

bool LiteralReader::accept(char c) {
  const bool found = sees(c);
  if (found) ++next_;
  return found;
}

void LiteralReader::expect(char c) {
  if (!accept(c)) fail(std::string("'") + c + "'");
}

std::string_view LiteralReader::string() {
  if (!sees('\'') && !sees('"')) fail("a string");
  const char quote = text_[next_];
  const std::size_t end = text_.find_first_of(std::string("\\\n") + quote, next_ + 1);
  if (end == text_.npos || text_[end] != quote) fail("a string of one line without escapes");
  const std::string_view inside = text_.substr(next_ + 1, end - next_ - 1);
  next_ = end + 1;
  return inside;
}

bool LiteralReader::boolean() {
  skip_space();
  for (const std::string_view word : {"True", "False"})
    if (text_.substr(next_).starts_with(word)) {
      next_ += word.size();
      return word == "True";
    }
  fail("True or False");
}

std::int64_t LiteralReader::integer() {
  skip_space();
  const std::size_t begin = next_;
  std::int64_t value = 0;
  std::size_t at = next_;
  for (; at < text_.size() && text_[at] >= '0' && text_[at] <= '9'; ++at) {
    const auto tens = checked_mul<std::int64_t>(value, 10);
    const auto sum = tens ? checked_add<std::int64_t>(*tens, text_[at] - '0') : std::nullopt;
    if (!sum) fail("a number below 2^63");
    value = *sum;
  }
  if (at == begin) fail("a number, 0 or more");
  next_ = at;
  if (next_ < text_.size() && text_[next_] == 'L') ++next_;
  return value;
}

std::vector<std::int64_t> LiteralReader::integers() {
  std::vector<std::int64_t> numbers;
  expect('(');
  while (!accept(')')) {
    if (numbers.size() == limits::tensor_dimensions)
      throw Error(ErrorCode::limit_exceeded, "an array of more than " + std::to_string(numbers.size()) + " dimensions")
          .at(base_ + next_);
    numbers.push_back(integer());
    if (sees(')') && numbers.size() > 1) continue;
    expect(',');  // "(3)" would be a number and no tuple
  }
  return numbers;
}

void LiteralReader::finish() {
  skip_space();
  if (next_ < text_.size()) fail("its end");
}

}  // namespace ckpt::numpy
