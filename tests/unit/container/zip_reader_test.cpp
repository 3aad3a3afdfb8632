#include "container/zip_reader.h"

#include <gtest/gtest.h>

#include "ckpt/error.h"
#include "io/bytes.h"
#include "io/checksum.h"
#include "zip_builder.h"

namespace ckpt {
namespace {

using zip_testing::build_zip;
using zip_testing::source_of;
using zip_testing::text_of;
using zip_testing::ZipPart;
using zip_testing::ZipShape;

ZipReader open(const std::string& bytes) { return ZipReader::open(source_of(bytes)); }

std::string text(const ZipReader& zip, std::string_view name) { return text_of(*zip.read(*zip.find(name))); }

ZipPart deflated(const std::string& name, const std::string& data) {
  return {.name = name,
          .data = zip_testing::deflate_stored(data),
          .method = 8,
          .inflated_size = data.size(),
          .inflated_crc = crc32(0, as_bytes(data))};
}

TEST(ZipReader, ReadsStoredMembers) {
  const ZipReader zip = open(build_zip({{.name = "a/x", .data = "hello"}, {.name = "a/y", .data = ""}}));
  ASSERT_EQ(zip.members().size(), 2U);
  EXPECT_EQ(text(zip, "a/x"), "hello");
  EXPECT_EQ(text(zip, "a/y"), "");
  EXPECT_EQ(zip.trailing_bytes(), 0U);
}

TEST(ZipReader, FindsNothingUnderAnUnknownName) { EXPECT_EQ(open(build_zip({{.name = "a"}})).find("A"), nullptr); }

TEST(ZipReader, ReadsADeflatedMember) { EXPECT_EQ(text(open(build_zip({deflated("d", "hello")})), "d"), "hello"); }

TEST(ZipReader, NamesTheMemberInErrors) {
  const ZipReader zip = open(build_zip({{.name = "w", .data = "hello", .crc = 1}}));
  try {
    text(zip, "w");
    FAIL() << "a wrong CRC was accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::corrupt);
    EXPECT_NE(std::string(e.what()).find("test.zip: member 'w'"), std::string::npos) << e.what();
  }
}

TEST(ZipReader, TakesADescriptorWithLocalZeros) {
  EXPECT_EQ(text(open(build_zip({{.name = "a", .data = "hello", .descriptor = true}})), "a"), "hello");
}

TEST(ZipReader, TakesADescriptorWithLocalOnes) {
  EXPECT_EQ(text(open(build_zip({{.name = "a", .data = "hello", .descriptor = true, .placeholder = 0xffffffff}})), "a"),
            "hello");
}

TEST(ZipReader, TakesADescriptorWithLocalValues) {
  const ZipPart part{.name = "a",
                     .data = "hello",
                     .descriptor = true,
                     .local_crc = crc32(0, as_bytes("hello")),
                     .local_size = 5,
                     .local_compressed_size = 5};
  EXPECT_EQ(text(open(build_zip({part})), "a"), "hello");
}

TEST(ZipReader, TakesADescriptorOfAnyWidthWithASignatureOrWithout) {
  const std::string deflated = zip_testing::deflate_stored("hello");
  const std::uint32_t crc = crc32(0, as_bytes("hello"));
  for (const bool is_stored : {true, false})
    for (const bool is_wide : {true, false})
      for (const bool has_signature : {true, false})
        for (const char* const gap : {"", "gap", "thirty bytes before the next header"}) {
          ZipPart part{.name = "a", .data = is_stored ? "hello" : deflated, .descriptor = true};
          part.descriptor_bytes = zip_testing::descriptor_of({.crc = crc,
                                                              .compressed_size = part.data.size(),
                                                              .size = 5,
                                                              .has_signature = has_signature,
                                                              .is_wide = is_wide});
          if (!is_stored) {
            part.method = 8;
            part.inflated_size = 5;
            part.inflated_crc = crc;
          }
          EXPECT_EQ(text(open(build_zip({part, {.name = "b", .gap = gap}})), "a"), "hello");
        }
}

TEST(ZipReader, AllowsGapsBetweenMembers) {
  const ZipReader zip =
      open(build_zip({{.name = "a", .data = "1"}, {.name = "b", .data = "2", .gap = std::string(9000, 'g')}}));
  EXPECT_EQ(text(zip, "b"), "2");
}

TEST(ZipReader, ListsMembersInTheOrderOfTheirData) {
  // The directory's order is turned round by exchanging where its two entries point.
  const auto second = static_cast<std::uint32_t>(30 + 1 + 1);
  const ZipReader zip = open(build_zip({{.name = "b", .data = "1", .local_name = "a", .offset = second},
                                        {.name = "a", .data = "1", .local_name = "b", .offset = 0}}));
  ASSERT_EQ(zip.members().size(), 2U);
  EXPECT_EQ(zip.members()[0].name, "a");
  EXPECT_EQ(zip.members()[1].name, "b");
  EXPECT_EQ(zip.find("b"), &zip.members()[1]);
}

TEST(ZipReader, LeavesOutEmptyFolders) {
  const ZipReader zip = open(build_zip({{.name = "a/"}, {.name = "a/x", .data = "1"}}));
  ASSERT_EQ(zip.members().size(), 1U);
  EXPECT_EQ(zip.members()[0].name, "a/x");
}

TEST(ZipReader, AllowsAComment) {
  EXPECT_EQ(text(open(build_zip({{.name = "a", .data = "1"}}, {.comment = std::string(65535, 'c')})), "a"), "1");
}

TEST(ZipReader, CountsBytesAfterTheArchive) {
  const ZipReader zip = open(build_zip({{.name = "a", .data = "1"}}, {.comment = "note", .after = "some junk"}));
  EXPECT_EQ(zip.trailing_bytes(), 9U);
  EXPECT_EQ(text(zip, "a"), "1");
}

TEST(ZipReader, IsNotMisledByAnArchiveStoredAsAMember) {
  const ZipReader zip = open(build_zip({{.name = "inner.zip", .data = build_zip({{.name = "evil", .data = "2"}})}}));
  EXPECT_NE(zip.find("inner.zip"), nullptr);
}

TEST(ZipReader, ReadsZip64EndRecords) {
  const ZipShape shape{.zip64 = true, .count = 0xffff, .directory_offset = 0xffffffff, .directory_size = 0xffffffff};
  EXPECT_EQ(text(open(build_zip({{.name = "a", .data = "1"}}, shape)), "a"), "1");
}

TEST(ZipReader, ReadsZip64FieldsOfTheDirectory) {
  const std::uint64_t values[] = {5, 5, 0};
  const ZipPart part{.name = "a",
                     .data = "hello",
                     .central_extra = zip_testing::zip64_field(values),
                     .size = 0xffffffff,
                     .compressed_size = 0xffffffff,
                     .offset = 0xffffffff};
  EXPECT_EQ(text(open(build_zip({part})), "a"), "hello");
}

TEST(ZipReader, ReadsOnlyThoseZip64FieldsThatAreAllOnes) {
  const std::uint64_t values[] = {5};  // the compressed size alone
  const ZipPart part{
      .name = "a", .data = "hello", .central_extra = zip_testing::zip64_field(values), .compressed_size = 0xffffffff};
  EXPECT_EQ(text(open(build_zip({part})), "a"), "hello");
}

TEST(ZipReader, ReadsZip64FieldsOfLocalHeaders) {
  const std::uint64_t values[] = {5, 5};
  const ZipPart part{.name = "a",
                     .data = "hello",
                     .local_extra = zip_testing::zip64_field(values),
                     .local_size = 0xffffffff,
                     .local_compressed_size = 0xffffffff};
  EXPECT_EQ(text(open(build_zip({part})), "a"), "hello");
}

TEST(ZipReader, OpensAnEmptyArchive) {
  EXPECT_TRUE(open(build_zip({})).members().empty());
  EXPECT_TRUE(open(build_zip({}, {.zip64 = true})).members().empty());
  EXPECT_TRUE(open(build_zip({})).has_checksums());
}

TEST(ZipReader, HasNoChecksumsWhereEveryMemberRecordsZero) {
  const ZipReader zip =
      open(build_zip({{.name = "a", .data = "1", .crc = 0}, {.name = "b", .data = "2", .crc = 0}, {.name = "e"}}));
  EXPECT_FALSE(zip.has_checksums());
  EXPECT_EQ(text(zip, "a"), "1");
  EXPECT_EQ(zip.read(*zip.find("a"))->recorded_crc32(), std::nullopt);
}

/// As torch.serialization.skip_data() leaves storages, to be filled later.
TEST(ZipReader, ZeroIsNoChecksumAmongOthersEither) {
  const ZipReader zip = open(build_zip({{.name = "a", .data = "1"}, {.name = "b", .data = "2", .crc = 0}}));
  EXPECT_TRUE(zip.has_checksums());
  EXPECT_EQ(zip.unchecked(), 1);
  EXPECT_EQ(text(zip, "b"), "2");
  EXPECT_EQ(archive_warnings(zip).size(), 1U);
}

TEST(ZipReader, KeepsNamesAsTheyAre) {
  const ZipReader zip =
      open(build_zip({{.name = "gew\x81hr", .data = "1"}, {.name = "größe", .data = "2", .flags = 0x800}}));
  EXPECT_EQ(text(zip, "gew\x81hr"), "1");
  EXPECT_EQ(text(zip, "größe"), "2");
}

TEST(ZipReader, StaysWholeWhenMoved) {
  ZipReader zip = open(build_zip({{.name = "a", .data = "1"}, {.name = "b", .data = "2"}}));
  const ZipReader moved = std::move(zip);
  EXPECT_EQ(text(moved, "b"), "2");
}

TEST(IsZip, KnowsArchivesByTheirFirstBytes) {
  EXPECT_TRUE(is_zip(*source_of(build_zip({{.name = "a"}}))));
  EXPECT_TRUE(is_zip(*source_of(build_zip({}))));
  EXPECT_TRUE(is_zip(*source_of(build_zip({}, {.zip64 = true}))));
  EXPECT_FALSE(is_zip(*source_of("")));
  EXPECT_FALSE(is_zip(*source_of("PK\3")));
  EXPECT_FALSE(is_zip(*source_of("\x80\x02}q.")));
}

}  // namespace
}  // namespace ckpt
