#include "named_tensors/sharding_info.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "container/json_shape.h"

namespace ckpt::named_tensors {
namespace {

constexpr std::string_view offsets_key = "saved_offsets";

}  // namespace

Offsets parse_offsets(const std::string& text) {
  const auto refuse = [](const std::string& found) {
    return Error(ErrorCode::corrupt, found + " in " + std::string(sharding_key))
        .expected(R"({"NAME": {"saved_offsets": [0, 128]}})");
  };
  constexpr std::size_t deepest = 3;
  check_json_shape(text, [&](const JsonPlace& place) {
    if (place.depth > deepest) throw refuse("lists in lists");
    if (!place.in_list && place.count > limits::safetensors_tensors)
      throw refuse("more than " + std::to_string(limits::safetensors_tensors) + " names");
    if (place.in_list && place.count > limits::tensor_dimensions)
      throw refuse("a list of more than " + std::to_string(limits::tensor_dimensions));
  });
  nlohmann::json parsed;
  try {
    parsed = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception&) {
    throw refuse("no JSON");
  }
  if (!parsed.is_object()) throw refuse("no object");
  Offsets offsets;
  for (const auto& [name, info] : parsed.items()) {
    const auto found = info.is_object() ? info.find(offsets_key) : info.end();
    if (found == info.end() || !found->is_array()) throw refuse("no offsets of '" + name + "'");
    std::vector<std::int64_t>& list = offsets[name];
    for (const auto& offset : *found) {
      if (!offset.is_number_unsigned() || offset.get<std::uint64_t>() > INT64_MAX)
        throw refuse("a bad offset of '" + name + "'");
      list.push_back(offset.get<std::int64_t>());
    }
  }
  return offsets;
}

std::string warning_of_pieces(const std::vector<std::pair<std::string, std::string>>& metadata,
                              const std::string& file) {
  const auto told =
      std::find_if(metadata.begin(), metadata.end(), [](const auto& entry) { return entry.first == sharding_key; });
  if (told == metadata.end()) return {};
  bool is_piece = file.substr(file.rfind('/') + 1).starts_with("shard-");
  try {
    for (const auto& [name, offsets] : parse_offsets(told->second))
      is_piece = is_piece || std::any_of(offsets.begin(), offsets.end(), [](std::int64_t at) { return at != 0; });
  } catch (const Error&) {
    return {};
  }
  if (!is_piece) return {};
  return "this is one rank's part of a distributed checkpoint: its tensors may be pieces; name the folder, which joins "
         "them";
}

bool is_about(const std::string& text, const std::vector<std::string>& names) {
  try {
    const Offsets offsets = parse_offsets(text);
    return offsets.size() == names.size() &&
           std::all_of(names.begin(), names.end(), [&](const std::string& name) { return offsets.contains(name); });
  } catch (const Error&) {
    return false;
  }
}

}  // namespace ckpt::named_tensors
