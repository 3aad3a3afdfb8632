#include "datasets/folder.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "ckpt/error.h"
#include "ckpt/pictures.h"
#include "datasets/natural_order.h"

namespace ckpt::eval {
namespace {

namespace fs = std::filesystem;

void expect(const std::error_code& error, const fs::path& folder) {
  if (error) throw_system_error("read the folder", folder.string(), error.value());
}

/// Files, and what only their reader can say more of: links that lead nowhere or in a circle.
bool may_be_read(fs::file_type kind) {
  return kind == fs::file_type::regular || kind == fs::file_type::not_found || kind == fs::file_type::none;
}

}  // namespace

bool is_picture_name(std::string_view name) {
  constexpr std::string_view suffix = ".png";
  return name.size() >= suffix.size() &&
         std::equal(suffix.begin(), suffix.end(), name.end() - suffix.size(), [](char wanted, char c) {
           return c == wanted || (c >= 'A' && c <= 'Z' && c - 'A' + 'a' == wanted);
         });
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unknown;
    const auto kind = entry->status(unknown).type();
    if (may_be_read(kind) || kind == fs::file_type::directory) names.push_back(entry->path().filename().string());
  }
  expect(error, folder);
  std::sort(names.begin(), names.end(), natural_less);
  return names;
}

std::vector<std::string> find_pictures(const std::string& folder) {
  std::vector<std::string> pictures;
  std::vector<std::string> folders{folder};
  std::set<std::string> entered;
  while (!folders.empty()) {
    const std::string next = std::move(folders.back());
    folders.pop_back();
    std::error_code error;
    const auto real = fs::canonical(next, error);
    expect(error, next);
    if (!entered.insert(real.string()).second) continue;
    // In order, so that which of two paths to a folder counts is no matter of chance.
    for (const std::string& name : names_in(next)) {
      const std::string entry = (fs::path(next) / name).string();
      const auto kind = fs::status(entry, error).type();
      if (kind == fs::file_type::directory) {
        folders.push_back(entry);
      } else if (is_picture_name(entry)) {
        if (may_be_read(kind)) pictures.push_back(entry);
      } else if (kind == fs::file_type::none && error != std::errc::too_many_symbolic_link_levels) {
        expect(error, entry);  // perhaps a folder
      }
    }
  }
  std::sort(pictures.begin(), pictures.end(), natural_less);
  return pictures;
}

}  // namespace ckpt::eval
