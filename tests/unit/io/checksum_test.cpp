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

}  // namespace
}  // namespace ckpt
