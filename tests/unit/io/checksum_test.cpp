#include "io/checksum.h"

#include "io/io_testing.h"

namespace ckpt {
namespace {

TEST(Crc32, OfTheRestFollowsFromTheWholeAndTheHeadAndThatFromBoth) {
  const auto bytes = io_testing::random_bytes(70000);
  const std::span<const std::byte> all(bytes);
  for (const std::size_t head : {std::size_t{0}, std::size_t{1}, std::size_t{128}, std::size_t{65536}, bytes.size()}) {
    const auto rest = all.subspan(head);
    EXPECT_EQ(crc32_of_rest(crc32(0, all), crc32(0, all.first(head)), rest.size()), crc32(0, rest)) << head;
    EXPECT_EQ(crc32_of_both(crc32(0, all.first(head)), crc32(0, rest), rest.size()), crc32(0, all)) << head;
  }
}

TEST(Crc32, TellsWhichBitAloneIsAnotherOne) {
  auto bytes = io_testing::random_bytes(300);
  const std::uint32_t recorded = crc32(0, bytes);
  const auto flip = [&](std::uint64_t bit) { bytes[bit / 8] ^= std::byte{1} << (bit % 8); };
  for (std::uint64_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    flip(bit);
    EXPECT_EQ(flipped_bit(crc32(0, bytes), recorded, bytes.size()), bit);
    flip(bit);
  }
  EXPECT_EQ(flipped_bit(recorded, recorded, bytes.size()), std::nullopt);
  flip(7), flip(1000);
  EXPECT_EQ(flipped_bit(crc32(0, bytes), recorded, bytes.size()), std::nullopt);
  EXPECT_EQ(flipped_bit(1, 0, 0), std::nullopt);
}

}  // namespace
}  // namespace ckpt
