#include <gtest/gtest.h>

#include <algorithm>

#include "ckpt/error.h"
#include "container/zip_builder.h"
#include "formats/tar_files.h"
#include "formats/torch_files.h"
#include "io/gzip_index.h"

namespace ckpt {
namespace {

using io_testing::has;
using torch_testing::Bytes;
using torch_testing::floats;
using torch_testing::legacy_storage;
using torch_testing::LegacyFile;
using torch_testing::source_of;
using torch_testing::tensor;
using torch_testing::ZipFile;
using zip_testing::ZipPart;

/// "fault: what [where]" a line.
std::string found(const Bytes& bytes) {
  std::string out;
  for (const Finding& finding : verify(source_of(bytes)))
    out += (finding.fault ? "fault: " : "remark: ") + finding.what + " [" + finding.where + "]\n";
  return out;
}

const py::Code two = py::list({torch_testing::weight(), tensor(torch_testing::storage({.key = "1"}), {4}, {1})});

std::vector<ZipPart> parts() {
  const std::string data(as_text(floats({0, 1, 2, 3})));
  return {{.name = "r/data.pkl", .data = py::pickle(two)},
          {.name = "r/data/0", .data = data},
          {.name = "r/data/1", .data = data},
          {.name = "r/version", .data = "3\n"}};
}

Bytes built(const std::vector<ZipPart>& parts) { return io_testing::bytes_of(zip_testing::build_zip(parts)); }

TEST(Verify, FindsNothingWrongWithASoundFile) {
  EXPECT_EQ(found(built(parts())), "");
  EXPECT_EQ(found(io_testing::gzipped(built(parts()))), "");
}

TEST(Verify, FindsEveryDamagedMember) {
  auto damaged = parts();
  damaged[1].crc = 1;
  damaged[2].crc = 2;
  const std::string findings = found(built(damaged));
  EXPECT_TRUE(has(findings, "[member 'r/data/0']")) << findings;
  EXPECT_TRUE(has(findings, "[member 'r/data/1']")) << findings;
}

TEST(Verify, FindsDamageOutsideTheTensors) {
  auto damaged = parts();
  damaged.push_back({.name = "r/extra", .data = "x", .crc = 1});
  EXPECT_TRUE(has(found(built(damaged)), "[member 'r/extra']"));
}

TEST(Verify, FindsMissingStoragesAndGoesOn) {
  auto lacking = parts();
  lacking[2].crc = 1;
  lacking.erase(lacking.begin() + 1);
  const std::string findings = found(built(lacking));
  EXPECT_TRUE(has(findings, "the pickle names storage '0', which the archive does not hold")) << findings;
  EXPECT_TRUE(has(findings, "[member 'r/data/1']")) << findings;
}

TEST(Verify, FindsStoragesOfAnotherSize) {
  auto shorter = parts();
  shorter[1].data.resize(12);
  EXPECT_TRUE(has(found(built(shorter)), "fault: test.pt: member 'r/data/0' holds 12 bytes"));
}

TEST(Verify, FindsTensorsThatLeaveTheirStorage) {
  EXPECT_TRUE(has(found(bytes_of(ZipFile{.object = tensor(torch_testing::storage(), {5}, {1})})), "fault: "));
}

TEST(Verify, FindsABrokenPickle) {
  auto broken = parts();
  broken[0].data = "\x80\2]]";
  EXPECT_TRUE(has(found(built(broken)), "fault: "));
}

TEST(Verify, RemarksOnMissingChecksums) {
  auto unchecked = parts();
  for (ZipPart& part : unchecked) part.crc = 0;
  const std::string findings = found(built(unchecked));
  EXPECT_TRUE(has(findings, "remark: the archive has no checksums")) << findings;
  EXPECT_FALSE(has(findings, "fault")) << findings;
}

TEST(Verify, RemarksOnBytesAfterTheEnd) {
  Bytes longer = built(parts());
  longer.resize(longer.size() + 5);
  EXPECT_EQ(found(longer), "remark: 5 bytes follow the archive and are left out []\n");
  Bytes compressed = io_testing::gzipped(built(parts()));
  compressed.push_back(std::byte{7});
  EXPECT_EQ(found(compressed), "remark: 1 bytes follow the gzip stream and belong to nothing []\n");
}

TEST(Verify, RemarksOnDangerousGlobalsAndWhereTheyStandInTheFile) {
  const std::string findings = found(bytes_of(ZipFile{.object = py::global("os", "system")}));
  EXPECT_EQ(findings, "remark: the pickle calls for os.system (dangerous), at byte 66 []\n");
}

TEST(Verify, RemarksThatLegacyFilesHaveNoChecksums) {
  const LegacyFile file{.object = tensor(legacy_storage(), {4}, {1})};
  const std::string findings = found(bytes_of(file));
  EXPECT_TRUE(findings.starts_with("remark: no checksum covers the tensors' bytes")) << findings;
  EXPECT_FALSE(has(findings, "fault"));
  EXPECT_EQ(found(io_testing::gzipped(bytes_of(file))), "") << "gzip has one";
}

TEST(Verify, FindsAWrongCountInALegacyFile) {
  const LegacyFile file{.object = tensor(legacy_storage(), {4}, {1}), .data = {{"0", 5, floats({0, 1, 2, 3})}}};
  EXPECT_TRUE(has(found(bytes_of(file)), "fault: test.pt: storage '0': the file counts 5 elements"));
}

TEST(Verify, FindsACutInALegacyFile) {
  Bytes cut = bytes_of(LegacyFile{.object = tensor(legacy_storage(), {4}, {1})});
  cut.resize(cut.size() - 3);
  EXPECT_TRUE(has(found(cut), "fault: "));
}

TEST(Verify, FindsDamageInGzip) {
  Bytes damaged = io_testing::gzipped(built(parts()));
  damaged[damaged.size() - 6] ^= std::byte{1};  // its CRC
  EXPECT_TRUE(has(found(damaged), "fault: "));
  damaged.resize(damaged.size() - 20);
  EXPECT_TRUE(has(found(damaged), "fault: "));
}

/// Other readers pass over what a member's header says; ckpt's own goes by the index, which covers it.
TEST(Verify, FindsWhatOnlyTheIndexOfGzipTells) {
  const std::int64_t count = 1 << 20;
  const torch_testing::StorageSpec large{.elements = count};
  const Bytes data = io_testing::random_bytes(static_cast<std::size_t>(count) * 4);
  const Bytes sound = io_testing::gzipped(
      bytes_of(ZipFile{.object = py::dict({{py::str("w"), tensor(torch_testing::storage(large), {count}, {1})}}),
                       .data = {{"data/0", data}}}));
  EXPECT_EQ(found(sound), "");
  const std::size_t second = read_gzip_index(*source_of(sound))->members[0].compressed;
  for (const std::size_t byte : {4, 8, 9}) {  // its date, its flags of compression, its system
    Bytes damaged = sound;
    damaged[second + byte] ^= std::byte{1};
    const std::string findings = found(damaged);
    EXPECT_TRUE(has(findings, "a gzip member has CRC-32 ")) << findings;
    EXPECT_TRUE(has(findings, "as the file's index says")) << findings;
    EXPECT_TRUE(has(found(io_testing::bytes_of(tar_testing::tar_of({{"w.pt.gz", std::string(as_text(damaged))}}))),
                    "as the file's index says"));
  }
}

/// All that is wrong, and what is remarked of a file whose gzip is sound.
TEST(Verify, TellsEachMemberThatTheIndexContradicts) {
  const std::int64_t count = 1 << 20;
  const torch_testing::StorageSpec large{.elements = count};
  const Bytes data = io_testing::random_bytes(static_cast<std::size_t>(count) * 4);
  Bytes damaged = io_testing::gzipped(
      bytes_of(ZipFile{.object = py::dict({{py::str("w"), tensor(torch_testing::storage(large), {count}, {1})},
                                           {py::str("x"), py::global("os", "system")}}),
                       .data = {{"data/0", data}}}));
  const GzipIndex index = *read_gzip_index(*source_of(damaged));
  std::size_t begin = 0;
  for (const GzipMember& member : index.members) {
    if (begin > 0) damaged[begin + 4] ^= std::byte{1};
    begin += member.compressed;
  }
  const std::string findings = found(damaged);
  EXPECT_TRUE(has(findings, "remark: the pickle calls for os.system (dangerous)")) << findings;
  EXPECT_GE(std::count(findings.begin(), findings.end(), '\n'), 9) << findings;
}

/// Whatever is wrong with the pickle, which is read first.
TEST(Verify, ReadsAllMembersOfAFileWhosePickleIsDamaged) {
  Bytes damaged =
      bytes_of(ZipFile{.object = two, .data = {{"data/0", floats({0, 1, 2, 3})}, {"data/1", floats({4, 5})}}});
  const std::string text(as_text(damaged));
  damaged[text.find("FloatStorage")] ^= std::byte{1};
  damaged[text.find(as_text(floats({1, 2, 3})))] ^= std::byte{1};
  const std::string findings = found(damaged);
  EXPECT_TRUE(has(findings, "data.pkl")) << findings;
  EXPECT_TRUE(has(findings, "[member 'archive/data/0']")) << findings;
  EXPECT_EQ(std::count(findings.begin(), findings.end(), '\n'), 2) << findings;
}

TEST(Verify, LeavesFilesItDoesNotKnowToTheCaller) {
  EXPECT_TRUE(io_testing::error_of([] { found(io_testing::bytes_of("hello")); }));
  EXPECT_TRUE(io_testing::error_of([] { found({}); }));
}

}  // namespace
}  // namespace ckpt
