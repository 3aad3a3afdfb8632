#include "io/gunzip_damaged.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "io/inflate.h"
#include "io/io_testing.h"

namespace ckpt {
namespace {

using io_testing::Bytes;
using io_testing::gzipped;
using io_testing::joined;
using io_testing::random_bytes;
using io_testing::read_in_steps;

struct Inflated {
  Faults faults = std::make_shared<FaultList>();
  ByteSourcePtr source;
  Bytes bytes;

  explicit Inflated(const Bytes& compressed) : source(gunzip_damaged(memory_source(compressed, "test.gz"), faults)) {
    bytes.resize(static_cast<std::size_t>(source->size()));
    EXPECT_EQ(source->read_at(0, bytes), bytes.size());
  }
  [[nodiscard]] std::string fault() const {
    return faults->faults().empty() ? "" : std::string(faults->faults().front().what());
  }
};

bool begins_with(const Bytes& whole, const Bytes& part) {
  return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
}

TEST(GunzipDamaged, ReadsASoundStream) {
  const Bytes bytes = random_bytes(300'000);
  const Inflated inflated(gzipped(bytes));
  EXPECT_EQ(inflated.bytes, bytes);
  EXPECT_EQ(inflated.fault(), "");
}

TEST(GunzipDamaged, EndsWhereTheStreamIsCut) {
  const Bytes bytes = random_bytes(300'000);
  Bytes compressed = gzipped(bytes);
  compressed.resize(compressed.size() / 2);
  const Inflated inflated(compressed);
  EXPECT_GT(inflated.bytes.size(), bytes.size() / 3);
  EXPECT_TRUE(begins_with(bytes, inflated.bytes));
  EXPECT_NE(inflated.fault().find("the deflate stream is cut off"), std::string::npos) << inflated.fault();
  EXPECT_EQ(inflated.faults->faults().size(), 1U);  // however often it is met
}

TEST(GunzipDamaged, GoesOnBehindAChecksumThatDoesNotMatch) {
  const Bytes first = random_bytes(1000, 1), second = random_bytes(1000, 2);
  Bytes compressed = gzipped(first);
  compressed[compressed.size() - 6] ^= std::byte{1};
  const Inflated inflated(joined({compressed, gzipped(second)}));
  EXPECT_EQ(inflated.bytes, joined({first, second}));
  EXPECT_NE(inflated.fault().find("its bytes have CRC-32"), std::string::npos);
}

/// Each is told at least once, and not compared with all the others.
TEST(GunzipDamaged, TellsTheFirstOfVeryManyFaults) {
  Bytes member = gzipped(random_bytes(20)), compressed;
  member[member.size() - 6] ^= std::byte{1};
  constexpr std::size_t count = 100'000;
  for (std::size_t i = 0; i < count; ++i) compressed.insert(compressed.end(), member.begin(), member.end());
  const Inflated inflated(compressed);
  EXPECT_EQ(inflated.bytes.size(), 20 * count);
  EXPECT_EQ(inflated.faults->faults().size(), FaultList::most);
  EXPECT_TRUE(inflated.faults->goes_on());
}

TEST(GunzipDamaged, IsReadAgainFromItsBeginning) {
  const Bytes bytes = random_bytes(300'000);
  Bytes compressed = gzipped(bytes);
  compressed.resize(compressed.size() - 20);
  const Inflated inflated(compressed);
  EXPECT_EQ(read_in_steps(*inflated.source, 777), inflated.bytes);
}

/// `count` times the letter a in one block of fixed codes, then a code that stands for nothing, and more behind it.
Bytes with_invalid_symbol(std::size_t count) {
  Bytes bytes(10);
  const unsigned char header[]{0x1f, 0x8b, 8};
  std::transform(std::begin(header), std::end(header), bytes.begin(), [](unsigned char c) { return std::byte{c}; });
  unsigned bits = 0b011, held = 3;  // the last block, of fixed codes
  const auto put = [&](unsigned code) {
    for (unsigned bit = 8; bit-- > 0;) bits |= ((code >> bit) & 1U) << held++;
    bytes.push_back(static_cast<std::byte>(bits));
    bits >>= 8;
    held -= 8;
  };
  for (std::size_t i = 0; i < count; ++i) put(0x91);
  for (int i = 0; i < 300; ++i) put(0xc6);
  return bytes;
}

/// ISA-L then says that there is less room left than there is, which was taken for bytes that it had given; and what it
/// had inflated and had no room for, it keeps.
TEST(GunzipDamaged, EndsWhereASymbolIsInvalidHoweverLittleRoomIsLeft) {
  for (const std::size_t count : {1U, 1000U, 130'560U, 130'700U, 130'800U, 130'900U, 131'000U, 131'071U, 131'072U,
                                  140'000U, 262'144U, 262'145U, 293'144U, 300'000U, 524'287U, 600'000U}) {
    const Inflated inflated(with_invalid_symbol(count));
    EXPECT_EQ(inflated.bytes, Bytes(count, std::byte{'a'})) << count;
    EXPECT_EQ(read_in_steps(*inflated.source, 777), inflated.bytes) << count;
    EXPECT_NE(inflated.fault().find("a deflate block holds an invalid symbol"), std::string::npos) << inflated.fault();
  }
}

TEST(GunzipDamaged, SoDoesAMemberOfAnArchive) {
  const Bytes bytes = random_bytes(5000);
  Bytes compressed = gzipped(bytes);
  compressed.erase(compressed.begin(), compressed.begin() + 10);  // what is left is raw deflate, and gzip's trailer
  compressed.resize(compressed.size() / 2);
  const auto faults = std::make_shared<FaultList>();
  const auto member = inflate_raw(memory_source(compressed, "z"), 5000, "member", std::nullopt, faults);
  EXPECT_LT(member->size(), 5000U);
  EXPECT_TRUE(begins_with(bytes, read_in_steps(*member, 100)));
  EXPECT_EQ(faults->faults().size(), 1U);
}

}  // namespace
}  // namespace ckpt
