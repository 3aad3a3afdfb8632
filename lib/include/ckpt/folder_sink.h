#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ckpt/byte_sink.h"
#include "ckpt/export.h"

namespace ckpt {

struct FolderSinkOptions {
  bool no_clobber = false;  ///< refuse an empty folder too
  bool dry_run = false;     ///< refuse what would be refused, count what is written, and leave no trace
};

/// A folder of files that appears whole or not at all. Files are written into a temporary folder beside the target;
/// commit() syncs it and renames it. What stands in the target's place must be nothing or an empty folder, whose
/// permissions, owner and group the new one is given, as a FileSink's target's: nobody's files are replaced.
///
///     FolderSink sink("out");
///     const auto file = sink.add("model-00001-of-00001.safetensors");
///     file->write(bytes);
///     file->commit();
///     sink.commit();
class CKPT_API FolderSink final {
 public:
  /// Throws Error, on_output: io (no such folder to make it in, no permission, a target that holds something);
  /// limit_exceeded (more than 64 temporaries of this process at once).
  explicit FolderSink(const std::string& path, FolderSinkOptions options = {});
  /// Without commit() nothing is left.
  ~FolderSink();
  FolderSink(const FolderSink&) = delete;
  FolderSink& operator=(const FolderSink&) = delete;

  /// A new file in the folder, of a plain name ("a/b" is none). It must not outlive the folder; commit() of it closes
  /// it. Throws Error, on_output: invalid_argument (no plain name; after commit()), io.
  [[nodiscard]] std::unique_ptr<ByteSink> add(const std::string& name);

  /// Makes the folder final, once every file in it is. Called once. Throws Error, on_output: invalid_argument (a file
  /// that was added has not been committed), io.
  void commit();

  /// Where its files lie until commit(), for the check before it. Empty in a dry run.
  [[nodiscard]] std::string path() const;
  /// Of all files that were committed.
  [[nodiscard]] std::uint64_t bytes() const;
  /// Names of temporaries that others had left beside it, and that are gone (ckpt/file_sink.h).
  [[nodiscard]] const std::vector<std::string>& removed() const;
  /// The target, as the user gave it: what messages call it.
  [[nodiscard]] const std::string& name() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace ckpt
