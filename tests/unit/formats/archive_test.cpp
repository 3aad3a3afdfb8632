#include <gtest/gtest.h>

#include "ckpt/error.h"
#include "ckpt/formats.h"
#include "ckpt/limits.h"
#include "formats/tar_files.h"
#include "formats/torch_files.h"

namespace ckpt {
namespace {

using io_testing::Bytes;
using io_testing::bytes_of;
using io_testing::has;
using tar_testing::Entry;
using tar_testing::tar_of;
using torch_testing::values;

std::string weights() {
  const Bytes bytes =
      torch_testing::bytes_of(torch_testing::ZipFile{.object = py::dict({{py::str("w"), torch_testing::weight()}})});
  return std::string(as_text(bytes));
}

std::string model_tar() {
  return tar_of(
      {{"config.json", "{}"}, {"weights.th", weights()}, {"vocabulary/", "", '5'}, {"vocabulary/t.txt", "a\nb\n"}});
}

std::string refused(const std::string& tar) {
  const auto error = torch_testing::refusal(bytes_of(tar));
  return error ? error->what() + std::string("\n") + error->hint() : "read";
}

TEST(Archive, AroundOneCheckpointIsALayer) {
  for (const Bytes& bytes : {bytes_of(model_tar()), io_testing::gzipped(bytes_of(model_tar()))}) {
    const auto checkpoint = torch_testing::read_bytes(bytes);
    EXPECT_EQ(checkpoint.format, "torch");
    EXPECT_EQ(values(checkpoint, 0), (std::vector<float>{0, 1, 2, 3}));
    EXPECT_TRUE(has(checkpoint.warnings.at(0), "member 'weights.th' of a tar archive"));
    EXPECT_NE(checkpoint.archive, nullptr);
  }
}

TEST(Archive, AMemberMayBeInGzip) {
  const Bytes packed = io_testing::gzipped(bytes_of(weights()));
  const auto checkpoint = torch_testing::read_bytes(bytes_of(tar_of({{"w.gz", std::string(as_text(packed))}})));
  EXPECT_EQ(values(checkpoint, 0), (std::vector<float>{0, 1, 2, 3}));
}

TEST(Archive, AMemberInDamagedGzipIsToldOf) {
  std::string packed(as_text(io_testing::gzipped(bytes_of(weights()))));
  packed.resize(20);
  const std::string told = refused(tar_of({{"readme", "none"}, {"w.gz", packed}}));
  EXPECT_TRUE(has(told, "'w.gz'")) << told;
  EXPECT_FALSE(has(told, "without a checkpoint")) << told;
}

TEST(Archive, OfSeveralCheckpointsIsListed) {
  const std::string what = refused(tar_of({{"a.pt", weights()}, {"b.pt", weights()}}));
  EXPECT_TRUE(has(what, "a tar archive of at least 2 checkpoints: 'a.pt', 'b.pt'")) << what;
  EXPECT_TRUE(has(what, "tar xf test.pt")) << what;
}

TEST(Archive, BehindTwoCheckpointsIsNotReadOn) {
  std::vector<Entry> entries{{"a.pt", weights()}, {"b.pt", weights()}};
  for (std::size_t i = 0; i < limits::archive_files; ++i) entries.push_back({std::to_string(i), "text"});
  EXPECT_TRUE(has(refused(tar_of(entries)), "at least 2 checkpoints: 'a.pt', 'b.pt'"));
}

TEST(Archive, OfTooManyFilesIsRefused) {
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < limits::archive_files; ++i) entries.push_back({std::to_string(i), "text"});
  entries.push_back({"a.pt", weights()});
  EXPECT_TRUE(has(refused(tar_of(entries)), "tar archive: more than 4096 files"));
}

TEST(Archive, WithoutACheckpointIsNamed) {
  const std::string what = refused(tar_of({{"a.txt", "text"}}));
  EXPECT_TRUE(has(what, "a tar archive without a checkpoint; it holds 'a.txt'")) << what;
}

TEST(Archive, InAnArchiveIsNotOpened) {
  EXPECT_TRUE(has(refused(tar_of({{"inner.tar", model_tar()}})), "without a checkpoint"));
}

TEST(Archive, ThatIsBrokenSaysHow) { EXPECT_TRUE(has(refused(model_tar().substr(0, 1500)), "tar archive: ")); }

TEST(Archive, IsNeverReplacedByItsMember) {
  const io_testing::TemporaryFolder folder;
  const std::string path = folder / "model.tar";
  io_testing::put_file(path, model_tar());
  const Checkpoint checkpoint = load(path);
  for (const std::string& out : {path, folder / "./model.tar"}) {
    const auto error = io_testing::error_of([&] { save(checkpoint, out); });
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
    EXPECT_TRUE(has(error->hint(), "tar xf"));
  }
  EXPECT_EQ(io_testing::text_of(path), model_tar());
}

TEST(Archive, ANewFileIsBare) {
  const io_testing::TemporaryFolder folder;
  io_testing::put_file(folder / "model.tgz", io_testing::gzipped(bytes_of(model_tar())));
  const SaveReport report = save(load(folder / "model.tgz"), folder / "weights.th");
  EXPECT_EQ(report.format, "torch");
  EXPECT_FALSE(report.gzip);
  EXPECT_EQ(load(folder / "weights.th").archive, nullptr);
}

TEST(Archive, DamageInGzipBehindTheMemberIsFound) {
  Bytes packed = io_testing::gzipped(bytes_of(model_tar()));
  packed[packed.size() - 6] ^= std::byte{1};  // of the checksum
  const auto findings = verify(memory_source(packed, "test.tar.gz"));
  EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [](const Finding& finding) { return finding.fault; }));
}

}  // namespace
}  // namespace ckpt
