#pragma once

#include <deque>
#include <string>
#include <string_view>

namespace ckpt {

/// Whether a TemporaryName of any process may have made it.
bool is_temporary_name(std::string_view name);

/// A file in a temporary folder, in a list that a signal handler can walk.
struct TemporaryFile {
  std::string name;
  const TemporaryFile* next = nullptr;
};

/// A file name in an open folder that discard_temporaries() removes for as long as this object lives. The name is made
/// here and is free to be created; removing or renaming the file is the owner's part.
/// Throws Error (limit_exceeded) where more than 64 live at once.
class TemporaryName {
 public:
  explicit TemporaryName(int folder);
  ~TemporaryName();
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;

  [[nodiscard]] const char* name() const;
  /// What has the name is a folder.
  void becomes_folder();
  /// A file in it, which is opened as `inside`, is removed with it.
  void add_file(int inside, const std::string& name);
  /// Removes what has the name, now.
  void remove();
  /// The file is gone or has its final name: nothing is left to remove.
  void release();

 private:
  int slot_;
  std::deque<TemporaryFile> files_;  ///< whose elements stay where they are
};

}  // namespace ckpt
