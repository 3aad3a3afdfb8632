#pragma once

#include "ckpt/checkpoint.h"

namespace ckpt {

/// Where a file that says how long it is has to end: finish() throws Error: truncated, before it, and tells what
/// follows.
class EndOfFile final : public FormatDetails {
 public:
  /// `end` bytes from the beginning of `source`, and less than `padding` more; `what` ends there: "the array".
  EndOfFile(ByteSourcePtr source, std::uint64_t end, std::string what, std::uint64_t padding = 1)
      : source_(std::move(source)), end_(end), padding_(padding), what_(std::move(what)) {}

  [[nodiscard]] std::vector<std::string> finish() const override;

 private:
  ByteSourcePtr source_;
  std::uint64_t end_, padding_;
  std::string what_;
};

}  // namespace ckpt
