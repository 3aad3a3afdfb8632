#include "io/latin1_source.h"

#include "io/io_testing.h"

namespace ckpt {
namespace {

using io_testing::Bytes;
using io_testing::bytes_of;

/// Every byte, many times over, and what they are in UTF-8.
std::pair<Bytes, Bytes> sample(std::size_t size) {
  Bytes bytes, utf8;
  for (std::size_t i = 0; i < size; ++i) {
    const auto c = static_cast<unsigned>(i * 7 % 256);
    bytes.push_back(static_cast<std::byte>(c));
    if (c >= 0x80) utf8.push_back(static_cast<std::byte>(0xC0 | c >> 6));
    utf8.push_back(static_cast<std::byte>(c < 0x80 ? c : 0x80 | (c & 0x3F)));
  }
  return {bytes, utf8};
}

TEST(Latin1Source, GivesTheBytesThatTheTextSays) {
  const auto [bytes, utf8] = sample(300000);  // more than is read at once
  const auto source = latin1_source(memory_source(utf8, "test"));
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(source->size(), bytes.size());
  for (const std::size_t step : {300007, 4097, 333}) EXPECT_EQ(io_testing::read_in_steps(*source, step), bytes) << step;
}

TEST(Latin1Source, GoesBack) {
  const auto [bytes, utf8] = sample(10000);
  const auto source = latin1_source(memory_source(utf8, "test"));
  for (const std::uint64_t at : {9000, 5, 8999, 0}) {
    Bytes piece(100);
    source->read_exactly(at, piece);
    EXPECT_TRUE(std::equal(piece.begin(), piece.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at))) << at;
  }
}

TEST(Latin1Source, EndsWithTheText) {
  const auto source = latin1_source(memory_source(bytes_of("abc"), "test"));
  Bytes piece(10);
  EXPECT_EQ(source->read_at(1, piece), 2U);
  EXPECT_EQ(source->read_at(3, piece), 0U);
}

TEST(Latin1Source, OfOtherCharactersIsNone) {
  for (const std::string text : {"\xC4\x80", "\xE2\x82\xAC", "\xC3", "\xC3z", "\x80", "a\xC3\xA9\xA9", "\xC1\x80"})
    EXPECT_EQ(latin1_source(memory_source(bytes_of(text), "test")), nullptr);
  EXPECT_EQ(latin1_source(memory_source({}, "test"))->size(), 0U);
}

/// The first read of each byte from `broken` on fails, once.
class BreaksOnce final : public ByteSource {
 public:
  BreaksOnce(Bytes bytes, std::uint64_t broken) : ByteSource("breaks"), bytes_(std::move(bytes)), broken_(broken) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    const std::size_t count = std::min<std::uint64_t>(out.size(), size() - std::min(offset, size()));
    if (armed && offset + count > broken_) {
      armed = false;
      throw Error(ErrorCode::io, "once");
    }
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), count, out.begin());
    return count;
  }
  mutable bool armed = false;

 private:
  Bytes bytes_;
  std::uint64_t broken_;
};

TEST(Latin1Source, IsReadAgainAfterAReadThatFailed) {
  const auto [bytes, utf8] = sample(3'000'000);
  const auto broken = std::make_shared<BreaksOnce>(utf8, 4'000'000);
  const auto source = latin1_source(broken);
  Bytes read(bytes.size());
  broken->armed = true;
  EXPECT_TRUE(io_testing::error_of([&] { source->read_exactly(0, read); }));
  source->read_exactly(0, read);
  EXPECT_EQ(read, bytes);
}

}  // namespace
}  // namespace ckpt
