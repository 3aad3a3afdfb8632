#include "io/deflater.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "io_testing.h"

namespace ckpt {
namespace {

using io_testing::Bytes;
using io_testing::patchwork;
using io_testing::random_bytes;

TEST(Deflater, makes_the_same_of_a_piece_whatever_came_before_and_behind) {
  const Bytes bytes = patchwork();
  for (int level = 1; level <= 9; ++level) {
    const auto used = make_deflater(level);
    Bytes again;
    for (std::size_t at = 0; at + 200'000 <= bytes.size(); at += 100'000) {
      const auto piece = std::span(bytes).subspan(at, 200'000);
      Bytes fresh, apart(piece.begin(), piece.end());  // where other bytes follow it
      apart.resize(apart.size() + 1000, std::byte{7});
      fresh.resize(make_deflater(level)->deflate(std::span(apart).first(piece.size()), fresh, 0));
      static_cast<void>(used->deflate(piece.first(at % 300'000 / 100), again, 0));
      const std::size_t count = used->deflate(piece, again, 0);
      ASSERT_EQ(Bytes(again.begin(), again.begin() + static_cast<std::ptrdiff_t>(count)), fresh)
          << level << " at " << at;
    }
  }
}

// What ISA-L's levels 1 and 2 miss at the third byte has to be the same for every place that a compressor has in
// memory.
TEST(Deflater, makes_the_same_of_a_piece_wherever_it_is_itself) {
  constexpr std::size_t length = 400, begin = 6;  // what stands first comes again at the end
  constexpr int pieces = 10'000;
  const Bytes bytes = random_bytes(pieces * begin);
  Bytes piece = random_bytes(length, 2);
  for (const int level : {1, 2, 3}) {
    const auto one = make_deflater(level);
    const Bytes between(1'000'000);
    const auto other = make_deflater(level);
    Bytes from_one, from_other;
    for (std::size_t i = 0; i < pieces; ++i) {
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(i * begin), begin, piece.begin());
      std::copy_n(piece.begin(), begin, piece.begin() + 300);
      const std::size_t count = one->deflate(piece, from_one, 0);
      ASSERT_EQ(other->deflate(piece, from_other, 0), count) << level << ", piece " << i;
      ASSERT_TRUE(
          std::equal(from_one.begin(), from_one.begin() + static_cast<std::ptrdiff_t>(count), from_other.begin()))
          << level << ", piece " << i;
    }
  }
}

}  // namespace
}  // namespace ckpt
