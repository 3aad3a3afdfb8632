#include "scan/serialized_json.h"

#include <cstddef>
#include <string>
#include <vector>

#include "ckpt/limits.h"
#include "container/json_reader.h"
#include "io/bytes.h"

namespace ckpt::scanning {
namespace {

constexpr std::string_view key = ":serialized:";

/// As Python's b64decode() does: what is no letter of it is passed over, and the first whole padding ends it.
std::vector<std::byte> decode_base64(std::string_view text) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::byte> bytes;
  unsigned bits = 0, count = 0, padding = 0;
  for (const char c : text) {
    const std::size_t value = letters.find(c);
    if (c == '=' && count >= 2 && count + ++padding >= 4) break;
    if (value == std::string_view::npos) continue;
    padding = 0;
    bits = bits << 6 | static_cast<unsigned>(value);
    if (count++ != 0) bytes.push_back(static_cast<std::byte>(bits >> (8 - 2 * count) & 0xffU));
    count %= 4;
  }
  return bytes;
}

}  // namespace

std::uint64_t each_serialized(const Part& json, const Visit& visit) {
  if (first_mark(*json.bytes).value_or('{') != '{') return 0;
  const std::vector<std::byte> bytes = read_all(*json.bytes, limits::zip_small_member);
  JsonReader reader(as_text(bytes), 0, "what Stable-Baselines3 reads");
  // Python takes numbers that JSON has not; strings are the same wherever they stand.
  for (bool is_value = false; reader.find_string();) {
    const std::uint64_t at = reader.position();
    const std::string string = reader.string();
    if (is_value)
      visit(part_apart(json, memory_source(decode_base64(string), json.bytes->name()), Role::pickle,
                       std::string(key) + " at byte " + std::to_string(at)));
    is_value = string == key;
  }
  return bytes.size();
}

}  // namespace ckpt::scanning
