#include <gtest/gtest.h>

#include <map>

#include "ckpt/error.h"
#include "container/zip_reader.h"
#include "io/bytes.h"
#include "io/checksum.h"
#include "zip_builder.h"

namespace ckpt {
namespace {

using zip_testing::build_zip;
using zip_testing::source_of;
using zip_testing::text_of;
using zip_testing::ZipPart;

const std::map<std::string, std::string> contents{
    {"r/data.pkl", "hello"}, {"r/data/0", "worlds"}, {"r/version", "3\n"}};

std::string small_archive() {
  const std::string worlds = "worlds";
  return build_zip({{.name = "r/data.pkl",
                     .data = "hello",
                     .flags = 0x800,
                     .descriptor = true,
                     .local_extra = std::string("FB\x05\0ZZZZZ", 9)},
                    {.name = "r/data/0",
                     .data = zip_testing::deflate_stored(worlds),
                     .method = 8,
                     .inflated_size = worlds.size(),
                     .inflated_crc = crc32(0, as_bytes(worlds))},
                    {.name = "r/version", .data = "3\n"}},
                   {.zip64 = true});
}

std::map<std::string, std::string> read_everything(const std::string& bytes) {
  const ZipReader zip = ZipReader::open(source_of(bytes));
  std::map<std::string, std::string> all;
  for (const ZipMember& member : zip.members()) all[member.name] = text_of(*zip.read(member));
  return all;
}

TEST(ZipDamage, TheUndamagedArchiveReads) { EXPECT_EQ(read_everything(small_archive()), contents); }

TEST(ZipDamage, EachTruncationIsRefused) {
  const std::string whole = small_archive();
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THROW(ZipReader::open(source_of(whole.substr(0, size))), Error) << "cut at " << size;
}

TEST(ZipDamage, NoFlippedBitIsReadAsOtherContent) {
  const std::string whole = small_archive();
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    try {
      EXPECT_EQ(read_everything(damaged), contents) << "bit " << bit;
    } catch (const Error&) {
      // Refused: the only other thing that may happen.
    }
  }
}

TEST(ZipDamage, FaultsOfMembersAreNotedAndTheRestIsListed) {
  std::vector<Finding> findings;
  ReadContext context;
  context.findings = &findings;
  const ZipReader zip = ZipReader::open(source_of(build_zip({{.name = "good", .data = "1"},
                                                             {.name = "../up", .data = "2"},
                                                             {.name = "locked", .data = "3", .flags = 1},
                                                             {.name = "sum", .data = "4", .local_crc = 9},
                                                             {.name = "GOOD", .data = "5"}})),
                                        context);
  std::vector<std::string> where;
  for (const Finding& finding : findings) where.push_back(finding.where);
  EXPECT_EQ(where, (std::vector<std::string>{"../up", "locked", "sum", "GOOD"}));
  std::vector<std::string> listed;
  for (const ZipMember& member : zip.members()) listed.push_back(member.name);
  EXPECT_EQ(listed, (std::vector<std::string>{"good", "../up", "sum", "GOOD"}));
  EXPECT_EQ(text_of(*zip.read(*zip.find("good"))), "1");
}

TEST(ZipDamage, ThousandsOfMembersOpen) {
  std::vector<ZipPart> parts;
  for (int i = 0; i < 20000; ++i)
    parts.push_back({.name = "root/data/" + std::to_string(i), .data = std::to_string(i)});
  const ZipReader zip = ZipReader::open(source_of(build_zip(parts)));
  ASSERT_EQ(zip.members().size(), parts.size());
  for (int i = 0; i < 20000; i += 997) {
    const ZipMember* member = zip.find("root/data/" + std::to_string(i));
    ASSERT_NE(member, nullptr);
    EXPECT_EQ(text_of(*zip.read(*member)), std::to_string(i));
  }
}

}  // namespace
}  // namespace ckpt
