#include <gtest/gtest.h>

#include <algorithm>

#include "ckpt/error.h"
#include "container/zip_builder.h"
#include "container/zip_reader.h"
#include "formats/torch_files.h"
#include "io/checksum.h"

namespace ckpt {
namespace {

using torch_testing::Bytes;
using torch_testing::ZipFile;
using zip_testing::ZipPart;
using Floats = std::vector<float>;
using Names = std::vector<std::string>;

std::string refused(const ZipFile& file) {
  const auto error = torch_testing::refusal(bytes_of(file));
  return error ? error->what() : "read";
}

const py::Code object = py::dict({{py::str("w"), torch_testing::weight()}});
const std::string data(as_text(torch_testing::floats({0, 1, 2, 3})));

/// The parts of a file whose every field a test may change.
std::vector<ZipPart> parts() {
  return {{.name = "r/data.pkl", .data = py::pickle(object)},
          {.name = "r/data/0", .data = data},
          {.name = "r/version", .data = "3\n"}};
}

Bytes built(const std::vector<ZipPart>& parts) { return io_testing::bytes_of(zip_testing::build_zip(parts)); }

std::string refused(const std::vector<ZipPart>& parts) {
  const auto error = torch_testing::refusal(built(parts));
  return error ? error->what() : "read";
}

Names members(const Bytes& bytes) {
  const ZipReader zip = ZipReader::open(torch_testing::source_of(bytes));
  Names names;
  for (const ZipMember& member : zip.members()) names.push_back(member.name);
  return names;
}

std::string content(const Bytes& bytes, const std::string& member) {
  const ZipReader zip = ZipReader::open(torch_testing::source_of(bytes));
  const ZipMember* const found = zip.find(member);
  return found == nullptr ? "missing" : zip_testing::text_of(*zip.read(*found));
}

TEST(TorchZip, IsRead) {
  const auto checkpoint = torch_testing::read_bytes(bytes_of(ZipFile{.object = object}));
  EXPECT_EQ(checkpoint.format, "torch");
  EXPECT_EQ(checkpoint.protocol, 2);
  EXPECT_EQ(torch_testing::names(checkpoint), (Names{"w"}));
  EXPECT_EQ(torch_testing::values(checkpoint, 0), (Floats{0, 1, 2, 3}));
  EXPECT_TRUE(checkpoint.warnings.empty());
}

TEST(TorchZip, OfPythonComesBackByteForByte) {
  for (const char* name : {"foonet_cpu.pt", "foonet_cuda0.pt", "foonet_module_prefix.pt"}) {
    const std::string path = std::string(CKPT_TEST_DATA "/") + name;
    EXPECT_EQ(as_text(torch_testing::written(load(path))), io_testing::text_of(path)) << name;
  }
}

TEST(TorchZip, KeepsItsRootAndOtherMembersInPlace) {
  const ZipFile file{.object = object,
                     .data = {{"extra/notes.txt", io_testing::bytes_of("keep me")},
                              {"data/0", torch_testing::floats({0, 1, 2, 3})},
                              {"data/unused", io_testing::bytes_of("kept too")}},
                     .root = "my model",
                     .more = {{".data/serialization_id", io_testing::bytes_of("123")}}};
  const Bytes out = torch_testing::written(torch_testing::read_bytes(bytes_of(file)));
  EXPECT_EQ(members(out),
            (Names{"my model/data.pkl", "my model/byteorder", "my model/extra/notes.txt", "my model/data/0",
                   "my model/data/unused", "my model/version", "my model/.data/serialization_id"}));
  EXPECT_EQ(content(out, "my model/extra/notes.txt"), "keep me");
  EXPECT_EQ(content(out, "my model/data/unused"), "kept too");
  EXPECT_EQ(content(out, "my model/.data/serialization_id"), "123");
}

TEST(TorchZip, StoragesAreInTheOrderOfTheFile) {
  const auto on = [](const std::string& key) {
    return torch_testing::tensor(torch_testing::storage({.key = key}), {4}, {1});
  };
  const ZipFile file{
      .object = py::list({on("a"), on("b")}),
      .data = {{"data/b", torch_testing::floats({4, 5, 6, 7})}, {"data/a", torch_testing::floats({0, 1, 2, 3})}}};
  const auto checkpoint = torch_testing::read_bytes(bytes_of(file));
  EXPECT_EQ(checkpoint.storages[0].key, "b");
  EXPECT_EQ(torch_testing::values(checkpoint, 0), (Floats{0, 1, 2, 3}));
  EXPECT_EQ(torch_testing::values(checkpoint, 1), (Floats{4, 5, 6, 7}));
}

TEST(TorchZip, WithoutAStoragesMemberIsRefused) {
  EXPECT_EQ(refused(ZipFile{.object = object, .data = {}}),
            "test.pt: the pickle names storage '0', which the archive does not hold, expected member 'archive/data/0'");
}

TEST(TorchZip, WhoseMemberHasAnotherSizeIsRefused) {
  const auto error = refused(ZipFile{.object = object, .data = {{"data/0", torch_testing::floats({0, 1, 2})}}});
  EXPECT_NE(error.find("member 'archive/data/0' holds 12 bytes, expected 16, as the pickle says"), std::string::npos)
      << error;
}

TEST(TorchZip, MayBeBigEndian) {
  const ZipFile file{
      .object = object,
      .data = {{"data/0", io_testing::bytes_of(std::string_view("\x3f\x80\0\0\x40\0\0\0\0\0\0\0\0\0\0\0", 16))}},
      .byteorder = "big"};
  const auto checkpoint = torch_testing::read_bytes(bytes_of(file));
  EXPECT_EQ(torch_testing::values(checkpoint, 0), (Floats{1, 2, 0, 0}));
  const Bytes out = torch_testing::written(checkpoint);
  EXPECT_EQ(content(out, "archive/byteorder"), "big");
  EXPECT_EQ(content(out, "archive/data/0"), as_text(file.data[0].bytes)) << "no byte is changed that need not be";
  const auto legacy = torch_testing::read_bytes(torch_testing::written_as(checkpoint, "torch-legacy"));
  EXPECT_EQ(torch_testing::values(legacy, 0), (Floats{1, 2, 0, 0}));
}

TEST(TorchZip, ByteorderIsWrittenBeforeTheStorages) {
  auto late = parts();
  late.insert(late.begin() + 1, {.name = "r/notes", .data = "a"});
  late.push_back({.name = "r/byteorder", .data = "big"});
  const auto checkpoint = torch_testing::read_bytes(built(late));
  EXPECT_EQ(members(torch_testing::written(checkpoint)),
            (Names{"r/data.pkl", "r/notes", "r/byteorder", "r/data/0", "r/version"}))
      << "in gzip it is read from its first byte on";
}

TEST(TorchZip, MayBeWithoutByteorder) {
  const ZipFile file{.object = object, .byteorder = std::nullopt};
  EXPECT_EQ(torch_testing::values(torch_testing::read_bytes(bytes_of(file)), 0), (Floats{0, 1, 2, 3}));
}

TEST(TorchZip, OfAnotherByteorderIsRefused) {
  EXPECT_NE(refused(ZipFile{.object = object, .byteorder = "middle"}).find("says 'middle'"), std::string::npos);
}

TEST(TorchZip, MembersMayBeDeflated) {
  auto deflated = parts();
  for (ZipPart& part : deflated) {
    part.inflated_size = part.data.size();
    part.inflated_crc = crc32(0, as_bytes(part.data));
    part.data = zip_testing::deflate_stored(part.data);
    part.method = 8;
  }
  const auto checkpoint = torch_testing::read_bytes(built(deflated));
  EXPECT_EQ(torch_testing::values(checkpoint, 0), (Floats{0, 1, 2, 3}));
  EXPECT_EQ(content(torch_testing::written(checkpoint), "r/data/0"), data);
}

TEST(TorchZip, HasAVersion) {
  EXPECT_NE(refused(ZipFile{.object = object, .version = std::nullopt}).find("no member 'archive/version'"),
            std::string::npos);
  const auto of_version = [](std::string_view text) {
    return refused(
        ZipFile{.object = object, .version = std::nullopt, .more = {{".data/version", io_testing::bytes_of(text)}}});
  };
  for (const char* const good : {"1", "3\n", "10", " +7 and more"}) EXPECT_EQ(of_version(good), "read");
  for (const char* const bad : {"", "three", "-3", "0", "11", "99999999999999999999"})
    EXPECT_NE(of_version(bad).find("member 'version' says '"), std::string::npos) << bad;
}

TEST(TorchZip, HasOnePickle) {
  auto two = parts();
  two.push_back({.name = "s/data.pkl", .data = "x"});
  EXPECT_NE(refused(two).find("the archive holds two pickles, 'r/data.pkl' and 's/data.pkl'"), std::string::npos);
  auto twice = parts();
  twice.push_back(twice.front());
  EXPECT_NE(refused(twice), "read");
  auto none = parts();
  none.front().name = "r/other";
  EXPECT_EQ(refused(none), "test.pt: this is a zip archive without a checkpoint, expected a PyTorch checkpoint");
  auto deeper = parts();
  deeper.front().name = "r/code/data.pkl";
  EXPECT_NE(refused(deeper), "read");
}

TEST(TorchZip, HasOneRootFolder) {
  auto outside = parts();
  outside.push_back({.name = "s/data/0", .data = data});
  EXPECT_NE(refused(outside).find("member 's/data/0' lies outside the folder 'r'"), std::string::npos);
  auto bare = parts();
  bare.push_back({.name = "readme", .data = data});
  EXPECT_NE(refused(bare), "read");
}

TEST(TorchZip, BesideConstantsIsRefused) {
  // torch.load would hand it to torch.jit.load.
  const auto error = torch_testing::refusal(bytes_of(ZipFile{.object = object, .more = {{"constants.pkl", {}}}}));
  ASSERT_TRUE(error);
  EXPECT_NE(std::string(error->what()).find("'archive/constants.pkl' beside an object that is no module"),
            std::string::npos);
}

TEST(TorchZip, WithAWrongCrcStopsTheCopyNamingTheMember) {
  auto damaged = parts();
  damaged[1].crc = 0x12345678;
  const auto checkpoint = torch_testing::read_bytes(built(damaged));
  for (const char* format : {"torch", "torch-legacy"}) {
    const auto error = io_testing::error_of([&] { torch_testing::written_as(checkpoint, format); });
    ASSERT_TRUE(error) << format;
    EXPECT_EQ(error->code(), ErrorCode::corrupt);
    EXPECT_NE(std::string(error->what()).find("r/data/0"), std::string::npos) << error->what();
  }
}

TEST(TorchZip, WithAWrongCrcOfABigEndianMemberStopsTheCopy) {
  auto damaged = parts();
  damaged[1].crc = 0x12345678;
  damaged.push_back({.name = "r/byteorder", .data = "big"});
  const auto checkpoint = torch_testing::read_bytes(built(damaged));
  EXPECT_TRUE(io_testing::error_of([&] { torch_testing::written_as(checkpoint, "torch-legacy"); }));
}

TEST(TorchZip, WithAWrongCrcOfThePickleIsRefused) {
  auto damaged = parts();
  damaged[0].crc = 0x12345678;
  EXPECT_NE(refused(damaged).find("r/data.pkl"), std::string::npos);
}

TEST(TorchZip, WithoutChecksumsIsReadWithAWarning) {
  auto unchecked = parts();
  for (ZipPart& part : unchecked) part.crc = 0;
  const auto checkpoint = torch_testing::read_bytes(built(unchecked));
  ASSERT_EQ(checkpoint.warnings.size(), 1U);
  EXPECT_NE(checkpoint.warnings[0].find("no checksums"), std::string::npos);
  EXPECT_EQ(content(torch_testing::written(checkpoint), "r/data/0"), data);
}

TEST(TorchZip, BytesAfterTheArchiveAreLeftOutWithAWarning) {
  Bytes bytes = bytes_of(ZipFile{.object = object});
  const Bytes whole = bytes;
  bytes.resize(bytes.size() + 7);
  const auto checkpoint = torch_testing::read_bytes(bytes);
  ASSERT_EQ(checkpoint.warnings.size(), 1U);
  EXPECT_EQ(checkpoint.warnings[0], "7 bytes follow the archive and are left out");
  EXPECT_EQ(torch_testing::written(checkpoint), torch_testing::written(torch_testing::read_bytes(whole)));
}

TEST(TorchZip, KeepsTheAlignmentItSays) {
  const auto aligned = [](const std::string& text) {
    const ZipFile file{.object = object, .more = {{".storage_alignment", io_testing::bytes_of(text)}}};
    const Bytes out = torch_testing::written(torch_testing::read_bytes(bytes_of(file)));
    return ZipReader::open(torch_testing::source_of(out)).find("archive/data/0")->data_offset;
  };
  EXPECT_EQ(aligned("4096") % 4096, 0U);
  EXPECT_EQ(aligned("65536") % 65536, 0U);
  EXPECT_EQ(aligned("49999") % 49999, 0U);
  EXPECT_EQ(aligned("64") % 64, 0U);
  EXPECT_EQ(aligned("0") % 64, 0U);
  EXPECT_EQ(aligned("99999999") % 64, 0U);
}

TEST(TorchZip, CutAnywhereIsRefused) {
  const Bytes whole = bytes_of(ZipFile{.object = object});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    ASSERT_TRUE(torch_testing::refusal(cut)) << size;
  }
}

TEST(TorchZip, MadeFromLegacyHasWhatTorchWrites) {
  const auto made_from = [](const std::string& key) {
    const torch_testing::LegacyFile file{
        .object = torch_testing::tensor(torch_testing::legacy_storage({.key = key}), {4}, {1}),
        .data = {{key, 4, torch_testing::floats({0, 1, 2, 3})}}};
    return torch_testing::written_as(torch_testing::read_bytes(bytes_of(file)), "torch");
  };
  EXPECT_EQ(members(made_from("0")),
            (Names{"archive/data.pkl", "archive/.format_version", "archive/.storage_alignment", "archive/byteorder",
                   "archive/data/0", "archive/version", "archive/.data/serialization_id"}));
  // Which would promise that the first storage is called 0.
  const Bytes out = made_from("9");
  EXPECT_EQ(members(out), (Names{"archive/data.pkl", "archive/.storage_alignment", "archive/byteorder",
                                 "archive/data/9", "archive/version", "archive/.data/serialization_id"}));
  EXPECT_EQ(content(out, "archive/version"), "3\n");
  EXPECT_EQ(content(out, "archive/byteorder"), "little");
  EXPECT_EQ(torch_testing::values(torch_testing::read_bytes(out), 0), (Floats{0, 1, 2, 3}));
}

TEST(TorchZip, MadeFromLegacyKeysThatAreNoFileNamesNumbersThem) {
  for (const char* odd : {"../../etc/passwd", "a/b", "", ".", "a\\b", "c:", "new\nline"}) {
    const torch_testing::LegacyFile file{
        .object = torch_testing::tensor(torch_testing::legacy_storage({.key = odd}), {4}, {1}),
        .data = {{odd, 4, torch_testing::floats({0, 1, 2, 3})}}};
    const Bytes out = torch_testing::written_as(torch_testing::read_bytes(bytes_of(file)), "torch");
    EXPECT_EQ(content(out, "archive/data/0"), data) << odd;
    EXPECT_EQ(torch_testing::values(torch_testing::read_bytes(out), 0), (Floats{0, 1, 2, 3})) << odd;
  }
}

TEST(TorchZip, MadeFromLegacyKeysThatAreOneButForCaseNumbersThem) {
  const auto weight = [](const std::string& key) {
    return torch_testing::tensor(torch_testing::legacy_storage({.key = key}), {4}, {1});
  };
  const torch_testing::LegacyFile file{
      .object = py::list({weight("k"), weight("K")}),
      .data = {{"K", 4, torch_testing::floats({4, 5, 6, 7})}, {"k", 4, torch_testing::floats({0, 1, 2, 3})}}};
  const auto back =
      torch_testing::read_bytes(torch_testing::written_as(torch_testing::read_bytes(bytes_of(file)), "torch"));
  EXPECT_EQ(torch_testing::values(back, 0), (Floats{0, 1, 2, 3}));
  EXPECT_EQ(torch_testing::values(back, 1), (Floats{4, 5, 6, 7}));
}

}  // namespace
}  // namespace ckpt
