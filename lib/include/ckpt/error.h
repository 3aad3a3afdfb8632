#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/export.h"

namespace ckpt {

/// What kind of failure it is; decides the exit status of a command (docs/cli.md).
enum class ErrorCode {
  io,                ///< the operating system refused a read or a write
  corrupt,           ///< the bytes contradict the format or themselves
  truncated,         ///< the bytes end before the format says they may
  unsupported,       ///< recognised, and not something this version reads or writes
  unsafe,            ///< writing would pass on a global that policy calls dangerous
  limit_exceeded,    ///< lawful perhaps, but past a cap of ckpt/limits.h
  invalid_argument,  ///< the caller's options contradict each other or the file
  unavailable,       ///< the machine lacks a device or a component
  out_of_memory,     ///< an allocation was refused
};

/// The one exception libckpt throws (besides std::bad_alloc, where memory runs out). Carries what was found, what was
/// expected, the file, the byte and a hint.
///
///     try { auto c = ckpt::load("model.pt"); }
///     catch (const ckpt::Error& e) { std::cerr << e.what() << '\n' << e.hint() << '\n'; }
///
/// Setters return *this, so that a throw reads as one sentence:
///
///     throw Error(ErrorCode::corrupt, "member 'data/0' has CRC 1c2d").expected("3f40").at(1024);
class CKPT_API Error final : public std::exception {
 public:
  /// `found` says what was found, as the first half of a sentence, without a full stop.
  Error(ErrorCode code, std::string found);

  /// What should have stood there, as the second half of the sentence: "FOUND, expected WHAT".
  Error& expected(std::string what);
  /// Byte offset in the file (or in the inflated stream where it is compressed). The first one set stays.
  Error& at(std::uint64_t offset);
  /// The file's name as the user gave it. The first one set stays.
  Error& in(const std::string& file);
  /// Puts "WHAT: " before what was found: the part of the file that it was found in.
  Error& within(const std::string& part);
  /// What to do about it: the very command where there is one.
  Error& hint(std::string what);
  /// Adds a line that belongs below the message, such as one of several findings.
  Error& detail(std::string line);
  /// Marks a failure of the output rather than the input (exit status 6 rather than 3).
  Error& on_output();

  [[nodiscard]] ErrorCode code() const { return code_; }
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] std::optional<std::uint64_t> offset() const { return offset_; }
  [[nodiscard]] const std::string& hint() const { return hint_; }
  [[nodiscard]] bool is_output() const { return output_; }
  /// Lines to be shown below what(), one by one; not made printable.
  [[nodiscard]] const std::vector<std::string>& details() const { return details_; }

  /// "FILE: found, expected (at byte N)". Valid until the next setter or the end of the object.
  [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }

 private:
  void compose();

  ErrorCode code_;
  std::string found_;
  std::string expected_;
  std::string file_;
  std::string hint_;
  std::vector<std::string> details_;
  std::optional<std::uint64_t> offset_;
  bool output_ = false;
  std::string message_;
};

/// A source's name as it would be typed into a shell, standard input's as a dash, none as FILE: for hints.
CKPT_API std::string shell_word(std::string_view text);

/// What is no file, such as an option's value, as it would be typed into a shell: for hints.
CKPT_API std::string shell_value(std::string_view text);

/// Throws ErrorCode::io with the operating system's words for `errno_value`.
[[noreturn]] CKPT_API void throw_system_error(const std::string& doing, const std::string& file, int errno_value);

}  // namespace ckpt
