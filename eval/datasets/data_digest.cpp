#include <openssl/evp.h>

#include <array>
#include <bit>
#include <memory>

#include "ckpt/error.h"
#include "datasets/dataset.h"

namespace ckpt::eval {
namespace {

constexpr std::size_t words = 4;
constexpr std::size_t word_digits = 16;
using Words = std::array<std::uint64_t, words>;

/// SHA-256 of one message after another.
class Sha256 {
 public:
  Sha256() : kind_(EVP_MD_fetch(nullptr, "SHA256", nullptr), EVP_MD_free), state_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {}

  void begin() { expect(EVP_DigestInit_ex(state_.get(), kind_.get(), nullptr)); }
  void update(const void* bytes, std::size_t size) { expect(EVP_DigestUpdate(state_.get(), bytes, size)); }
  /// The digest as a number, the first byte the most significant.
  Words end() {
    std::array<unsigned char, words * sizeof(std::uint64_t)> digest{};
    expect(EVP_DigestFinal_ex(state_.get(), digest.data(), nullptr));
    Words number{};
    for (std::size_t i = 0; i < digest.size(); ++i) {
      std::uint64_t& word = number[words - 1 - i / sizeof(std::uint64_t)];
      word = word << 8 | digest[i];
    }
    return number;
  }

 private:
  static void expect(int succeeded) {
    if (succeeded != 1) throw Error(ErrorCode::unavailable, "OpenSSL gives no SHA-256");
  }

  std::unique_ptr<EVP_MD, decltype(&EVP_MD_free)> kind_;
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> state_;
};

/// Modulo 2^256.
void add_to(std::uint64_t* sum, const std::uint64_t* number) {
  unsigned carry = 0;
  for (std::size_t i = 0; i < words; ++i) {
    std::uint64_t with_carry;
    const bool first = __builtin_add_overflow(sum[i], carry, &with_carry);
    const bool second = __builtin_add_overflow(with_carry, number[i], &sum[i]);
    carry = first || second ? 1 : 0;
  }
}

}  // namespace

void DataDigest::add(const Samples& samples, std::size_t positions) {
  static_assert(std::endian::native == std::endian::little);
  if (samples.count == 0) return;
  Sha256 hash;
  const std::string_view name = dtype_name(samples.dtype);
  const std::size_t input = samples.inputs.size() / static_cast<std::size_t>(samples.count);
  for (std::size_t i = 0; i < samples.count; ++i) {
    const std::uint64_t index = samples.first + i;
    hash.begin();
    hash.update(&index, sizeof index);
    hash.update(name.data(), name.size());
    hash.update(samples.inputs.data() + i * input, input);
    hash.update(samples.labels.data() + i * positions, positions * sizeof(std::int32_t));
    add_to(words_, hash.end().data());
  }
}

DataDigest& DataDigest::operator+=(const DataDigest& other) {
  add_to(words_, other.words_);
  return *this;
}

std::string DataDigest::text() const {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (std::size_t word = words; word-- > 0;)
    for (std::size_t shift = word_digits; shift-- > 0;) text += digits[words_[word] >> (4 * shift) & 15];
  return text;
}

DataDigest DataDigest::from_text(const std::string& digits) {
  constexpr std::string_view known = "0123456789abcdef";
  if (digits.size() != words * word_digits || digits.find_first_not_of(known) != std::string::npos)
    throw Error(ErrorCode::corrupt, "'" + digits.substr(0, 80) + "' is no digest").expected("64 hexadecimal digits");
  DataDigest digest;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    std::uint64_t& word = digest.words_[words - 1 - i / word_digits];
    word = word << 4 | known.find(digits[i]);
  }
  return digest;
}

}  // namespace ckpt::eval
