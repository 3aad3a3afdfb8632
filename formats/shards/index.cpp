#include "shards/index.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "container/json_reader.h"
#include "io/bytes.h"
#include "io/keyed_hash.h"
#include "model/position_index.h"

namespace ckpt::shards {
namespace {

constexpr std::string_view map_key = "weight_map", list_key = "ckpt.shards";

Error twice(const std::string& what, std::uint64_t position) {
  return Error(ErrorCode::corrupt, what + " comes twice").expected("each key once").at(position);
}

/// Gives each file its place among all, in the order in which they come.
class Files {
 public:
  std::uint32_t place_of(std::string name) {
    const auto [found, fresh] = places_.try_emplace(std::move(name), static_cast<std::uint32_t>(places_.size()));
    if (fresh && places_.size() > limits::shard_files)
      throw Error(ErrorCode::limit_exceeded, "more than " + std::to_string(limits::shard_files) + " shards");
    return found->second;
  }

  /// All of them, sorted; `places` says of each place where it stands then.
  std::vector<std::string> sorted(std::vector<std::uint32_t>& places) const {
    std::vector<std::string> names;
    for (const auto& [name, place] : places_) names.push_back(name);
    std::sort(names.begin(), names.end());
    places.resize(names.size());
    for (std::uint32_t i = 0; i < names.size(); ++i) places[places_.at(names[i])] = i;
    return names;
  }

 private:
  NameMap<std::uint32_t> places_;
};

void read_map(JsonReader& json, Index& index, Files& files) {
  if (index.weight_map) throw twice("'weight_map'", json.position());
  auto& map = index.weight_map.emplace();
  PositionIndex places;
  json.enter_object();
  while (auto name = json.next_key()) {
    if (map.size() == limits::index_tensors)
      throw Error(ErrorCode::limit_exceeded, "more than " + std::to_string(limits::index_tensors) + " tensors")
          .at(json.position());
    const auto next = static_cast<std::uint32_t>(map.size());
    if (places.add(hash_of(*name), next, [&](std::uint32_t other) { return map[other].first == *name; }) != next)
      throw twice("tensor '" + *name + "'", json.position());
    map.emplace_back(*std::move(name), files.place_of(json.string()));
  }
}

void read_list(JsonReader& json, Files& files) {
  json.enter_array();
  while (json.next_item()) files.place_of(json.string());
}

/// Some writers give total_size as a float: where it is a whole number, that counts. What else there is does not.
void read_metadata(JsonReader& json, Index& index) {
  if (json.accept_null()) return;
  json.enter_object();
  while (const auto key = json.next_key()) {
    std::string text(json.skip());
    if (*key != "total_size") continue;
    if (text.ends_with(".0")) text.resize(text.size() - 2);
    JsonReader number(text, 0, "total_size");
    const bool whole = text.find_first_not_of("0123456789") == std::string::npos && text.size() < 19;
    if (whole) index.total_size = number.integer();
  }
}

/// The same of a map or list of files, whose error read_index() tells.
bool names_others(JsonReader& json, bool is_map, std::string_view suffix) {
  try {
    is_map ? json.enter_object() : json.enter_array();
    while (is_map ? json.next_key().has_value() : json.next_item())
      if (!json.string().ends_with(suffix)) return true;
  } catch (const Error&) {
    return false;
  }
  return false;
}

}  // namespace

std::optional<bool> names_others(const ByteSource& source, std::string_view suffix) {
  if (first_mark(source) != '{') return std::nullopt;
  const std::vector<std::byte> bytes = read_all(source, limits::index_bytes);
  JsonReader json(as_text(bytes), 0, "the index");
  json.enter_object();
  while (const auto key = json.next_key()) {
    if (*key == map_key || (*key == list_key && json.sees('['))) return names_others(json, *key == map_key, suffix);
    json.skip();
  }
  return std::nullopt;
}

Index read_index(const ByteSource& source, std::uint64_t cap) {
  const std::vector<std::byte> bytes = read_all(source, std::min(limits::index_bytes, cap));
  Index index;
  Files files;
  JsonReader json(as_text(bytes), 0, "the index");
  json.enter_object();
  while (const auto key = json.next_key()) {
    if (*key == map_key)
      read_map(json, index, files);
    else if (*key == "metadata")
      read_metadata(json, index);
    else if (*key == list_key)
      read_list(json, files);
    else
      json.skip();
  }
  json.finish();
  std::vector<std::uint32_t> places;
  index.shards = files.sorted(places);
  if (index.weight_map)
    for (auto& entry : *index.weight_map) entry.second = places[entry.second];
  return index;
}

std::string make_index(const Index& index) {
  const auto& map = *index.weight_map;
  std::vector<std::size_t> order(map.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return map[a].first < map[b].first; });
  std::string text = "{\n  \"metadata\": {\n    \"total_size\": " + std::to_string(index.total_size.value_or(0)) +
                     "\n  },\n  \"weight_map\": {";
  for (const std::size_t i : order) {
    text += text.back() == '{' ? "\n    " : ",\n    ";
    append_json_string(text, map[i].first);
    text += ": ";
    append_json_string(text, index.shards[map[i].second]);
  }
  return text + (map.empty() ? "}\n}\n" : "\n  }\n}\n");
}

std::string make_list(const std::vector<std::string>& shards) {
  std::string text = "{";
  append_json_string(text, list_key);
  text += ":[";
  for (const std::string& shard : shards) {
    if (text.back() != '[') text += ',';
    append_json_string(text, shard);
  }
  return text + "]}";
}

}  // namespace ckpt::shards
