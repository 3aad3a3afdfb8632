#include "named_tensors/shard_names.h"

#include <algorithm>

#include "ckpt/limits.h"

namespace ckpt::shards {
namespace {

constexpr std::size_t digits = 5;
constexpr std::string_view of = "-of-";

std::optional<std::uint32_t> number_in(std::string_view text) {
  std::uint32_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = 10 * number + static_cast<std::uint32_t>(c - '0');
  }
  return number;
}

std::string padded(std::uint32_t number) {
  const std::string text = std::to_string(number);
  return std::string(digits - std::min(digits, text.size()), '0') + text;
}

}  // namespace

std::optional<ShardName> parse_shard_name(std::string_view name) {
  const std::size_t middle = name.rfind(of);
  if (middle == std::string_view::npos || middle < digits + 2 || name.size() < middle + of.size() + digits)
    return std::nullopt;
  if (name[middle - digits - 1] != '-') return std::nullopt;
  const auto number = number_in(name.substr(middle - digits, digits));
  const auto count = number_in(name.substr(middle + of.size(), digits));
  const std::string_view suffix = name.substr(middle + of.size() + digits);
  if (!number || !count || *number < 1 || *number > *count || *count > limits::shard_files || !suffix.starts_with('.'))
    return std::nullopt;
  return ShardName{std::string(name.substr(0, middle - digits - 1)), *number, *count, std::string(suffix)};
}

std::string shard_name(const ShardName& shard) {
  return shard.stem + "-" + padded(shard.number) + std::string(of) + padded(shard.count) + shard.suffix;
}

}  // namespace ckpt::shards
