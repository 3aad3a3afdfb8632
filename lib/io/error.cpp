#include "ckpt/error.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include "ckpt/hidden.h"
#include "ckpt/utf8.h"
#include "io/posix.h"
#include "io/printable.h"

namespace ckpt {
namespace {

/// Whether all of it is seen where a command is shown, and so is pasted as it is.
bool is_visible(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    if (!point.valid || is_hidden(point.value)) return false;
    at += point.size;
  }
  return true;
}

}  // namespace

Error::Error(ErrorCode code, std::string found) : code_(code), found_(std::move(found)) { compose(); }

Error& Error::expected(std::string what) {
  expected_ = std::move(what);
  compose();
  return *this;
}

Error& Error::at(std::uint64_t offset) {
  if (!offset_) offset_ = offset;
  compose();
  return *this;
}

Error& Error::in(const std::string& file) {
  if (file_.empty()) file_ = file;
  compose();
  return *this;
}

Error& Error::within(const std::string& part) {
  found_ = part + ": " + found_;
  compose();
  return *this;
}

Error& Error::hint(std::string what) {
  hint_ = std::move(what);
  return *this;
}

Error& Error::detail(std::string line) {
  details_.push_back(std::move(line));
  return *this;
}

Error& Error::on_output() {
  output_ = true;
  return *this;
}

void Error::compose() {
  std::string message;
  if (!file_.empty()) message += file_ + ": ";
  message += found_;
  if (!expected_.empty()) message += ", expected " + expected_;
  if (offset_) message += " (at byte " + std::to_string(*offset_) + ")";
  message_ = printable(message);
}

std::string shell_word(std::string_view text) {
  if (text == "standard input") return "-";
  if (text.empty()) return "FILE";
  const bool is_like_an_option = text.starts_with('-') && text.size() > 1;
  return shell_value(is_like_an_option ? "./" + std::string(text) : std::string(text));
}

std::string shell_value(std::string_view text) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:@%=,";
  if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos) return std::string(text);
  if (!is_visible(text)) {
    std::string out = "$'";
    for (const char c : text) {
      constexpr std::string_view digits = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      if (c == '\'' || c == '\\')
        out += std::string("\\") + c;
      else if (byte < 0x20 || byte >= 0x7F)
        out += std::string("\\x") + digits[byte >> 4] + digits[byte & 15U];
      else
        out += c;
    }
    return out + "'";
  }
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

void throw_system_error(const std::string& doing, const std::string& file, int errno_value) {
  Error error(ErrorCode::io, doing + ": " + std::generic_category().message(errno_value));
  if (errno_value == EMFILE || errno_value == ENFILE) error.hint(std::string(too_many_open));
  throw error.in(file);
}

}  // namespace ckpt
