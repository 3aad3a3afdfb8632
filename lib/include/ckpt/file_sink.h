#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ckpt/byte_sink.h"
#include "ckpt/byte_source.h"
#include "ckpt/export.h"

namespace ckpt {

struct FileSinkOptions {
  /// Refuse where the target already exists (Error io on_output), checked again at the very moment of the rename.
  bool no_clobber = false;
  /// The target is what is read: refuse (Error io) where something newer stands there at the moment of the rename.
  bool is_input = false;
};

/// A file that appears whole or not at all. Bytes go to an unnamed file (O_TMPFILE) in the target's folder, or, where
/// the file system has none, to a named temporary beside it; commit() is fsync, link (where a target exists to a
/// temporary name, and rename), fsync of the folder.
/// An existing target keeps its permission bits, and its owner and group where this user may set them (where the group
/// cannot stay, its bits go); a new one gets 0666 less the umask. A target that is a symbolic link
/// stays one: the file it points to is replaced. A named temporary that a killed process left in the target's folder is
/// removed where it belongs to this user, is an hour old and held by nobody.
class CKPT_API FileSink final : public ByteSink {
 public:
  /// Throws Error, on_output: io (no such folder, no permission, target is a folder, exists where no_clobber);
  /// limit_exceeded (more than 64 named temporaries of this process at once).
  explicit FileSink(const std::string& path, FileSinkOptions options = {});
  ~FileSink() override;

  void commit() override;

  /// What has been written so far, readable while the sink lives: for the check before commit().
  [[nodiscard]] ByteSourcePtr read_back() const;
  /// Names of temporaries that others had left, and that are gone.
  [[nodiscard]] const std::vector<std::string>& removed() const;

 private:
  void append(std::span<const std::byte> bytes) override;
  std::span<std::byte> prepare() override;
  void append_prepared(std::size_t count) override;

  struct State;
  std::unique_ptr<State> state_;
};

/// What to say of a name that a sink has removed().
CKPT_API std::string say_removed(const std::string& name);

/// What a FileSink of this path would be but for the file: refuses what it would refuse, counts what is written, and
/// leaves no trace. "-" is standard output, of which nothing is asked.
CKPT_API std::unique_ptr<ByteSink> dry_sink(const std::string& path, FileSinkOptions options = {});

/// A sink for "-", standard output. commit() flushes; a reader that has gone away is an Error (io, on_output), where
/// the program ignores SIGPIPE, which ends it else.
CKPT_API std::unique_ptr<ByteSink> standard_output();

/// Removes named temporaries of this process. Async-signal-safe: for a program's SIGINT and SIGTERM handlers.
CKPT_API void discard_temporaries() noexcept;

}  // namespace ckpt
