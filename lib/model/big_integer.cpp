#include "model/big_integer.h"

#include <cstdint>
#include <vector>

#include "ckpt/limits.h"

namespace ckpt {
namespace {

constexpr std::uint32_t base = 1'000'000'000;  // nine digits at a time
constexpr std::size_t digits_of_base = 9;

/// 32 bits each, the lowest first, without zeros at the end.
std::vector<std::uint32_t> magnitude(std::string_view twos_complement, bool is_negative) {
  std::vector<std::uint32_t> words((twos_complement.size() + 3) / 4);
  std::uint32_t carry = is_negative ? 1 : 0;
  for (std::size_t i = 0; i < twos_complement.size(); ++i) {
    const auto byte = static_cast<unsigned char>(twos_complement[i]);
    carry += is_negative ? static_cast<unsigned char>(~byte) : byte;
    words[i / 4] |= (carry & 0xFF) << i % 4 * 8;
    carry >>= 8;
  }
  while (!words.empty() && words.back() == 0) words.pop_back();
  return words;
}

}  // namespace

std::optional<std::string> decimal_text(std::string_view twos_complement) {
  const bool is_negative = !twos_complement.empty() && (twos_complement.back() & 0x80) != 0;
  while (twos_complement.size() > 1 && twos_complement.back() == (is_negative ? '\xff' : '\0') &&
         ((twos_complement[twos_complement.size() - 2] & 0x80) != 0) == is_negative)
    twos_complement.remove_suffix(1);  // it only repeats the sign
  // A byte takes more than two digits, and time.
  if (twos_complement.size() > limits::integer_digits / 2) return std::nullopt;
  std::string reversed;
  for (std::vector<std::uint32_t> words = magnitude(twos_complement, is_negative); !words.empty();) {
    std::uint64_t rest = 0;
    for (auto word = words.rbegin(); word != words.rend(); ++word) {
      rest = rest << 32 | *word;
      *word = static_cast<std::uint32_t>(rest / base);
      rest %= base;
    }
    while (!words.empty() && words.back() == 0) words.pop_back();
    for (std::size_t i = 0; i < digits_of_base && (rest != 0 || !words.empty()); ++i, rest /= 10)
      reversed.push_back(static_cast<char>('0' + rest % 10));
  }
  if (reversed.size() > limits::integer_digits) return std::nullopt;
  if (reversed.empty()) reversed = "0";
  if (is_negative) reversed.push_back('-');
  return std::string(reversed.rbegin(), reversed.rend());
}

}  // namespace ckpt
