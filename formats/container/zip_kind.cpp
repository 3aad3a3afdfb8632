#include "container/zip_kind.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "container/zip_directory.h"
#include "container/zip_end.h"
#include "container/zip_forward.h"
#include "container/zip_reader.h"
#include "io/bytes.h"
#include "suffix.h"

namespace ckpt {
namespace {

/// torch finds a member in any case of letters.
bool is_pickle(std::string_view name) { return ends_with_in_any_case(name, "/data.pkl"); }

/// Its path within the folder at the top; empty where it lies in none.
std::string_view below_top(std::string_view name) {
  const std::size_t slash = name.find('/');
  return slash == std::string_view::npos ? std::string_view() : name.substr(slash + 1);
}

/// Whether it is `file` in a folder at the top.
bool is_at_top(std::string_view name, std::string_view file) { return equal_in_any_case(below_top(name), file); }

/// What the pickle says where it comes first; nothing where it does not stand there as it is.
std::optional<ZipKind> kind_by_pickle(const ByteSource& source) {
  const auto pickle = zip::read_forward_header(source, 0);
  if (!pickle) return std::nullopt;
  return begins_as_script(source, pickle->data_offset) ? ZipKind::script : ZipKind::checkpoint;
}

ZipKind kind_by_names(const std::vector<std::string>& names) {
  const auto any = [&](const auto& is) { return std::any_of(names.begin(), names.end(), is); };
  const auto at_top = [&](std::string_view file) {
    return any([&](const std::string& name) { return is_at_top(name, file); });
  };
  if (at_top("constants.pkl") || (at_top("model.json") && at_top("version"))) return ZipKind::script;
  if (any([](const std::string& name) { return is_pickle(name); })) return ZipKind::checkpoint;
  return any([](const std::string& name) { return name.ends_with(".npy"); }) ? ZipKind::arrays : ZipKind::other;
}

}  // namespace

bool begins_as_script(const ByteSource& source, std::uint64_t offset) {
  constexpr std::string_view script =
      "\x80\x02"
      "c__torch__";
  std::array<std::byte, script.size()> begin{};
  return as_text(std::span(begin).first(source.read_at(offset, begin))) == script;
}

std::optional<std::vector<std::string>> zip_names(const ByteSource& source) {
  try {
    std::vector<std::string> names;
    for (zip::DirectoryEntry& entry : zip::read_directory(source, zip::find_end(source, limits::zip_small_member)))
      names.push_back(std::move(entry.member.name));
    return names;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::io) throw;
    return std::nullopt;
  }
}

ZipKind zip_kind(const ByteSource& source) {
  try {
    if (!is_zip(source)) return ZipKind::none;
    const std::string first = first_member_name(source);
    const auto kind = is_at_top(first, "data.pkl") ? kind_by_pickle(source) : std::nullopt;
    // Any pickle may begin as that of a script: the directory has the last word, however far away it is in gzip.
    if (kind && kind != ZipKind::script) return *kind;
    if (const auto names = zip_names(source)) return kind_by_names(*names);
    if (kind) return *kind;
    // What torch.save writes begins with the pickle; torch.jit.save puts its storages first.
    if (below_top(first).starts_with("data/")) return ZipKind::script;
    return first.ends_with(".npy") ? ZipKind::arrays : ZipKind::checkpoint;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::io) throw;
    return ZipKind::checkpoint;
  }
}

}  // namespace ckpt
