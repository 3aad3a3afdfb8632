#include "scan_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "ckpt/byte_source.h"
#include "ckpt/error.h"
#include "ckpt/glob.h"
#include "finding.h"

namespace ckpt::tools {
namespace {

namespace fs = std::filesystem;

ScanResult unopened(const std::string& path, std::string why) {
  ScanResult result;
  result.file = path;
  result.verdict = ScanVerdict::unreadable;
  result.recognised = true;  // nobody knows what it is
  result.error = std::move(why);
  return result;
}

/// PackageImporter runs it where a pickle of the package asks for a module of its name.
ScanResult package_code(const std::string& path) {
  ScanResult result;
  result.file = path;
  result.verdict = ScanVerdict::dangerous;
  result.recognised = true;
  result.findings.push_back({.verdict = Verdict::dangerous, .module = "(torch.package)", .name = "(code)"});
  return result;
}

/// Whether a link leads to what a walk through `root` does not come to by itself. One that leads nowhere does not.
bool leads_out(const fs::path& link, const fs::path& root) {
  std::error_code error;
  const fs::path target = fs::canonical(link, error);
  if (error) return false;
  const fs::path top = fs::canonical(root, error);
  if (error) return false;
  return std::mismatch(top.begin(), top.end(), target.begin(), target.end()).first != top.end();
}

/// What is left out, and which globs have had no part in it.
class Excluded {
 public:
  explicit Excluded(const std::vector<std::string>& globs) : globs_(globs), used_(globs.size(), false) {}

  bool match(const fs::path& path, const std::string& root) {
    bool any = false;
    for (std::size_t i = 0; i < globs_.size(); ++i) {
      std::string glob = globs_[i];
      while (glob.size() > 1 && glob.ends_with('/')) glob.pop_back();  // "build/"
      const bool hit = glob_match(glob, path.lexically_relative(root).string()) ||
                       glob_match(glob, path.filename().string()) || glob_match(glob, path.string());
      used_[i] = used_[i] || hit;
      any = any || hit;
    }
    return any;
  }

  [[nodiscard]] std::vector<std::string> idle() const {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < globs_.size(); ++i)
      if (!used_[i]) out.push_back(globs_[i]);
    return out;
  }

 private:
  const std::vector<std::string>& globs_;
  std::vector<bool> used_;
};

/// What a walk has met of each torch.package that lies unpacked.
struct Packages {
  std::vector<std::string> folders;  ///< each ends in a slash
  std::vector<std::string> links;    ///< to folders, in a package or not: they are not walked into
};

/// One folder of a walk through `root`; folders in it are added to `open`.
void list_folder(const fs::path& folder, const std::string& root, Excluded& excluded, std::vector<fs::path>& open,
                 FileList& list, Packages& packages) {
  std::error_code error;
  if (fs::exists(folder / ".data/extern_modules", error)) packages.folders.push_back((folder / "").string());
  for (fs::directory_iterator next(folder, error); !error && next != fs::directory_iterator(); next.increment(error)) {
    const fs::path& path = next->path();
    if (excluded.match(path, root)) continue;
    std::error_code gone;
    const fs::file_status status = next->symlink_status(gone);
    if (status.type() == fs::file_type::none)  // of what is no longer there it would be not_found
      list.results.push_back(unopened(path.string(), "cannot look at it: " + gone.message()));
    // A loader finds a link by its name, wherever it leads.
    const bool is_file = fs::is_regular_file(fs::is_symlink(status) ? next->status(gone) : status);
    if (fs::is_symlink(status) && !is_file && leads_out(path, root)) list.links.push_back(path.string());
    if (fs::is_symlink(status) && fs::is_directory(next->status(gone))) packages.links.push_back(path.string());
    if (fs::is_directory(status)) open.push_back(path);
    if (is_file) list.files.push_back({path.string(), false});
  }
  if (error) list.results.push_back(unopened(folder.string(), "cannot read the folder: " + error.message()));
}

/// Adds what is run of each torch.package among the files from `first` on.
void add_package_code(const Packages& packages, std::ptrdiff_t first, FileList& list) {
  const auto is_in_one = [&](const std::string& path) {
    return std::ranges::any_of(packages.folders, [&](const std::string& folder) { return path.starts_with(folder); });
  };
  for (auto file = list.files.begin() + first; file != list.files.end(); ++file)
    if (file->path.ends_with(".py") && is_in_one(file->path)) list.results.push_back(package_code(file->path));
  for (const std::string& link : packages.links)
    if (is_in_one(link))
      list.results.push_back(unopened(link, "a link to a folder in a torch.package, which runs what it leads to"));
}

void walk(const std::string& root, Excluded& excluded, FileList& list) {
  const auto files = static_cast<std::ptrdiff_t>(list.files.size());
  const auto results = static_cast<std::ptrdiff_t>(list.results.size());
  Packages packages;
  for (std::vector<fs::path> open{root}; !open.empty();) {
    const fs::path folder = std::move(open.back());
    open.pop_back();
    list_folder(folder, root, excluded, open, list, packages);
  }
  add_package_code(packages, files, list);
  std::sort(list.files.begin() + files, list.files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  std::sort(list.results.begin() + results, list.results.end(),
            [](const auto& a, const auto& b) { return a.file < b.file; });
  std::sort(list.links.begin(), list.links.end());
}

}  // namespace

FileList list_files(const std::vector<std::string>& paths, const std::vector<std::string>& globs) {
  FileList list;
  Excluded excluded(globs);
  for (const std::string& path : paths) {
    std::error_code error;
    if (path != "-" && fs::is_directory(path, error))
      walk(path, excluded, list);
    else
      list.files.push_back({path, true});
  }
  list.idle = excluded.idle();
  return list;
}

ScanResult scan_file(const std::string& path) {
  try {
    return scan(open_file(path));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::out_of_memory) throw;
    return unopened(path, without_name(error.what(), path));
  }
}

}  // namespace ckpt::tools
