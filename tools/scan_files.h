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
  std::vector<std::string> links;   ///< in folders, to folders outside of them: they are not followed
  std::vector<std::string> idle;    ///< globs that left nothing out
  std::vector<ScanResult> results;  ///< of folders that cannot be read, and of the Python of an unpacked torch.package
};

/// What `paths` name: files as they are, folders with all that is below them, by name. A link to a file is a file. What
/// one of the globs in `excluded` matches, by its path below the folder or by its name alone, is left out.
FileList list_files(const std::vector<std::string>& paths, const std::vector<std::string>& excluded);

/// scan() of the file; one that cannot be opened is unreadable, too. Throws Error: out_of_memory.
ScanResult scan_file(const std::string& path);

}  // namespace ckpt::tools
