#pragma once

#include <functional>
#include <string>

namespace ckpt::fuzz {

/// What a program printed, and how it ended.
struct Captured {
  int status = 0;
  std::string out, err;
};

/// Runs `work` with standard output and standard error going to memory.
Captured captured(const std::function<int()>& work);

/// A file in memory that holds these bytes while it lives, and has a path.
class MemoryFile {
 public:
  MemoryFile(const void* data, std::size_t size);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  [[nodiscard]] std::string path() const;
  [[nodiscard]] std::string content() const;
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// An empty folder (of $TMPDIR), removed with all in it.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  /// How many files it holds; removes them.
  [[nodiscard]] std::size_t clear() const;

 private:
  std::string path_;
};

}  // namespace ckpt::fuzz
