#include "io/keyed_hash.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

#include "io/bytes.h"

namespace ckpt {
namespace {

TEST(KeyedHash, IsTheSameForTheSameText) {
  const std::string text = "layers.0.weight";
  EXPECT_EQ(KeyedHash()(text), KeyedHash()(std::string(text)));
}

TEST(KeyedHash, TellsTextsApart) {
  std::set<std::size_t> hashes;
  std::string text;
  for (int length = 0; length < 40; ++length, text += '\0') hashes.insert(KeyedHash()(text));
  for (int i = 0; i < 10'000; ++i) hashes.insert(KeyedHash()("layers." + std::to_string(i) + ".weight"));
  EXPECT_EQ(hashes.size(), 10'040U);
}

/// The eight bytes of which MurmurHash64A, std::hash of libstdc++, makes `mixed`.
std::string block(std::uint64_t mixed) {
  constexpr std::uint64_t factor = 0xc6a4a7935bd1e995;
  std::uint64_t inverse = factor;  // modulo 2^64; each step doubles the bits that are right
  for (int i = 0; i < 6; ++i) inverse *= 2 - factor * inverse;
  mixed *= inverse;
  std::string bytes;
  append_le(bytes, (mixed ^ mixed >> 47) * inverse);
  return bytes;
}

TEST(KeyedHash, TextsThatAreMadeToCollideDoNot) {
  std::set<std::size_t> standard, keyed;
  for (unsigned choice = 0; choice < 256; ++choice) {
    std::string text;
    for (unsigned pair = 0; pair < 8; ++pair)
      for (unsigned half = 0; half < 2; ++half)
        text += block((2 * pair + half + 1) | std::uint64_t{choice >> pair & 1} << 63);
    standard.insert(std::hash<std::string>()(text));
    keyed.insert(KeyedHash()(text));
  }
#ifdef __GLIBCXX__
  EXPECT_EQ(standard.size(), 1U) << "the texts do not even collide where they were made to";
#endif
  EXPECT_EQ(keyed.size(), 256U);
}

}  // namespace
}  // namespace ckpt
