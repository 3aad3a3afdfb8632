#include "io/checksum.h"

#include <isa-l.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <zlib.h>

#include <array>
#include <string_view>

#include "ckpt/error.h"
#include "io/stream.h"

namespace ckpt {
namespace {

std::string hexadecimal(std::span<const unsigned char> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (unsigned char byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 0xf];
  }
  return text;
}

}  // namespace

std::string hexadecimal(std::uint32_t value) {
  const std::array<unsigned char, 4> bytes{static_cast<unsigned char>(value >> 24),
                                           static_cast<unsigned char>(value >> 16),
                                           static_cast<unsigned char>(value >> 8), static_cast<unsigned char>(value)};
  return hexadecimal(bytes);
}

std::uint32_t crc32(std::uint32_t crc, std::span<const std::byte> bytes) {
  if (bytes.empty()) return crc;
  return crc32_gzip_refl(crc, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

// CRC-32 is linear: that of head and rest is that of the head, moved past the rest, plus that of the rest.
std::uint32_t crc32_of_rest(std::uint32_t whole, std::uint32_t head, std::uint64_t rest) {
  return whole ^ crc32_of_both(head, 0, rest);
}

std::uint32_t crc32_of_both(std::uint32_t head, std::uint32_t rest, std::uint64_t count) {
  return static_cast<std::uint32_t>(crc32_combine(head, rest, static_cast<z_off_t>(count)));
}

// What a bit changes, each bit behind it moves on by one step of the polynomial's shift register.
std::optional<std::uint64_t> flipped_bit(std::uint32_t found, std::uint32_t recorded, std::uint64_t count) {
  constexpr std::uint32_t polynomial = 0xEDB88320;
  std::uint32_t change = 1;
  for (std::uint64_t bit = 8 * count; bit-- > 0;) {
    change = (change >> 1) ^ ((change & 1) != 0 ? polynomial : 0);
    if (change == (found ^ recorded)) return bit;
  }
  return std::nullopt;
}

struct Sha256::State {
  struct Free {
    void operator()(EVP_MD_CTX* ended) const { EVP_MD_CTX_free(ended); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};
};

namespace {

void require(int result) {
  if (result != 1) throw Error(ErrorCode::unavailable, "OpenSSL refused to compute SHA-256");
}

}  // namespace

Sha256::Sha256() : state_(std::make_unique<State>()) {
  // OpenSSL 3 reads through null pointers later where it found no memory for its own tables.
  if (OSSL_LIB_CTX_get0_global_default() == nullptr) throw Error(ErrorCode::out_of_memory, "no memory for OpenSSL");
  // EVP_sha256() would be looked up by its name for every tensor.
  static const std::unique_ptr<EVP_MD, void (*)(EVP_MD*)> algorithm(EVP_MD_fetch(nullptr, "SHA256", nullptr),
                                                                    EVP_MD_free);
  const bool ready = state_->context != nullptr && algorithm != nullptr;
  require(ready ? EVP_DigestInit_ex(state_->context.get(), algorithm.get(), nullptr) : 0);
}

Sha256::~Sha256() = default;

void Sha256::update(std::span<const std::byte> bytes) {
  require(EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()));
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  require(EVP_DigestFinal_ex(state_->context.get(), digest.data(), &length));
  return hexadecimal(std::span(digest).first(length));
}

void check_recorded_crc32(const ByteSource& source, std::uint32_t computed) {
  const std::optional<std::uint32_t> recorded = source.recorded_crc32();
  if (!recorded || *recorded == computed) return;
  throw Error(ErrorCode::corrupt, "the bytes have CRC-32 " + hexadecimal(computed))
      .expected(hexadecimal(*recorded) + " as recorded")
      .in(source.name());
}

std::string sha256_of(const ByteSource& source) {
  Sha256 digest;
  stream_all(source, [&](std::span<const std::byte> bytes) { digest.update(bytes); });
  return digest.hex();
}

}  // namespace ckpt
