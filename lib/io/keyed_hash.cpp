#include "io/keyed_hash.h"

#include <sys/random.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstring>

#include "io/bytes.h"

namespace ckpt {
namespace {

using Key = std::array<std::uint64_t, 2>;

Key make_key() {
  Key key{};
  if (::getrandom(key.data(), sizeof key, GRND_NONBLOCK) == sizeof key) return key;
  // Where the system has no random bytes yet, what no file can know will do.
  key[0] = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  key[1] = reinterpret_cast<std::uintptr_t>(&key);
  return key;
}

struct State {
  std::uint64_t a, b, c, d;

  void round() {
    a += b, c += d;
    b = std::rotl(b, 13) ^ a, d = std::rotl(d, 16) ^ c;
    a = std::rotl(a, 32);
    c += b, a += d;
    b = std::rotl(b, 17) ^ c, d = std::rotl(d, 21) ^ a;
    c = std::rotl(c, 32);
  }

  void take(std::uint64_t word) {
    d ^= word;
    round();
    a ^= word;
  }
};

}  // namespace

std::size_t KeyedHash::operator()(std::string_view text) const noexcept {
  static const Key key = make_key();
  State state{key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261,
              key[1] ^ 0x7465646279746573};
  const std::size_t whole = text.size() / 8 * 8;
  for (std::size_t i = 0; i < whole; i += 8) state.take(load_le<std::uint64_t>(as_bytes(text).data() + i));
  std::uint64_t last = 0;
  if (text.size() != whole) std::memcpy(&last, text.data() + whole, text.size() - whole);
  state.take(last | std::uint64_t{text.size()} << 56);
  state.c ^= 0xff;
  for (int i = 0; i < 3; ++i) state.round();
  return state.a ^ state.b ^ state.c ^ state.d;
}

}  // namespace ckpt
