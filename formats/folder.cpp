#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <memory>

#include "ckpt/error.h"
#include "format.h"
#include "io/file_source.h"
#include "io/paths.h"
#include "io/posix.h"

namespace ckpt {
namespace {

using Names = std::vector<std::string>;

/// What libraries call a model's weights beside what else they keep in its folder.
constexpr std::array<std::string_view, 5> weights_names{
    "model.safetensors", "pytorch_model.bin", "adapter_model.safetensors", "adapter_model.bin", "consolidated.00.pth"};

bool is_folder(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return S_ISDIR(status.st_mode);
  if (errno != ENOENT && errno != ENOTDIR) throw_system_error("cannot open", path, errno);
  return false;
}

Names names_in(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), ::closedir);
  if (!open) throw_system_error("cannot read the folder", folder, errno);
  Names names;
  for (errno = 0; const dirent* const entry = ::readdir(open.get()); errno = 0) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == limits::folder_entries)
      throw Error(ErrorCode::limit_exceeded, "is a folder of more than " + std::to_string(names.size()) + " files")
          .in(folder)
          .hint("name the file in it");
    names.push_back(name);
  }
  if (errno != 0) throw_system_error("cannot read the folder", folder, errno);
  std::sort(names.begin(), names.end());
  return names;
}

bool has_a_suffix(const std::string& name) { return !formats_by_suffix(name).empty(); }

std::string listed(const Names& names) {
  constexpr std::size_t most = 6;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) list += (i == 0 ? "" : ", ") + names[i];
  return names.size() > most ? list + ", …" : list;
}

/// The file that stands for a folder of which no format says that it is its own.
std::string only_checkpoint(const std::string& folder, const Names& names) {
  const auto is_there = [&](std::string_view name) { return std::binary_search(names.begin(), names.end(), name); };
  // Of several consolidated files each has a part of every matrix.
  const bool is_in_parts = is_there("consolidated.01.pth");
  for (const std::string_view name : weights_names)
    if (is_there(name) && !(is_in_parts && name == weights_names.back())) return std::string(name);
  if (is_in_parts)
    throw Error(ErrorCode::unsupported, "is a folder of the parts of one model, each with a part of its matrices")
        .expected("a model in one file, or in shards that each have whole tensors")
        .in(folder)
        .hint(
            "the script that comes with such models joins them (of Llama's, transformers' "
            "convert_llama_weights_to_hf)");
  Names fitting;
  std::copy_if(names.begin(), names.end(), std::back_inserter(fitting), has_a_suffix);
  if (fitting.empty())
    throw Error(ErrorCode::unsupported, "is a folder without a checkpoint")
        .expected("a distributed checkpoint, shards with their index, or one checkpoint")
        .in(folder)
        .hint("ckpt formats lists what ckpt reads");
  if (fitting.size() > 1)
    throw Error(ErrorCode::invalid_argument,
                "is a folder of " + std::to_string(fitting.size()) + " checkpoints: " + listed(fitting))
        .expected("one that is meant")
        .in(folder)
        .hint("name it: " + shell_word((folder.ends_with('/') ? folder : folder + "/") + fitting.front()));
  return fitting.front();
}

}  // namespace

ByteSourcePtr open_checkpoint(const std::string& path) {
  if (path.empty())
    throw Error(ErrorCode::invalid_argument, "a file's name is empty")
        .expected("a path")
        .hint("a variable in the command may be unset");
  if (path == "-" || holds_nul(path) || !is_folder(path)) return open_file(path);
  std::string folder = path;
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  const Names names = names_in(folder);
  ByteSourcePtr found;
  for (const Format* format : format_table()) {
    ByteSourcePtr entry = format->enter == nullptr ? nullptr : format->enter(folder, names);
    if (entry != nullptr && found != nullptr)
      throw Error(ErrorCode::invalid_argument, "is a folder of two checkpoints")
          .expected("one that is meant")
          .in(folder)
          .hint("name it: " + shell_word(found->name()) + ", or " + shell_word(entry->name()));
    if (entry != nullptr) found = std::move(entry);
  }
  return found != nullptr ? found : open_regular_file(folder + "/" + only_checkpoint(folder, names));
}

}  // namespace ckpt
