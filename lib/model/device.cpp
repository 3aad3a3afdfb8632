#include "ckpt/device.h"

#include <algorithm>
#include <array>
#include <optional>

#include "ckpt/error.h"
#include "io/ascii.h"

namespace ckpt {
namespace {

struct DeviceType {
  std::string_view name;
  bool numbered;  ///< whether tags of this type carry an index
};

constexpr std::array device_types{
    DeviceType{"cpu", false}, DeviceType{"cuda", true}, DeviceType{"mps", false},  DeviceType{"xpu", true},
    DeviceType{"hpu", true},  DeviceType{"npu", true},  DeviceType{"xla", true},   DeviceType{"ipu", true},
    DeviceType{"mtia", true}, DeviceType{"maia", true}, DeviceType{"meta", false}, DeviceType{"privateuseone", true},
};

/// What people write for a device and torch does not take.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> nicknames{{
    {"gpu", "cuda"},
    {"nvidia", "cuda"},
    {"rocm", "cuda"},
    {"hip", "cuda"},
    {"metal", "mps"},
    {"tpu", "xla"},
    {"privateuse1", "privateuseone"},
    {"host", "cpu"},
}};

/// c10::DeviceIndex is a signed byte.
constexpr int largest_index = 127;

constexpr std::string_view known_devices =
    "cpu, cuda[:N], mps, xpu[:N], hpu[:N], npu[:N], xla[:N], ipu[:N], mtia[:N], maia[:N], privateuseone[:N] or meta";

const DeviceType* find_type(std::string_view name) {
  const auto found =
      std::find_if(device_types.begin(), device_types.end(), [&](const DeviceType& type) { return type.name == name; });
  return found == device_types.end() ? nullptr : &*found;
}

/// As torch reads it: digits, no sign, no leading zero.
std::optional<int> parse_index(std::string_view text) {
  if (text.empty() || text.size() > 3 || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  int index = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    index = index * 10 + (c - '0');
  }
  if (index > largest_index) return std::nullopt;
  return index;
}

std::optional<std::string> tag_of(std::string_view text) {
  const std::size_t colon = text.find(':');
  const DeviceType* type = find_type(text.substr(0, colon));
  if (type == nullptr) return std::nullopt;
  int index = 0;
  if (colon != std::string_view::npos) {
    const std::optional<int> parsed = parse_index(text.substr(colon + 1));
    if (!parsed) return std::nullopt;
    index = *parsed;
  }
  // torch tags every cpu storage "cpu" whatever its index, and reads no other tag for it (_cpu_tag, _cpu_deserialize);
  // mps and meta likewise.
  if (!type->numbered) return std::string(type->name);
  return std::string(type->name) + ":" + std::to_string(index);
}

/// What the user may have meant: lower case, "cuda0" for "cuda:0", a nickname for its device.
std::optional<std::string> suggestion(std::string_view text) {
  std::string plain;
  for (char c : text) {
    if (c != ' ') plain.push_back(ascii_lower(c));
  }
  std::size_t letters = 0;
  while (letters < plain.size() && plain[letters] >= 'a' && plain[letters] <= 'z') ++letters;
  std::string type = plain.substr(0, letters);
  std::string rest = plain.substr(letters);
  for (const auto& [nickname, name] : nicknames) {
    if (plain.substr(0, plain.find(':')) != nickname && type != nickname) continue;
    if (plain.starts_with(nickname)) rest = plain.substr(nickname.size());
    type = name;
    break;
  }
  if (rest.starts_with(':')) rest.erase(0, 1);
  if (auto tag = tag_of(rest.empty() ? type : type + ":" + rest)) return tag;
  const bool is_number = !rest.empty() && rest.find_first_not_of("0123456789") == std::string::npos;
  return is_number && rest.front() != '0' ? tag_of(type + ":" + std::to_string(largest_index)) : tag_of(type);
}

std::string_view type_of(std::string_view location) { return location.substr(0, location.find(':')); }

bool matches(std::string_view source, std::string_view location) {
  return source == "*" || source == location || source == type_of(location);
}

}  // namespace

std::string location_tag(std::string_view text) {
  if (auto tag = tag_of(text)) return *tag;
  Error error(ErrorCode::invalid_argument, "'" + std::string(text) + "' is not a device");
  error.expected(std::string(known_devices) + ", N from 0 to " + std::to_string(largest_index));
  if (auto meant = suggestion(text)) error.hint("did you mean " + *meant + "?");
  throw error;
}

DeviceMap DeviceMap::all_to(std::string_view device) {
  DeviceMap map;
  map.rules_.emplace_back("*", location_tag(device));
  return map;
}

void DeviceMap::add(std::string_view rule) {
  const std::size_t equals = rule.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == rule.size()) {
    throw Error(ErrorCode::invalid_argument, "'" + std::string(rule) + "' is not a device rule")
        .expected("SOURCE=TARGET, SOURCE a tag, a device type or *")
        .hint("for example cuda:0=cuda:1, cuda=cpu or *=cpu");
  }
  // The source is compared with tags as files have them, which may name backends that only their makers know.
  std::string source(rule.substr(0, equals));
  std::string target = location_tag(rule.substr(equals + 1));
  for (const auto& [other, to] : rules_) {
    if (other != source) continue;
    if (to == target) return;
    throw Error(ErrorCode::invalid_argument, "two rules send '" + source + "' to " + to + " and to " + target)
        .expected("one target a source");
  }
  rules_.emplace_back(std::move(source), std::move(target));
}

const std::pair<std::string, std::string>* DeviceMap::rule_for(const std::string& location) const {
  for (std::string_view wanted : {std::string_view(location), type_of(location), std::string_view("*")}) {
    for (const auto& rule : rules_) {
      if (rule.first == wanted) return &rule;
    }
  }
  return nullptr;
}

std::string DeviceMap::map(const std::string& location) const {
  const auto* rule = rule_for(location);
  return rule == nullptr ? location : rule->second;
}

std::vector<std::string> DeviceMap::unmatched(const std::vector<std::string>& locations) const {
  std::vector<std::string> sources;
  for (const auto& rule : rules_) {
    const bool used = std::any_of(locations.begin(), locations.end(),
                                  [&](const std::string& location) { return matches(rule.first, location); });
    if (!used) sources.push_back(rule.first);
  }
  return sources;
}

}  // namespace ckpt
