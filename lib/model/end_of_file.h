#pragma once

#include "ckpt/checkpoint.h"

namespace ckpt {

/// Keeps save() from replacing the file that the checkpoint was read from: it holds more, which would be lost.
void keep_rest(Checkpoint& checkpoint);

/// Says that `count` bytes follow `what`, a part of the file, and belong to nothing.
std::string left_out(std::uint64_t count, const std::string& what);

/// Says so among the checkpoint's warnings, and does keep_rest(); nothing of none. `more` ends the sentence.
void leave_out(Checkpoint& checkpoint, std::uint64_t count, const std::string& what, const std::string& more = "");

/// Details of a file that may go on behind the checkpoint, which is known once finish() has been there.
class OpenEnd {
 public:
  virtual ~OpenEnd() = default;

  [[nodiscard]] virtual bool goes_on() const = 0;
};

/// Whether more than the checkpoint is in its file, of what finish_reading() has found.
bool goes_on(const Checkpoint& checkpoint);

/// finish_reading() of one of several checkpoints that are joined, and keep_rest() where it goes on. Returns what is
/// warned of, by the file's name.
std::vector<std::string> finish_joined(Checkpoint& checkpoint);

/// Where a file that says how long it is has to end: finish() throws Error: truncated, before it, and tells what
/// follows.
class EndOfFile final : public FormatDetails, public OpenEnd {
 public:
  /// `end` bytes from the beginning of `source`, and less than `padding` more; `what` ends there: "the array".
  EndOfFile(ByteSourcePtr source, std::uint64_t end, std::string what, std::uint64_t padding = 1)
      : source_(std::move(source)), end_(end), padding_(padding), what_(std::move(what)) {}

  [[nodiscard]] std::vector<std::string> finish() const override;

  [[nodiscard]] bool goes_on() const override { return source_->size() - end_ >= padding_; }

 private:
  ByteSourcePtr source_;
  std::uint64_t end_, padding_;
  std::string what_;
};

}  // namespace ckpt
