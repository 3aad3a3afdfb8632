#include <string>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "container/json_reader.h"
#include "io/bytes.h"
#include "safetensors/dtypes.h"
#include "safetensors/header.h"

namespace ckpt::safetensors {

std::string make_header(const std::vector<Entry>& entries, const Metadata& metadata) {
  std::string json = "{";
  const auto comma = [&] {
    if (json.size() > 1) json += ',';
  };
  if (!metadata.empty()) {
    append_json_string(json, metadata_key);
    json += ":{";
    for (const auto& [key, value] : metadata) {
      if (json.back() != '{') json += ',';
      append_json_string(json, key);
      json += ':';
      append_json_string(json, value);
    }
    json += '}';
  }
  for (const Entry& entry : entries) {
    const ElementType& type = *find_type(entry.dtype);
    comma();
    append_json_string(json, entry.name);
    json += ":{\"dtype\":\"" + std::string(type.name) + "\",\"shape\":[";
    for (std::size_t i = 0; i < entry.shape.size(); ++i) {
      const bool doubled = is_packed(type) && i + 1 == entry.shape.size();
      json += (i > 0 ? "," : "") + std::to_string(doubled ? 2 * entry.shape[i] : entry.shape[i]);
    }
    json += "],\"data_offsets\":[" + std::to_string(entry.begin) + "," + std::to_string(entry.end) + "]}";
  }
  json += '}';
  json.resize((json.size() + length_size - 1) / length_size * length_size, ' ');
  if (json.size() > limits::safetensors_header_bytes)
    throw Error(ErrorCode::limit_exceeded, "the names take a header of " + std::to_string(json.size()) + " bytes")
        .expected("at most " + std::to_string(limits::safetensors_header_bytes) + ", as safetensors takes")
        .hint("--format safetensors-index spreads the tensors over several files");
  std::string out;
  append_le<std::uint64_t>(out, json.size());
  return out + json;
}

}  // namespace ckpt::safetensors
