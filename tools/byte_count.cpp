#include "byte_count.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>

#include "console/messages.h"

namespace ckpt::tools {

std::uint64_t number_of_bytes(const std::string& option, const std::string& text) {
  struct Unit {
    std::string_view name;
    std::uint64_t bytes;
  };
  constexpr Unit units[] = {{"KiB", 1 << 10}, {"MiB", 1 << 20},  {"GiB", 1 << 30},      {"kB", 1'000},
                            {"KB", 1'000},    {"MB", 1'000'000}, {"GB", 1'000'000'000}, {"", 1}};
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto unit = std::find_if(std::begin(units), std::end(units),
                                 [&](const Unit& each) { return each.name == std::string_view(text).substr(digits); });
  std::uint64_t number = 0, bytes = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + digits, number);
  if (unit == std::end(units) || parsed.ec != std::errc() || __builtin_mul_overflow(number, unit->bytes, &bytes) ||
      bytes == 0)
    throw usage_error(option + " takes a number of bytes, not '" + text + "'", option + " 5GB, 500MB, 2GiB");
  return bytes;
}

}  // namespace ckpt::tools
