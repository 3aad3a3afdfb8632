#include "container/zip_names.h"

#include <algorithm>
#include <string>

#include "ckpt/error.h"
#include "container/quoted_name.h"
#include "container/zip_format.h"
#include "io/ascii.h"

namespace ckpt::zip {
namespace {

std::uint64_t folded_hash(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(ascii_lower(c))) * 0x100000001b3;
  return hash;
}

int compare_folded(std::string_view a, std::string_view b) {
  const std::size_t shared = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < shared; ++i) {
    const auto x = static_cast<unsigned char>(ascii_lower(a[i])), y = static_cast<unsigned char>(ascii_lower(b[i]));
    if (x != y) return x < y ? -1 : 1;
  }
  if (a.size() == b.size()) return 0;
  return a.size() < b.size() ? -1 : 1;
}

bool has_parent(std::string_view name) {
  for (std::size_t from = 0; from <= name.size();) {
    const std::size_t slash = std::min(name.find('/', from), name.size());
    if (name.substr(from, slash - from) == "..") return true;
    from = slash + 1;
  }
  return false;
}

}  // namespace

void check_name(std::string_view name) {
  const auto refuse = [&](const char* what) {
    throw Error(ErrorCode::corrupt, std::string(what) + " " + quoted_name(name))
        .expected("a relative path of plain parts")
        .hint("do not trust this archive: its names try to reach outside of it");
  };
  if (name.empty()) throw Error(ErrorCode::corrupt, "a member without a name").expected("a relative path");
  if (name.find('\0') != name.npos) refuse("a NUL in member name");
  if (name.find('\\') != name.npos) refuse("a backslash in member name");
  if (name[0] == '/') refuse("an absolute path as member name");
  const bool has_drive =
      name.size() > 1 && name[1] == ':' && ascii_lower(name[0]) >= 'a' && ascii_lower(name[0]) <= 'z';
  if (has_drive && (name.size() == 2 || name[2] == '/'))  // torch.save calls the folder after a file "a:b.pt"
    refuse("an absolute path as member name");
  if (has_parent(name)) refuse("'..' in member name");
}

NameIndex::NameIndex(std::size_t count, const NameOf& name_of) {
  keys_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) keys_.push_back({folded_hash(name_of(i)), i});
  std::sort(keys_.begin(), keys_.end(), [&](const Key& a, const Key& b) {
    if (a.hash != b.hash) return a.hash < b.hash;
    if (a.position == b.position) return false;
    const std::string_view x = name_of(a.position), y = name_of(b.position);
    if (const int order = compare_folded(x, y); order != 0) return order < 0;
    return x != y ? x < y : a.position < b.position;
  });
}

void NameIndex::each_clash(const NameOf& name_of, const std::function<void(std::size_t, std::size_t)>& found) const {
  for (std::size_t i = 1; i < keys_.size(); ++i) {
    const Key &a = keys_[i - 1], &b = keys_[i];
    if (a.hash == b.hash && compare_folded(name_of(a.position), name_of(b.position)) == 0)
      found(std::min(a.position, b.position), std::max(a.position, b.position));
  }
}

std::ptrdiff_t NameIndex::find(std::string_view name, const NameOf& name_of) const {
  const std::uint64_t hash = folded_hash(name);
  const auto at = std::lower_bound(keys_.begin(), keys_.end(), hash, [&](const Key& key, std::uint64_t wanted) {
    if (key.hash != wanted) return key.hash < wanted;
    const std::string_view other = name_of(key.position);
    const int order = compare_folded(other, name);
    return order != 0 ? order < 0 : other < name;
  });
  const bool found = at != keys_.end() && at->hash == hash && name_of(at->position) == name;
  return found ? static_cast<std::ptrdiff_t>(at->position) : -1;
}

}  // namespace ckpt::zip
