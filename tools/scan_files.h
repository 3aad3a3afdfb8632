#pragma once

#include <string>
#include <vector>

#include "ckpt/scan.h"

namespace ckpt::tools {

struct ScannedFile {
  std::string path;
  bool named = true;  ///< by the user; else it was found in a folder, where most files are no checkpoints
};

struct FileList {
  std::vector<ScannedFile> files;
  std::vector<std::string> links;    ///< in folders, to what lies outside of them: they are not followed
  std::vector<ScanResult> unopened;  ///< folders that cannot be read
};

/// What `paths` name: files as they are, folders with all that is below them, by name. What one of the globs in
/// `excluded` matches, by its path below the folder or by its name alone, is left out.
FileList list_files(const std::vector<std::string>& paths, const std::vector<std::string>& excluded);

/// scan() of the file; one that cannot be opened is unreadable, too. Throws Error: out_of_memory.
ScanResult scan_file(const std::string& path);

}  // namespace ckpt::tools
