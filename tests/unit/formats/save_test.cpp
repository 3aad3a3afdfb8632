#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "container/zip_builder.h"
#include "formats/torch_files.h"

namespace ckpt {
namespace {

using io_testing::error_of;
using io_testing::TemporaryFolder;
using torch_testing::Bytes;
using torch_testing::source_of;
using torch_testing::ZipFile;

Checkpoint small(const std::string& name = "in.pt") {
  return read(source_of(bytes_of(ZipFile{.object = torch_testing::weight()}), name));
}

Checkpoint small_in_gzip(const std::string& name) {
  return read(source_of(io_testing::gzipped(bytes_of(ZipFile{.object = torch_testing::weight()})), name));
}

bool is_gzip_file(const std::string& path) { return io_testing::text_of(path).starts_with("\x1f\x8b"); }

/// Whether saving `checkpoint` as `name` compresses.
bool compresses(const Checkpoint& checkpoint, const std::string& name, const SaveOptions& options = {}) {
  const TemporaryFolder folder;
  const SaveReport report = save(checkpoint, folder / name, options);
  EXPECT_EQ(report.gzip, is_gzip_file(folder / name));
  EXPECT_EQ(report.bytes, io_testing::text_of(folder / name).size());
  EXPECT_EQ(torch_testing::values(load(folder / name), 0).size(), 4U);
  return report.gzip;
}

SaveOptions with_gzip(std::optional<bool> gzip, std::optional<int> level = {}) {
  SaveOptions options;
  options.gzip = gzip;
  options.gzip_level = level;
  return options;
}

TEST(Save, CompressesWhereTheNameSaysSo) {
  EXPECT_TRUE(compresses(small(), "out.pt.gz"));
  EXPECT_TRUE(compresses(small(), "OUT.PT.GZ"));
  EXPECT_FALSE(compresses(small(), "out.pt"));
}

TEST(Save, KeepsACompressionThatTheNameNeverSaid) { EXPECT_TRUE(compresses(small_in_gzip("model.pt"), "out.pt")); }

TEST(Save, DropsTheCompressionWithTheSuffix) { EXPECT_FALSE(compresses(small_in_gzip("model.pt.gz"), "out.pt")); }

TEST(Save, DoesAsOptionsSay) {
  EXPECT_FALSE(compresses(small(), "out.pt.gz", with_gzip(false)));
  EXPECT_TRUE(compresses(small(), "out.pt", with_gzip(true)));
  EXPECT_TRUE(compresses(small(), "out.pt", with_gzip({}, 9)));
}

TEST(Save, WritesTheFormatThatIsNamed) {
  const TemporaryFolder folder;
  SaveOptions options;
  options.format = "torch-legacy";
  EXPECT_EQ(save(small(), folder / "out.pt", options).format, "torch-legacy");
  EXPECT_EQ(load(folder / "out.pt").format, "torch-legacy");
  EXPECT_EQ(save(small(), folder / "same.pt").format, "torch");
}

Checkpoint named_weight() { return torch_testing::checkpoint_of(py::dict({{py::str("w"), torch_testing::weight()}})); }

TEST(Save, WritesTheFormatOfTheSuffix) {
  const TemporaryFolder folder;
  EXPECT_EQ(save(named_weight(), folder / "out.npz").format, "npz");
  EXPECT_EQ(save(named_weight(), folder / "out.npz.gz").format, "npz");
  EXPECT_EQ(load(folder / "out.npz.gz").format, "npz");
  EXPECT_EQ(save(named_weight(), folder / "OUT.Npz").format, "npz") << "in any case of letters";
  EXPECT_EQ(save(load(folder / "out.npz"), folder / "back.pt").format, "torch");
  EXPECT_EQ(save(load(folder / "out.npz"), folder / "same").format, "npz");
  SaveOptions options;
  options.format = "torch";
  EXPECT_EQ(save(named_weight(), folder / "other.npz", options).format, "torch") << "an option says more than a suffix";
}

TEST(Save, KeepsAFormatWhoseSuffixItIsToo) {
  const TemporaryFolder folder;
  SaveOptions options;
  options.format = "torch-legacy";
  save(named_weight(), folder / "old.pt", options);
  for (const char* suffix : {".pt", ".pth", ".ckpt", ".bin", ".th", ""})
    EXPECT_EQ(save(load(folder / "old.pt"), folder / (std::string("out") + suffix)).format, "torch-legacy") << suffix;
}

TEST(Save, KeepsTheFormatOfAFileThatItReplaces) {
  const TemporaryFolder folder;
  SaveOptions options;
  options.format = "torch";
  save(named_weight(), folder / "misnamed.npz", options);
  EXPECT_EQ(save(load(folder / "misnamed.npz"), folder / "misnamed.npz").format, "torch");
}

TEST(Save, RefusesASuffixOfWhatItDoesNotWrite) {
  const TemporaryFolder folder;
  for (const char* name : {"out.onnx", "out.H5", "out.pt.zst", "out.pt.lzma"}) {
    const auto error = error_of([&] { save(named_weight(), folder / name); });
    ASSERT_TRUE(error) << name;
    EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
    EXPECT_FALSE(std::filesystem::exists(folder / name));
    SaveOptions options;
    options.format = "torch";
    save(named_weight(), folder / name, options);
    EXPECT_EQ(save(load(folder / name), folder / name).format, "torch") << "in place, it stays what it was";
  }
}

TEST(Save, RefusesAFormatThatNobodyKnows) {
  const TemporaryFolder folder;
  SaveOptions options;
  options.format = "onnx";
  const auto error = error_of([&] { save(small(), folder / "out.pt", options); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  EXPECT_EQ(std::string(error->what()).find("no format is called 'onnx', expected npy, npz, torch, "), 0U);
  EXPECT_TRUE(folder.entries().empty());
}

TEST(Save, RefusesAProtocolThatPickleLacks) {
  const TemporaryFolder folder;
  SaveOptions options;
  options.protocol = 6;
  EXPECT_TRUE(error_of([&] { save(small(), folder / "out.pt", options); }));
  options.protocol = -1;
  EXPECT_TRUE(error_of([&] { save(small(), folder / "out.pt", options); }));
}

TEST(Save, WritesTheProtocolThatIsNamed) {
  const TemporaryFolder folder;
  SaveOptions options;
  options.protocol = 4;
  save(small(), folder / "out.pt", options);
  EXPECT_EQ(load(folder / "out.pt").protocol, 4);
}

TEST(Save, ReplacesUnlessToldNotTo) {
  const TemporaryFolder folder;
  io_testing::put_file(folder / "out.pt", std::string_view("old"));
  SaveOptions options;
  options.no_clobber = true;
  const auto error = error_of([&] { save(small(), folder / "out.pt", options); });
  ASSERT_TRUE(error);
  EXPECT_TRUE(error->is_output());
  EXPECT_EQ(io_testing::text_of(folder / "out.pt"), "old");
  save(small(), folder / "out.pt");
  EXPECT_NE(io_testing::text_of(folder / "out.pt"), "old");
}

TEST(Save, RefusesDangerousGlobalsUnlessAllowed) {
  const auto checkpoint = torch_testing::checkpoint_of(py::call(py::global("os", "system"), {py::str("true")}));
  const TemporaryFolder folder;
  for (const char* format : {"torch", "torch-legacy"}) {
    SaveOptions options;
    options.format = format;
    const auto error = error_of([&] { save(checkpoint, folder / "out.pt", options); });
    ASSERT_TRUE(error) << format;
    EXPECT_EQ(error->code(), ErrorCode::unsafe);
    EXPECT_NE(std::string(error->what()).find("os.system"), std::string::npos);
    EXPECT_TRUE(folder.entries().empty());
  }
  SaveOptions options;
  options.allow_unsafe = true;
  save(checkpoint, folder / "out.pt", options);
  EXPECT_EQ(load(folder / "out.pt").globals.at(0).name, "system");
}

TEST(Save, PassesUnknownGlobalsOn) {
  const TemporaryFolder folder;
  save(torch_testing::checkpoint_of(py::call(py::global("zoo", "Net"), {})), folder / "out.pt");
  EXPECT_EQ(load(folder / "out.pt").globals.at(0).verdict, Verdict::unknown);
}

TEST(Save, LeavesNothingBehindWhereTheCopyStops) {
  const std::vector<zip_testing::ZipPart> parts{{.name = "r/data.pkl", .data = py::pickle(torch_testing::weight())},
                                                {.name = "r/data/0", .data = std::string(16, 'x'), .crc = 1},
                                                {.name = "r/version", .data = "3\n"}};
  const auto checkpoint = torch_testing::read_bytes(io_testing::bytes_of(zip_testing::build_zip(parts)));
  const TemporaryFolder folder;
  for (const char* name : {"out.pt", "out.pt.gz"}) {
    const auto error = error_of([&] { save(checkpoint, folder / name); });
    ASSERT_TRUE(error);
    EXPECT_FALSE(error->is_output());
    EXPECT_NE(std::string(error->what()).find("r/data/0"), std::string::npos);
  }
  EXPECT_TRUE(folder.entries().empty());
}

TEST(Save, ReadsACompressedSourceToItsEnd) {
  Bytes damaged = io_testing::gzipped(bytes_of(ZipFile{.object = torch_testing::weight()}));
  damaged[damaged.size() - 6] ^= std::byte{1};
  const TemporaryFolder folder;
  EXPECT_TRUE(error_of([&] { save(read(source_of(damaged)), folder / "out.pt"); }));
  EXPECT_TRUE(folder.entries().empty());
}

TEST(Save, OfADryRunCountsAndWritesNothing) {
  const TemporaryFolder folder;
  for (const char* name : {"out.pt", "out.pt.gz"}) {
    SaveOptions options;
    options.dry_run = true;
    const SaveReport dry = save(small(), folder / name, options);
    EXPECT_TRUE(folder.entries().empty());
    const SaveReport real = save(small(), folder / name);
    EXPECT_EQ(dry.bytes, real.bytes);
    EXPECT_EQ(dry.gzip, real.gzip);
    std::filesystem::remove(folder / name);
  }
}

TEST(Save, OfADryRunReadsEveryByte) {
  const std::vector<zip_testing::ZipPart> parts{{.name = "r/data.pkl", .data = py::pickle(torch_testing::weight())},
                                                {.name = "r/data/0", .data = std::string(16, 'x'), .crc = 1},
                                                {.name = "r/version", .data = "3\n"}};
  const auto checkpoint = torch_testing::read_bytes(io_testing::bytes_of(zip_testing::build_zip(parts)));
  const TemporaryFolder folder;
  SaveOptions options;
  options.dry_run = true;
  EXPECT_TRUE(error_of([&] { save(checkpoint, folder / "out.pt", options); }));
}

/// A storage whose bytes, when they are read, alter what has already been written to the file that is being made: a
/// disk that keeps something else than it was given.
class Saboteur final : public ByteSource {
 public:
  Saboteur(std::uint64_t size, std::string folder) : ByteSource("saboteur"), size_(size), folder_(std::move(folder)) {}
  [[nodiscard]] std::uint64_t size() const override { return size_; }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset >= size_) return 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code ignored;
      const std::string target = std::filesystem::read_symlink(entry.path(), ignored).string();
      if (target.starts_with(folder_ + "/")) alter(std::stoi(entry.path().filename()));
    }
    return std::min<std::uint64_t>(out.size(), size_ - offset);
  }

  /// Once what stands there, of the first storage, has been written: that is the work of another thread.
  void alter(int file) const {
    constexpr off_t at = 300'000;
    constexpr std::byte other{0xA5};
    for (int wait = 0; std::filesystem::file_size("/proc/self/fd/" + std::to_string(file)) <= at && wait < 10'000;
         ++wait)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (::pwrite(file, &other, 1, at) == 1) ++hits;
  }

  mutable int hits = 0;

 private:
  std::uint64_t size_;
  std::string folder_;
};

/// Saves two storages, the second of which alters the first where it has been written already.
std::optional<Error> save_on_a_bad_disk(const TemporaryFolder& folder, ReadBack how, const std::string& format,
                                        const std::string& name = "out.pt") {
  constexpr std::int64_t elements = 1 << 18;
  const auto part = [](const std::string& key) {
    return torch_testing::tensor(torch_testing::storage({.key = key, .elements = elements}), {elements}, {1});
  };
  const Bytes data(elements * sizeof(float));
  Checkpoint checkpoint = torch_testing::read_bytes(
      bytes_of(ZipFile{.object = py::list({part("0"), part("1")}), .data = {{"data/0", data}, {"data/1", data}}}));
  const auto saboteur = std::make_shared<Saboteur>(data.size(), folder.path());
  checkpoint.storages.at(1).bytes = saboteur;
  SaveOptions options;
  options.read_back = how;
  options.format = format;
  auto error = error_of([&] { save(checkpoint, folder / name, options); });
  EXPECT_GT(saboteur->hits, 0);
  return error;
}

TEST(Save, ReadFullyFindsAByteThatTheDiskChanged) {
  for (const char* format : {"torch", "torch-legacy"}) {
    const TemporaryFolder folder;
    io_testing::put_file(folder / "out.pt", std::string_view("old"));
    const auto error = save_on_a_bad_disk(folder, ReadBack::full, format);
    ASSERT_TRUE(error) << format;
    EXPECT_EQ(error->code(), ErrorCode::io);
    EXPECT_TRUE(error->is_output());
    EXPECT_NE(std::string(error->what()).find("does not read back"), std::string::npos) << error->what();
    EXPECT_EQ(io_testing::text_of(folder / "out.pt"), "old");
    EXPECT_EQ(folder.entries().size(), 1U);
  }
}

/// Bytes, which an older protocol calls for: what that makes of them is no fault of the disk.
TEST(Save, WhatCouldNotBeReadAgainIsRefused) {
  const TemporaryFolder folder;
  py::Code items = py::put(py::bytes(std::string(10'000, '\xff')), 9);
  for (int i = 0; i < 1'000; ++i) items += "N" + py::get(9);
  const Checkpoint checkpoint = read(source_of(bytes_of(ZipFile{.object = "}(" + items + "Nu"}), "in.pt"));
  SaveOptions options;
  options.protocol = 3;
  save(checkpoint, folder / "out.pt", options);
  const std::string kept = io_testing::text_of(folder / "out.pt");
  options.protocol = 2;
  const auto error = error_of([&] { save(checkpoint, folder / "out.pt", options); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::limit_exceeded);
  EXPECT_FALSE(error->is_output());
  EXPECT_EQ(error->file(), "in.pt");
  EXPECT_EQ(std::string(error->what()).find("in.pt: what would be written could not be read again: "), 0U)
      << error->what();
  EXPECT_EQ(io_testing::text_of(folder / "out.pt"), kept);
}

/// The cap on a pickle's bytes goes by its file's, and gzip leaves next to nothing of these.
TEST(Save, WhatIsTooSmallInGzipForItsPickleIsRefused) {
  const TemporaryFolder folder;
  const std::string text(limits::pickle_floor + limits::mib, 'x');
  const Checkpoint checkpoint = read(source_of(bytes_of(ZipFile{.object = py::str(text)}), "in.pt"));
  save(checkpoint, folder / "out.pt");
  const auto error = error_of([&] { save(checkpoint, folder / "out.pt.gz"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::limit_exceeded);
  EXPECT_EQ(error->file(), "in.pt");
  EXPECT_NE(error->hint().find("--no-gzip"), std::string::npos) << error->hint();
  EXPECT_FALSE(std::filesystem::exists(folder / "out.pt.gz"));
}

TEST(Save, ReadQuicklyLooksAtNoStorage) {
  const TemporaryFolder folder;
  EXPECT_FALSE(save_on_a_bad_disk(folder, ReadBack::quick, "torch"));
  EXPECT_FALSE(save_on_a_bad_disk(folder, ReadBack::none, "torch"));
}

TEST(Save, GivesTheSameBytesTwice) {
  const TemporaryFolder folder;
  for (const char* name : {"a.pt", "b.pt", "a.pt.gz", "b.pt.gz"}) save(small(), folder / name);
  EXPECT_EQ(io_testing::text_of(folder / "a.pt"), io_testing::text_of(folder / "b.pt"));
  EXPECT_EQ(io_testing::text_of(folder / "a.pt.gz"), io_testing::text_of(folder / "b.pt.gz"));
}

TEST(Save, LeavesOutMetadataThatIsNoText) {
  const TemporaryFolder folder;
  Checkpoint checkpoint = named_weight();
  checkpoint.metadata = {{"a", "text"}, {"b", "\xff"}, {"\xff", "text"}};
  SaveOptions options;
  options.format = "safetensors";
  const SaveReport report = save(checkpoint, folder / "out.safetensors", options);
  EXPECT_EQ(report.left_out.back(), "2 entries of metadata are left out: bytes that are no UTF-8");
  const std::vector<std::pair<std::string, std::string>> kept{{"format", "pt"}, {"a", "text"}};
  EXPECT_EQ(load(folder / "out.safetensors").metadata, kept);
}

}  // namespace
}  // namespace ckpt
