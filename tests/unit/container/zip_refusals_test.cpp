#include <gtest/gtest.h>

#include "ckpt/error.h"
#include "container/zip_format.h"
#include "container/zip_reader.h"
#include "io/bytes.h"
#include "io/checksum.h"
#include "io/io_testing.h"
#include "zip_builder.h"

namespace ckpt {
namespace {

using zip_testing::build_zip;
using zip_testing::source_of;
using zip_testing::ZipPart;
using zip_testing::ZipShape;

// What opening `bytes` says; the code must be `code`.
std::string refusal(const std::string& bytes, ErrorCode code) {
  try {
    ZipReader::open(source_of(bytes));
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_EQ(e.file(), "test.zip");
    return e.what();
  }
  ADD_FAILURE() << "the archive was accepted";
  return "";
}

void refuses(const std::string& bytes, ErrorCode code, const std::string& words) {
  const std::string said = refusal(bytes, code);
  EXPECT_NE(said.find(words), std::string::npos) << said;
}

void refuses_member(const ZipPart& part, ErrorCode code, const std::string& words) {
  refuses(build_zip({part}), code, words);
}

void refuses_name(const std::string& name, const std::string& words) {
  refuses_member({.name = name, .data = "x"}, ErrorCode::corrupt, words);
}

const ZipPart plain{.name = "a", .data = "hello"};

TEST(ZipRefuses, DuplicateNames) { refuses(build_zip({plain, plain}), ErrorCode::corrupt, "two members named 'a'"); }

TEST(ZipRefuses, NamesEqualButForCase) {
  refuses(build_zip({{.name = "Data.pkl"}, {.name = "b"}, {.name = "data.PKL"}}), ErrorCode::corrupt,
          "equal but for case");
}

TEST(ZipRefuses, AnEmptyName) { refuses_name("", "without a name"); }
TEST(ZipRefuses, AnAbsoluteName) { refuses_name("/etc/passwd", "absolute path"); }
TEST(ZipRefuses, ADriveLetter) { refuses_name("c:/x", "absolute path"); }
TEST(ZipRefuses, ABackslash) { refuses_name("a\\b", "backslash"); }
TEST(ZipRefuses, ANulInAName) { refuses_name(std::string("a\0b", 3), "NUL"); }

TEST(ZipRefuses, AParentPath) {
  refuses_name("..", "'..'");
  refuses_name("a/../b", "'..'");
  refuses_name("a/..", "'..'");
  refuses_name("../a", "'..'");
  EXPECT_NO_THROW(ZipReader::open(source_of(build_zip({{.name = "a/..b/c.."}}))));
}

TEST(ZipRefuses, ASymbolicLink) {
  refuses_member({.name = "a", .data = "/etc", .attributes = 0120777U << 16}, ErrorCode::corrupt, "symbolic link");
}

TEST(ZipRefuses, ADevice) { refuses_member({.name = "a", .attributes = 0060600U << 16}, ErrorCode::corrupt, "device"); }

TEST(ZipRefuses, AFolderWithBytes) {
  refuses_member({.name = "a/", .data = "x"}, ErrorCode::corrupt, "folder of 1 bytes");
}

TEST(ZipRefuses, BytesThatAnAttributeCallsAFolder) {
  refuses_member({.name = "a", .data = "x", .attributes = 0x10}, ErrorCode::corrupt, "folder of 1 bytes");
  EXPECT_NO_THROW(ZipReader::open(source_of(build_zip({{.name = "a", .attributes = 0x10}}))));
}

TEST(ZipRefuses, Encryption) {
  for (int bit : {0, 6, 13}) {
    refuses_member({.name = "a", .data = "x", .flags = static_cast<std::uint16_t>(1U << bit)}, ErrorCode::unsupported,
                   "encrypted");
  }
}

TEST(ZipRefuses, UnknownFlags) {
  refuses_member({.name = "a", .data = "x", .flags = 1U << 5}, ErrorCode::unsupported, "flags 32");
}

TEST(ZipRefuses, OtherMethodsByNumber) {
  refuses_member({.name = "a", .data = "x", .method = 12}, ErrorCode::unsupported, "method 12");
}

TEST(ZipRefuses, AnotherNameInTheLocalHeader) {
  refuses_member({.name = "a", .data = "x", .local_name = "b"}, ErrorCode::corrupt,
                 "another name in the local header of member 'a'");
  refuses_member({.name = "a", .data = "x", .local_name = "ab"}, ErrorCode::corrupt, "another name");
}

TEST(ZipRefuses, AnotherMethodInTheLocalHeader) {
  refuses_member({.name = "a", .data = "x", .local_method = 8}, ErrorCode::corrupt, "method 8 in the local header");
}

TEST(ZipRefuses, OtherFlagsInTheLocalHeader) {
  refuses_member({.name = "a", .data = "x", .local_flags = 0x800}, ErrorCode::corrupt,
                 "flags 2048 in the local header");
}

TEST(ZipRefuses, AnotherCrcInTheLocalHeader) {
  refuses_member({.name = "a", .data = "x", .local_crc = 7}, ErrorCode::corrupt, "CRC-32 7 in the local header");
}

TEST(ZipRefuses, AnotherSizeInTheLocalHeader) {
  refuses_member({.name = "a", .data = "x", .local_size = 2}, ErrorCode::corrupt, "size 2 in the local header");
  refuses_member({.name = "a", .data = "x", .local_compressed_size = 2}, ErrorCode::corrupt,
                 "compressed size 2 in the local header");
}

TEST(ZipRefuses, AnotherSizeInTheLocalHeaderInSpiteOfADescriptor) {
  refuses_member({.name = "a", .data = "hello", .descriptor = true, .local_size = 2}, ErrorCode::corrupt, "size 2");
}

TEST(ZipRefuses, ADescriptorThatContradictsTheDirectory) {
  const std::uint32_t crc = crc32(0, as_bytes("hello"));
  const auto refuses_end = [](std::string end, const std::string& words) {
    refuses_member({.name = "a", .data = "hello", .descriptor = true, .descriptor_bytes = std::move(end)},
                   ErrorCode::corrupt, words);
  };
  refuses_end(zip_testing::descriptor_of({.crc = 7, .compressed_size = 5, .size = 5}),
              "CRC-32 7 in the data descriptor of member 'a'");
  refuses_end(zip_testing::descriptor_of({.crc = crc, .compressed_size = 5, .size = 6}),
              "no data descriptor behind member 'a'");
  refuses_end(zip_testing::descriptor_of({.crc = crc, .compressed_size = 6, .size = 5}), "no data descriptor");
  refuses_end("PK\7\7" + zip_testing::descriptor_of({.crc = crc, .compressed_size = 5, .size = 5}).substr(4),
              "no data descriptor");
  refuses_end(std::string(12, 'x'), "no data descriptor");
}

TEST(ZipRefuses, OpenLocalSizesWithoutADescriptor) {
  refuses_member({.name = "a", .data = "x", .local_size = 0}, ErrorCode::corrupt, "size 0");
  refuses_member({.name = "a", .data = "x", .local_size = 0xffffffff}, ErrorCode::corrupt, "all ones");
}

TEST(ZipRefuses, AStoredMemberOfTwoSizes) {
  refuses_member({.name = "a", .data = "hello", .size = 6, .local_size = 6}, ErrorCode::corrupt, "stored in 5 bytes");
}

TEST(ZipRefuses, MoreThanDeflateCanGrow) {
  refuses_member({.name = "a", .data = "hello", .method = 8, .inflated_size = 5 * 1032 + 1}, ErrorCode::limit_exceeded,
                 "5161 bytes");
}

TEST(ZipRefuses, AMemberThatReachesIntoTheDirectory) {
  refuses_member(
      {.name = "a", .data = "hello", .size = 6, .local_size = 6, .compressed_size = 6, .local_compressed_size = 6},
      ErrorCode::corrupt, "reaches into the directory");
}

TEST(ZipRefuses, AMemberWithoutRoomForItsDescriptor) {
  ZipPart part = plain;
  part.flags = 8;
  refuses_member(part, ErrorCode::corrupt, "reaches into the directory");
}

TEST(ZipRefuses, ALocalHeaderThatIsNone) {
  refuses_member({.name = "a", .data = "hello", .offset = 1}, ErrorCode::corrupt, "no local header");
  refuses_member({.name = "a", .data = "hello", .offset = 36}, ErrorCode::corrupt, "no local header");
  refuses_member({.name = "a", .data = "hello", .offset = 0xfffffffe}, ErrorCode::corrupt, "no local header");
}

TEST(ZipRefuses, MembersThatOverlap) {
  ZipPart inner{.name = "b", .data = "x"};
  const std::string hidden = build_zip({inner}).substr(0, 32);
  inner.offset = 30 + 1;  // inside the data of the member before it
  refuses(build_zip({{.name = "a", .data = hidden}, inner}), ErrorCode::corrupt, "member 'b' overlaps 'a'");
}

TEST(ZipRefuses, TwoEntriesForOneLocalHeader) {
  ZipPart again = plain;
  again.offset = 0;
  refuses(build_zip({plain, again}), ErrorCode::corrupt, "overlaps");
}

TEST(ZipRefuses, ADirectoryThatIsLargerThanItsFileDeserves) {
  const std::string archive = build_zip({plain});
  const std::uint64_t size = zip::entry_size + plain.name.size();
  EXPECT_NO_THROW(static_cast<void>(ZipReader::open(source_of(archive), {.pickle_cap = size})));
  const auto error =
      io_testing::error_of([&] { static_cast<void>(ZipReader::open(source_of(archive), {.pickle_cap = size - 1})); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::limit_exceeded);
}

TEST(ZipRefuses, BytesBeforeTheArchive) {
  refuses_member({.name = "a", .data = "x", .gap = "#!"}, ErrorCode::corrupt, "2 bytes before the first member");
  refuses("junk" + build_zip({plain}), ErrorCode::corrupt, "end where the end records begin");
}

// torch and Python take the last end record: showing the first archive would hide what they load.
TEST(ZipRefuses, TwoArchivesInOneFile) {
  refuses(build_zip({plain}) + build_zip({{.name = "other"}}), ErrorCode::corrupt, "end where the end records begin");
  refuses(build_zip({plain}, {.comment = build_zip({{.name = "other"}})}), ErrorCode::corrupt,
          "end where the end records begin");
}

TEST(ZipRefuses, ADirectoryElsewhere) {
  refuses(build_zip({plain}, {.directory_offset = 35}), ErrorCode::corrupt, "end where the end records begin");
  refuses(build_zip({plain}, {.directory_size = 46}), ErrorCode::corrupt, "end where the end records begin");
}

TEST(ZipRefuses, AnotherNumberOfMembers) {
  refuses(build_zip({plain}, {.count = 2}), ErrorCode::corrupt, "for 2 members");
  refuses(build_zip({plain, {.name = "b"}}, {.count = 1}), ErrorCode::corrupt, "after the last record");
  ZipPart wide = plain;
  wide.central_extra = std::string("FB\x40\0", 4) + std::string(64, 'Z');
  refuses(build_zip({wide}, {.count = 2}), ErrorCode::corrupt, "no directory record");
}

TEST(ZipRefuses, SeveralDisks) {
  refuses(build_zip({plain}, {.disk = 1}), ErrorCode::unsupported, "several disks");
  refuses(build_zip({plain}, {.count_here = 0}), ErrorCode::unsupported, "several disks");
  refuses(build_zip({plain}, {.zip64 = true, .disks64 = 2}), ErrorCode::unsupported, "several disks");
  refuses_member({.name = "a", .disk = 3}, ErrorCode::unsupported, "on disk 3");
}

TEST(ZipRefuses, Zip64RecordsThatLie) {
  refuses(build_zip({plain}, {.zip64 = true, .count64 = 2}), ErrorCode::corrupt, "number of members as 1");
  refuses(build_zip({plain}, {.zip64 = true, .size64 = 46}), ErrorCode::corrupt, "directory's size");
  refuses(build_zip({plain}, {.zip64 = true, .offset64 = 35}), ErrorCode::corrupt, "directory's offset");
  refuses(build_zip({plain}, {.zip64 = true, .record64_offset = 35}), ErrorCode::corrupt,
          "ZIP64 locator points to byte 35");
  refuses(build_zip({plain}, {.zip64 = true, .record64_offset = UINT64_MAX}), ErrorCode::corrupt, "ZIP64 locator");
  refuses(build_zip({plain}, {.zip64 = true, .record64_size = 45}), ErrorCode::corrupt, "of 45 bytes");
  refuses(build_zip({plain}, {.zip64 = true, .directory_offset = 0xffffffff, .offset64 = UINT64_MAX - 4}),
          ErrorCode::corrupt, "end where the end records begin");
}

TEST(ZipRefuses, MoreMembersThanTheCap) {
  const ZipShape shape{.zip64 = true, .count = 0xffff, .count64 = 1ULL << 40};
  refuses(build_zip({plain}, shape), ErrorCode::limit_exceeded, "1099511627776 members");
}

TEST(ZipRefuses, AllOnesWithoutAZip64Field) {
  refuses_member({.name = "a", .data = "x", .size = 0xffffffff}, ErrorCode::corrupt, "all ones");
  refuses_member({.name = "a", .data = "x", .offset = 0xffffffff}, ErrorCode::corrupt, "all ones");
}

TEST(ZipRefuses, Zip64FieldsThatAreTooShort) {
  const std::uint64_t one[] = {1};
  refuses_member({.name = "a",
                  .data = "x",
                  .central_extra = zip_testing::zip64_field(one),
                  .size = 0xffffffff,
                  .compressed_size = 0xffffffff},
                 ErrorCode::corrupt, "ZIP64 extra field of 8 bytes");
}

TEST(ZipRefuses, TwoZip64Fields) {
  const std::uint64_t one[] = {1};
  const std::string field = zip_testing::zip64_field(one);
  refuses_member({.name = "a", .data = "x", .central_extra = field + field, .size = 0xffffffff}, ErrorCode::corrupt,
                 "second ZIP64");
}

TEST(ZipRefuses, Zip64SizesThatOverflow) {
  const std::uint64_t values[] = {UINT64_MAX, UINT64_MAX};
  refuses_member({.name = "a",
                  .data = "x",
                  .central_extra = zip_testing::zip64_field(values),
                  .size = 0xffffffff,
                  .compressed_size = 0xffffffff},
                 ErrorCode::corrupt, "reaches into the directory");
  const std::uint64_t offset[] = {UINT64_MAX};
  refuses_member({.name = "a", .data = "x", .central_extra = zip_testing::zip64_field(offset), .offset = 0xffffffff},
                 ErrorCode::corrupt, "no local header");
}

TEST(ZipRefuses, AnExtraFieldThatReachesPastItsEnd) {
  refuses_member({.name = "a", .data = "x", .central_extra = std::string("FB\x05\0Z", 5)}, ErrorCode::corrupt,
                 "extra field of 5 bytes");
}

TEST(ZipRefuses, ASecondNameInAnExtraField) {
  refuses_member({.name = "a", .data = "x", .central_extra = std::string("up\0\0", 4)}, ErrorCode::unsupported,
                 "second name");
}

TEST(ZipRefuses, WhatIsNoArchive) {
  refuses("", ErrorCode::truncated, "no end of central directory");
  refuses(std::string(100000, 'x'), ErrorCode::truncated, "no end of central directory");
}

TEST(ZipRefuses, ACommentThatIsCutOff) {
  refuses(build_zip({plain}, {.comment_size = 4}), ErrorCode::truncated, "comment of 4 bytes");
}

}  // namespace
}  // namespace ckpt
