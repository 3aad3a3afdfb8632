#include "scan/part.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "ckpt/limits.h"
#include "suffix.h"

namespace ckpt::scanning {
namespace {

/// What may be called otherwise, and is a pickle in an archive more often than not.
constexpr std::array<std::string_view, 3> other_suffixes{".z", ".metadata", ".bin"};
/// Where torch keeps the bytes of tensors.
constexpr std::array<std::string_view, 4> storage_folders{"data", "constants", "tensors", "storages"};

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Part inside(const Part& outer, ByteSourcePtr bytes, Role role, const std::string& name) {
  Part part;
  part.bytes = std::move(bytes);
  part.role = role;
  part.where = outer.where.empty() || name.empty() ? outer.where + name : outer.where + ": " + name;
  part.depth = outer.depth + 1;
  part.gzip_layers = outer.gzip_layers;
  part.file = outer.file;
  part.loader = outer.loader;
  return part;
}

}  // namespace

Part part_in_place(const Part& outer, ByteSourcePtr bytes, std::uint64_t offset, Role role, const std::string& name) {
  Part part = inside(outer, std::move(bytes), role, name);
  part.stream = outer.stream;
  part.base = outer.base + offset;
  return part;
}

Part part_apart(const Part& outer, ByteSourcePtr bytes, Role role, const std::string& name) {
  Part part = inside(outer, std::move(bytes), role, name);
  part.stream = part.where;
  return part;
}

Part stretch(const Part& part, std::uint64_t begin, std::uint64_t end) {
  Part stretch = part;
  stretch.bytes = slice(part.bytes, begin, end - begin, part.bytes->name());
  stretch.base += begin;
  return stretch;
}

Error too_deep() {
  return Error(ErrorCode::limit_exceeded, "a file within more than " + std::to_string(limits::nesting) + " others");
}

bool is_metadata_name(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.ends_with(".metadata") && (name == ".metadata" || name.starts_with("__"));
}

Role role_of_member(std::string_view name) {
  if (!suffix_among(name, pickle_suffixes).empty() || !suffix_among(name, other_suffixes).empty()) return Role::pickle;
  const std::size_t slash = name.rfind('/');
  if (slash == std::string_view::npos || !is_number(name.substr(slash + 1))) return Role::member;
  const std::string_view path = name.substr(0, slash);
  const auto is_folder = [&](std::string_view folder) {
    if (!ends_with_in_any_case(path, folder)) return false;
    return path.size() == folder.size() || path[path.size() - folder.size() - 1] == '/';
  };
  return std::any_of(storage_folders.begin(), storage_folders.end(), is_folder) ? Role::storage : Role::member;
}

}  // namespace ckpt::scanning
