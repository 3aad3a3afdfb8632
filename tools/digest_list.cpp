#include "digest_list.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "console/json_depth.h"
#include "console/text.h"

namespace ckpt::tools {
namespace {

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void add(DigestList& list, std::string name, std::string sha256) {
  list.names.push_back(name);
  list.sha256.emplace(std::move(name), std::move(sha256));
}

/// "SHA256  NAME" a line, the last of which is the total.
std::optional<DigestList> parse_text(std::string_view text) {
  constexpr std::size_t name_at = 66;
  DigestList list;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (end == std::string_view::npos || line.size() < name_at || line.substr(64, 2) != "  " ||
        !is_sha256(line.substr(0, 64)))
      return std::nullopt;
    text.remove_prefix(end + 1);
    if (!text.empty()) {
      add(list, std::string(line.substr(name_at)), std::string(line.substr(0, 64)));
    } else if (line.substr(name_at) == "total") {
      list.total = line.substr(0, 64);
    }
  }
  return list.total.empty() ? std::nullopt : std::optional(std::move(list));
}

std::optional<DigestList> parse_json(const std::string& text) {
  using Json = nlohmann::json;
  if (nested_deeper_at(text, 2)) return std::nullopt;
  const Json parsed = Json::parse(text, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("digest") || !parsed["digest"].is_string()) return std::nullopt;
  if (!parsed.contains("tensors") || !parsed["tensors"].is_object()) return std::nullopt;
  DigestList list;
  list.json = true;
  list.total = parsed["digest"].get<std::string>();
  for (const auto& [name, sha256] : parsed["tensors"].items()) {
    if (!sha256.is_string() || !is_sha256(sha256.get<std::string>())) return std::nullopt;
    add(list, name, sha256.get<std::string>());
  }
  return is_sha256(list.total) ? std::optional(std::move(list)) : std::nullopt;
}

}  // namespace

DigestList read_digest_list(const std::string& file, const std::string& checked) {
  const std::string beside = checked.substr(0, checked.find_last_not_of('/') + 1) + ".digest";
  const std::string how = "ckpt digest " + shell_word(checked) + " > " + shell_word(beside) + " makes one";
  try {
    const ByteSourcePtr source = open_file(file);
    if (!detect(source).format.empty())
      throw Error(ErrorCode::unsupported, "is a checkpoint, and no list of digests")
          .hint("ckpt diff " + shell_word(checked) + " " + shell_word(file) + " compares two checkpoints; " + how);
    const auto bytes = read_all(*source, limits::digest_list_bytes);
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    auto list = text.starts_with('{') ? parse_json(text) : parse_text(text);
    if (!list) throw Error(ErrorCode::unsupported, "is no list of digests").expected("what ckpt digest prints");
    if (list->sha256.empty())
      throw Error(ErrorCode::unsupported, "lists no tensor")
          .expected("what ckpt digest prints of a file with tensors")
          .hint("ckpt inspect " + shell_word(checked) + " shows what is there");
    return std::move(*list);
  } catch (Error& error) {
    if (error.hint().empty()) error.hint(how);
    throw error.in(file);
  }
}

std::vector<std::string> listed_names(const CheckpointDigest& digest, bool json) {
  std::vector<std::string> names;
  std::map<std::string, std::size_t> taken;  // and the number of the last that was alike
  for (const TensorDigest& tensor : digest.tensors) {
    std::string name = json ? valid_utf8(tensor.name) : printable(tensor.name);
    const std::string first = name;
    while (json && !taken.try_emplace(name, 1).second) name = first + "#" + std::to_string(++taken[first]);
    names.push_back(std::move(name));
  }
  return names;
}

std::vector<Finding> compare_digests(const DigestList& list, const CheckpointDigest& digest) {
  std::vector<Finding> findings;
  std::set<std::string> there;
  const std::vector<std::string> names = listed_names(digest, list.json);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string &name = names[i], &sha256 = digest.tensors[i].sha256;
    const auto [first, last] = list.sha256.equal_range(name);
    there.insert(name);
    const std::string where = "tensor '" + name + "'";
    if (first == last)
      findings.push_back({true, "is not in the list", where});
    else if (std::none_of(first, last, [&](const auto& listed) { return listed.second == sha256; }))
      findings.push_back({true, "its SHA-256 is " + sha256 + ", expected " + first->second, where});
  }
  for (const std::string& name : list.names)
    if (!there.contains(name))
      findings.push_back({true, "is in the list, and not in the file", "tensor '" + name + "'"});
  if (digest.total != list.total)
    findings.push_back({true, "the total is " + digest.total + ", expected " + list.total, ""});
  return findings;
}

}  // namespace ckpt::tools
