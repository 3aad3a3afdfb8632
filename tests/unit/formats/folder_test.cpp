#include <gtest/gtest.h>
#include <sys/stat.h>

#include "ckpt/assemble.h"
#include "ckpt/error.h"
#include "ckpt/formats.h"
#include "format.h"
#include "io/io_testing.h"

namespace ckpt {
namespace {

using io_testing::error_of;
using io_testing::put_file;
using io_testing::TemporaryFolder;

void put_checkpoint(const std::string& path) {
  save(assemble({{.name = "w",
                  .dtype = DType::uint8,
                  .shape = {2},
                  .bytes = memory_source({std::byte{1}, std::byte{2}}, "w")}}),
       path);
}

TEST(FolderTest, AFolderOfOneCheckpointIsThatCheckpoint) {
  const TemporaryFolder folder;
  put_checkpoint(folder / "model.pt");
  put_file(folder / "config.json", "{}");
  EXPECT_EQ(tensor_names(load(folder.path())).front().name, "w");
}

TEST(FolderTest, WeightsByTheirUsualNameComeBeforeOtherCheckpoints) {
  const TemporaryFolder folder;
  put_checkpoint(folder / "pytorch_model.bin");
  put_file(folder / "optimizer.pt", "no checkpoint at all");
  EXPECT_EQ(load(folder.path()).file, folder / "pytorch_model.bin");
}

/// Each has a part of every matrix, under one name.
TEST(FolderTest, ConsolidatedFilesOfSeveralAreNotTakenForTheFirst) {
  const TemporaryFolder folder;
  put_checkpoint(folder / "consolidated.00.pth");
  EXPECT_EQ(load(folder.path()).file, folder / "consolidated.00.pth");
  put_checkpoint(folder / "consolidated.01.pth");
  const auto error = error_of([&] { (void)load(folder.path()); });
  ASSERT_TRUE(error);
  EXPECT_TRUE(io_testing::has(error->what(), "is a folder of the parts of one model")) << error->what();
}

/// As transformers takes them.
TEST(FolderTest, SafetensorsComeBeforeAnOlderIndexOfPickles) {
  const TemporaryFolder folder;
  put_file(folder / "pytorch_model.bin.index.json", R"({"metadata": {}, "weight_map": {"old": "old.bin"}})");
  put_checkpoint(folder / "model.safetensors");
  EXPECT_EQ(load(folder.path()).file, folder / "model.safetensors");
}

TEST(FolderTest, AFolderOfSeveralCheckpointsAsksWhichIsMeant) {
  const TemporaryFolder folder;
  put_checkpoint(folder / "a.pt");
  put_checkpoint(folder / "b.pt.gz");
  const auto error = error_of([&] { (void)load(folder.path()); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  EXPECT_NE(std::string(error->what()).find("a.pt, b.pt.gz"), std::string::npos) << error->what();
}

TEST(FolderTest, AFolderWithoutACheckpointIsNamed) {
  const TemporaryFolder folder;
  put_file(folder / "notes.txt", "");
  const auto error = error_of([&] { (void)load(folder.path()); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsupported);
}

// What each format enters a folder by, and what none claims.
TEST(FolderTest, APipeInItIsRefused) {
  for (const char* name : {".metadata", "__0.metadata", "model.safetensors.index.json", "x.bin.index.json",
                           "shard-00001-model-00001-of-00001.safetensors", "model.pt"}) {
    const TemporaryFolder folder;
    ASSERT_EQ(::mkfifo((folder / name).c_str(), 0600), 0);
    const auto error = error_of([&] { (void)load(folder.path()); });
    ASSERT_TRUE(error) << name;
    EXPECT_EQ(error->code(), ErrorCode::unsupported) << name;
  }
}

TEST(ReadContextTest, WhatLiesBesideAFileIsOpenedByName) {
  const TemporaryFolder folder;
  put_checkpoint(folder / "a.pt");
  put_file(folder / "index", "{}");
  const ReadContext context = ReadContext::of(*open_file(folder / "index"));
  const Checkpoint beside = context.open(context.open_beside("a.pt"), "shard 'a.pt'");
  EXPECT_EQ(beside.tensors.size(), 1u);
  EXPECT_EQ(context.open_beside("b.pt"), nullptr);
}

TEST(ReadContextTest, WhereSomethingLiesIsToldWithoutOpeningIt) {
  const TemporaryFolder folder;
  put_file(folder / "index", "{}");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const ReadContext context = ReadContext::of(*open_file(folder / "index"));
  EXPECT_EQ(context.path_beside("pipe"), folder / "pipe");
  EXPECT_EQ(context.path_beside("b.pt"), std::nullopt);
}

TEST(ReadContextTest, NothingOutsideTheFolderIsOpened) {
  const TemporaryFolder folder;
  put_file(folder / "index", "{}");
  const ReadContext context = ReadContext::of(*open_file(folder / "index"));
  for (const char* name : {"../a.pt", "/etc/hostname", "a/../../b"}) {
    const auto error = error_of([&] { (void)context.open_beside(name); });
    ASSERT_TRUE(error) << name;
    EXPECT_EQ(error->code(), ErrorCode::corrupt) << name;
  }
}

TEST(ReadContextTest, AStreamHasNothingBesideIt) {
  const ReadContext context = ReadContext::of(*memory_source({}, "standard input"));
  const auto error = error_of([&] { (void)context.open_beside("a.pt"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsupported);
}

TEST(ReadContextTest, FilesInFilesInFilesHaveAnEnd) {
  const TemporaryFolder folder;
  put_checkpoint(folder / "a.pt");
  ReadContext context;
  context.depth = limits::nesting;
  const auto error = error_of([&] { (void)context.open(open_file(folder / "a.pt"), "inside"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::limit_exceeded);
  EXPECT_NE(std::string(error->what()).find("inside"), std::string::npos) << error->what();
}

}  // namespace
}  // namespace ckpt
