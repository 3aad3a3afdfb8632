#include "io/swapped_source.h"

#include <gtest/gtest.h>

#include "io/checksum.h"
#include "io_testing.h"

namespace ckpt {
namespace {

using io_testing::Bytes;
using io_testing::error_of;

ByteSourcePtr swapped_with_crc(const Bytes& bytes, std::uint32_t crc, std::size_t element) {
  return swapped(slice(memory_source(bytes, "x"), 0, bytes.size(), SourceName("x"), crc), element);
}

Bytes read_in_pieces(const ByteSource& source, std::size_t piece) {
  Bytes out(source.size());
  for (std::size_t at = 0; at < out.size(); at += piece)
    source.read_exactly(at, std::span(out).subspan(at, std::min(piece, out.size() - at)));
  return out;
}

TEST(SwappedSource, TurnsElementsAroundWhereverReadsBegin) {
  const Bytes bytes = io_testing::random_bytes(800);
  Bytes expected = bytes;
  for (auto at = expected.begin(); at != expected.end(); at += 8) std::reverse(at, at + 8);
  const ByteSourcePtr source = swapped_with_crc(bytes, crc32(0, bytes), 8);
  for (const std::size_t piece : {1U, 7U, 8U, 13U, 800U}) EXPECT_EQ(read_in_pieces(*source, piece), expected) << piece;
}

TEST(SwappedSource, ComparesTheChecksumWhereverReadsBegin) {
  const Bytes bytes = io_testing::random_bytes(800);
  for (const std::size_t piece : {1U, 7U, 8U, 13U, 800U}) {
    const auto error = error_of([&] { read_in_pieces(*swapped_with_crc(bytes, crc32(0, bytes) ^ 1, 8), piece); });
    ASSERT_TRUE(error) << piece;
    EXPECT_EQ(error->code(), ErrorCode::corrupt);
  }
}

}  // namespace
}  // namespace ckpt
