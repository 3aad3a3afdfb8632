#include "io/byte_cursor.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "io/bytes.h"

namespace ckpt {

constexpr std::size_t window_step = 64 * limits::kib;
constexpr std::size_t first_step = 4 * limits::kib;  // hundreds of thousands of small pickles may stand in a row

ByteCursor::ByteCursor(const ByteSource& source, std::uint64_t offset, std::uint64_t limit, std::string what)
    : source_(source),
      base_(offset),
      end_(checked_add(offset, limit).value_or(std::numeric_limits<std::uint64_t>::max())),
      what_(std::move(what)) {}

bool ByteCursor::fill(std::uint64_t count) {
  while (filled_ - next_ < count) {
    if (next_ > 0) {
      std::memmove(window_.data(), window_.data() + next_, filled_ - next_);
      base_ += next_;
      filled_ -= next_;
      next_ = 0;
    }
    if (base_ + filled_ >= end_)
      throw Error(ErrorCode::limit_exceeded, what_ + " does not end within its cap").at(end_).in(source_.name());
    // Doubling keeps the copies linear.
    const std::size_t wanted = window_.empty() ? first_step : filled_ < window_step ? window_step : 2 * filled_;
    if (window_.size() < wanted) window_.resize(wanted);
    const auto room = std::min<std::uint64_t>(window_.size() - filled_, end_ - base_ - filled_);
    const std::size_t got = source_.read_at(base_ + filled_, std::span(window_).subspan(filled_, room));
    if (got == 0) return false;
    filled_ += got;
  }
  return true;
}

void ByteCursor::require(std::uint64_t count) {
  if (fill(count)) return;
  throw Error(ErrorCode::truncated,
              what_ + " ends after " + std::to_string(filled_ - next_) + " of " + std::to_string(count) + " bytes")
      .at(base_ + filled_)
      .in(source_.name());
}

void ByteCursor::skip(std::uint64_t count) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  end_ = checked_add(end_, count).value_or(most);
  if (count <= filled_ - next_) {
    next_ += static_cast<std::size_t>(count);
    return;
  }
  base_ = checked_add(offset(), count).value_or(most);
  next_ = filled_ = 0;
}

std::string_view ByteCursor::take_line(std::uint64_t longest) {
  std::size_t searched = 0;
  for (;;) {
    const std::string_view ready = as_text(std::span<const std::byte>(window_).subspan(next_, filled_ - next_));
    const std::size_t newline = ready.find('\n', searched);
    searched = std::min(newline, ready.size());
    if (newline != std::string_view::npos && newline <= longest) {
      next_ += newline + 1;
      return ready.substr(0, newline);
    }
    if (searched > longest)
      throw Error(ErrorCode::limit_exceeded,
                  "a line of " + what_ + " is longer than " + std::to_string(longest) + " bytes")
          .at(offset())
          .in(source_.name());
    if (!fill(searched + 1))
      throw Error(ErrorCode::truncated, what_ + " ends within a line")
          .expected("a newline")
          .at(offset() + searched)
          .in(source_.name());
  }
}

}  // namespace ckpt
