#include "datasets/batch_files.h"

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>

#include "ckpt/error.h"
#include "datasets/folder.h"

namespace ckpt::eval {
namespace {

/// The number of a batch in its name.
std::optional<std::uint64_t> batch_number(std::string_view name, std::string_view begin) {
  if (!name.starts_with(begin)) return std::nullopt;
  name.remove_prefix(begin.size());
  if (name.ends_with(".gz")) name.remove_suffix(3);
  if (!name.ends_with(".pt")) return std::nullopt;
  name.remove_suffix(3);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

}  // namespace

std::vector<std::string> batch_files(const std::string& folder, const std::string& split) {
  const std::string begin = split + "_set.";
  std::map<std::uint64_t, std::string> numbered;
  for (const std::string& name : names_in(folder))
    if (const auto number = batch_number(name, begin)) {
      const auto [file, fresh] = numbered.emplace(*number, (std::filesystem::path(folder) / name).string());
      if (!fresh)
        throw Error(ErrorCode::invalid_argument, "two files of one batch: " + name + " and " +
                                                     std::filesystem::path(file->second).filename().string())
            .in(folder)
            .expected("one a batch, with or without zeros before its number and .gz")
            .hint("move one of them elsewhere");
    }
  std::vector<std::string> files;
  for (const auto& [number, file] : numbered) {
    if (number != files.size()) {
      throw Error(ErrorCode::truncated, "no file " + begin + std::to_string(files.size()) + ".pt below " + begin +
                                            std::to_string(numbered.rbegin()->first) + ".pt")
          .in(folder)
          .expected("batches numbered from 0 without a gap")
          .hint("put the missing file back, or name one batch alone: --data " + shell_word(file));
    }
    files.push_back(file);
  }
  return files;
}

}  // namespace ckpt::eval
