#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/average.h"
#include "ckpt/error.h"
#include "ckpt/merge.h"
#include "ckpt/ops.h"
#include "formats/numpy_files.h"
#include "formats/torch_files.h"

/// A file that is replaced by what is made of it.
namespace ckpt {
namespace {

using io_testing::error_of;
using io_testing::TemporaryFolder;
using torch_testing::Bytes;
using torch_testing::ZipFile;

TEST(Save, MayReplaceItsOwnSource) {
  const TemporaryFolder folder;
  io_testing::put_file(folder / "model.pt", bytes_of(ZipFile{.object = torch_testing::weight()}));
  const std::string before = io_testing::text_of(folder / "model.pt");
  save(load(folder / "model.pt"), folder / "model.pt");
  EXPECT_EQ(io_testing::text_of(folder / "model.pt"), before);
}

TEST(Save, KeepsTheFormatOfAFileThatItReplacesByWhateverPath) {
  const TemporaryFolder folder;
  const std::string model = folder / "model.bin";
  for (const std::string& out : {folder / "model.bin", folder / "./model.bin", folder / "link.bin"}) {
    const Checkpoint checkpoint = torch_testing::checkpoint_of(py::dict({{py::str("w"), torch_testing::weight()}}));
    save(checkpoint, model, {{.format = "safetensors"}});
    std::filesystem::remove(folder / "link.bin");
    std::filesystem::create_symlink("model.bin", folder / "link.bin");
    EXPECT_EQ(save(load(model), out).format, "safetensors") << out;
    EXPECT_EQ(load(model).format, "safetensors") << out;
  }
  // A hard link is a name of its own: what was there under the other one stays.
  std::filesystem::create_hard_link(model, folder / "other.pt");
  EXPECT_EQ(save(load(model), folder / "other.pt").format, "torch");
  EXPECT_EQ(load(model).format, "safetensors");
}

TEST(Save, TakesNoPathOfWhichTheSystemSeesAPart) {
  const TemporaryFolder folder;
  const Checkpoint checkpoint = torch_testing::checkpoint_of(py::dict({{py::str("w"), torch_testing::weight()}}));
  save(checkpoint, folder / "model.pt");
  const std::string hidden = (folder / "model.pt") + std::string("\0.pt", 4);
  EXPECT_TRUE(error_of([&] { save(checkpoint, hidden); }));
  EXPECT_TRUE(error_of([&] { save(checkpoint, hidden, {{.format = "dcp"}}); }));
  EXPECT_TRUE(error_of([&] { load(hidden); }));
  EXPECT_TRUE(error_of([&] { load(folder.path() + std::string("\0", 1)); }));
  EXPECT_EQ(folder.entries(), std::vector<std::string>{"model.pt"});
}

TEST(Save, NamesAStorageWithoutBytes) {
  const TemporaryFolder folder;
  for (const char* format : {"torch", "torch-legacy"}) {
    Checkpoint checkpoint = torch_testing::checkpoint_of(py::dict({{py::str("w"), torch_testing::weight()}}));
    checkpoint.storages.at(0).bytes = nullptr;
    checkpoint.storages[0].location = "meta";
    const auto error = error_of([&] { save(checkpoint, folder / "out", {{.format = format}}); });
    ASSERT_TRUE(error) << format;
    EXPECT_EQ(error->code(), ErrorCode::invalid_argument) << format;
  }
}

/// A checkpoint, and something behind it.
Bytes with_more() {
  Bytes more = bytes_of(ZipFile{.object = torch_testing::weight()});
  more.insert(more.end(), 64, std::byte{7});
  return more;
}

TEST(Save, ReplacesNoSourceThatGoesOnAndIsCalledAsTheStreamIs) {
  const TemporaryFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const std::string name = "standard input";
  io_testing::put_file(name, with_more());
  EXPECT_TRUE(error_of([&] { save(load(name), name); }));
  EXPECT_EQ(io_testing::text_of(name), std::string(as_text(with_more())));
  std::filesystem::current_path(before);
}

TEST(Save, ReplacesNothingThatMayBeItsSource) {
  const TemporaryFolder folder;
  io_testing::put_file(folder / "model", with_more());
  const Checkpoint checkpoint = load(folder / "model");
  std::filesystem::rename(folder / "model", folder / "moved");
  std::filesystem::create_symlink("model", folder / "model");  // to itself
  const auto error = error_of([&] { save(checkpoint, folder / "moved"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::io);
  EXPECT_EQ(io_testing::text_of(folder / "moved"), std::string(as_text(with_more())));
}

/// Checkpoints of `size` bytes of a storage and more in each format that tells where it ends.
std::vector<std::pair<std::string, Bytes>> with_an_end(std::int64_t size) {
  const std::int64_t count = size / 4;
  const Bytes data = io_testing::random_bytes(static_cast<std::size_t>(size));
  const auto shape = std::to_string(count) + ",";
  const auto object = [&](const py::Code& storage) {
    return py::dict({{py::str("w"), torch_testing::tensor(storage, {count}, {1})}});
  };
  const torch_testing::StorageSpec spec{.elements = count};
  const Bytes zip = bytes_of(ZipFile{.object = object(torch_testing::storage(spec)), .data = {{"data/0", data}}});
  const Bytes legacy = bytes_of(torch_testing::LegacyFile{.object = object(torch_testing::legacy_storage(spec)),
                                                          .data = {{"0", static_cast<std::uint64_t>(count), data}}});
  const std::string npy = numpy_testing::npy(numpy_testing::line("<f4", "(" + shape + ")"), as_text(data));
  return {{"zip", zip}, {"legacy", legacy}, {"npy", io_testing::bytes_of(npy)}};
}

/// Of several inputs, each may be the one that is to be replaced.
void expect_joined_only_elsewhere(const std::string& goes_on, const std::string& other, const std::string& out) {
  const std::string before = io_testing::text_of(goes_on);
  for (const bool is_last : {false, true}) {
    const auto inputs = [&] {
      std::vector<Checkpoint> checkpoints;
      for (const std::string& file : is_last ? std::array{other, goes_on} : std::array{goes_on, other})
        checkpoints.push_back(load(file));
      return checkpoints;
    };
    const auto merged = [&] {
      std::vector<Checkpoint> checkpoints = inputs();
      checkpoints[is_last] = add_prefix(std::move(checkpoints[is_last]), "own.").first;
      return merge(std::move(checkpoints));
    };
    EXPECT_TRUE(error_of([&] { save(merged(), goes_on); }));
    EXPECT_TRUE(error_of([&] { save(average(inputs()).first, goes_on); }));
    EXPECT_EQ(io_testing::text_of(goes_on), before);
    save(merged(), out);
    EXPECT_EQ(load(out).tensors.size(), 2U);
    save(average(inputs()).first, out);
    EXPECT_EQ(load(out).tensors.size(), 1U);
    std::filesystem::remove(out);
  }
}

/// What follows a checkpoint in its file (another, say, of the same stream) would be lost with it.
TEST(Save, ReplacesNoSourceThatGoesOn) {
  for (const std::int64_t size : {16, 1 << 23})  // the end of a long stream is met when all else has been read
    for (const auto& [format, whole] : with_an_end(size)) {
      Bytes more = whole;
      more.insert(more.end(), whole.begin(), whole.begin() + 64);
      Bytes behind_gzip = io_testing::gzipped(whole);
      behind_gzip.insert(behind_gzip.end(), 9, std::byte{7});
      const TemporaryFolder folder;
      // An empty member behind those of ckpt's hides their index.
      const Bytes streamed = io_testing::joined({io_testing::gzipped(more), io_testing::gzipped({})});
      for (const Bytes& bytes : {more, io_testing::gzipped(more), streamed, behind_gzip}) {
        SCOPED_TRACE(format + " of " + std::to_string(bytes.size()) + " bytes");
        const std::string file = folder / "model";
        io_testing::put_file(file, bytes);
        const auto error = error_of([&] { save(load(file), file); });
        ASSERT_TRUE(error);
        EXPECT_EQ(error->what(), file + ": holds more than the checkpoint, which would be lost, expected another OUT");
        EXPECT_EQ(io_testing::text_of(file), std::string(as_text(bytes)));
        EXPECT_EQ(folder.entries().size(), 1U);
        SaveOptions options;
        options.dry_run = true;
        EXPECT_TRUE(error_of([&] { save(load(file), file, options); }));
        save(load(file), folder / "other.pt");
        EXPECT_EQ(load(folder / "other.pt").tensors.size(), 1U);
        if (format != "npy")  // one array, which joins no others
          expect_joined_only_elsewhere(file, folder / "other.pt", folder / "joined.pt");
        std::filesystem::remove(folder / "other.pt");
      }
    }
}

}  // namespace
}  // namespace ckpt
