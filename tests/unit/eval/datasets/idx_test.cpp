#include "datasets/idx.h"

#include <gtest/gtest.h>

#include "ckpt/error.h"
#include "eval/datasets/dataset_testing.h"

namespace ckpt::eval {
namespace {

using namespace eval_testing;
using io_testing::error_of;
using io_testing::gzipped;
using io_testing::put_file;
using io_testing::TemporaryFolder;

/// A folder with a pair of files, which may lie.
struct Pair {
  explicit Pair(const Bytes& images = idx_images(5), const Bytes& labels = idx_labels(5),
                const std::string& images_name = "t10k-images-idx3-ubyte",
                const std::string& labels_name = "t10k-labels-idx1-ubyte") {
    put_file(folder / images_name, images);
    put_file(folder / labels_name, labels);
  }
  TemporaryFolder folder;
};

void expect_five(Dataset& data) {
  const Everything all = read_all(data, 2);
  EXPECT_EQ(all.inputs, counted(30));
  EXPECT_EQ(all.labels, (std::vector<std::int32_t>{0, 1, 2, 0, 1}));
}

/// What reading all of the pair says.
std::string complaint(const Pair& pair, const Signature& signature = small_model()) {
  const auto error = error_of([&] { read_all(*opened(pair.folder.path(), signature)); });
  return error ? error->what() : "";
}

void expect_code(const Pair& pair, ErrorCode code) {
  const auto error = error_of([&] { read_all(*opened(pair.folder.path(), small_model())); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), code) << error->what();
}

TEST(Idx, ImagesAndLabelsOfAFolder) {
  const Pair pair;
  const auto data = opened(pair.folder.path(), small_model());
  EXPECT_EQ(data->path(), pair.folder / "t10k-images-idx3-ubyte");
  EXPECT_EQ(data->input_shape(), (Shape{2, 3}));
  EXPECT_EQ(data->target_shape(), Shape{1});
  expect_five(*data);
}

TEST(Idx, TheImagesFileByItsName) {
  const Pair pair;
  expect_five(*opened(pair.folder / "t10k-images-idx3-ubyte", small_model()));
}

TEST(Idx, CompressedWithItsSuffix) {
  const Pair pair(gzipped(idx_images(5)), gzipped(idx_labels(5)), "t10k-images-idx3-ubyte.gz",
                  "t10k-labels-idx1-ubyte.gz");
  expect_five(*opened(pair.folder.path(), small_model()));
}

TEST(Idx, CompressedWithoutItsSuffix) {
  const Pair pair(gzipped(idx_images(5)), gzipped(idx_labels(5)));
  expect_five(*opened(pair.folder.path(), small_model()));
}

TEST(Idx, CompressedImagesWithBareLabels) {
  const Pair pair(gzipped(idx_images(5)), idx_labels(5), "t10k-images-idx3-ubyte.gz");
  expect_five(*opened(pair.folder.path(), small_model()));
}

TEST(Idx, NamesWithADot) {
  const Pair pair(idx_images(5), idx_labels(5), "t10k-images.idx3-ubyte", "t10k-labels.idx1-ubyte");
  expect_five(*opened(pair.folder.path(), small_model()));
}

TEST(Idx, NamesOfOtherSets) {
  const Pair pair(idx_images(5), idx_labels(5), "emnist-images-idx3-ubyte", "emnist-labels-idx1-ubyte");
  expect_five(*opened(pair.folder / "emnist-images-idx3-ubyte", small_model()));
}

TEST(Idx, BelowTheFolderOfTorchvision) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "MNIST/raw");
  put_file(folder / "MNIST/raw/t10k-images-idx3-ubyte", idx_images(5));
  put_file(folder / "MNIST/raw/t10k-labels-idx1-ubyte", idx_labels(5));
  for (const std::string& path : {folder.path(), folder / "MNIST", folder / "MNIST/raw"})
    expect_five(*opened(path, small_model()));
}

TEST(Idx, SplitTrainingIsTheTrainFiles) {
  const Pair pair(idx_images(5), idx_labels(5), "train-images-idx3-ubyte", "train-labels-idx1-ubyte");
  expect_five(*opened(pair.folder.path(), small_model(), "training"));
  EXPECT_TRUE(error_of([&] { (void)opened(pair.folder.path(), small_model(), "testing"); }));
}

TEST(Idx, ReadingInAnyOrderAndStep) {
  const Pair pair(gzipped(idx_images(5)), gzipped(idx_labels(5)));
  const auto data = opened(pair.folder.path(), small_model());
  const Samples last = data->read(3, 10);
  EXPECT_EQ(last.count, 2U);
  EXPECT_EQ(last.labels, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(data->read(0, 1).inputs, counted(6));
  EXPECT_EQ(data->read(5, 1).count, 0U);
}

TEST(Idx, AnEmptySetIsRead) {
  const Pair pair(idx_images(0), idx_labels(0));
  EXPECT_EQ(opened(pair.folder.path(), small_model())->size(), 0U);
}

TEST(Idx, AWrongMagicIsNamed) {
  Bytes images = idx_images(5);
  images[0] = std::byte{1};
  EXPECT_NE(complaint(Pair(images)).find("begins with the bytes 1 0 8 3"), std::string::npos);
}

TEST(Idx, OtherTypesThanBytesAreNamed) { expect_code(Pair(idx({5, 2, 3}, counted(120), 13)), ErrorCode::unsupported); }

TEST(Idx, CutFilesAreTruncated) {
  const Bytes images = idx_images(5), labels = idx_labels(5);
  for (const std::size_t size : {std::size_t{3}, std::size_t{15}, std::size_t{16}, images.size() - 1})
    expect_code(Pair(Bytes(images.begin(), images.begin() + static_cast<std::ptrdiff_t>(size))), ErrorCode::truncated);
  expect_code(Pair(images, Bytes(labels.begin(), labels.end() - 1)), ErrorCode::truncated);
}

TEST(Idx, CutWithinGzipIsTruncated) {
  const Bytes images = idx_images(5);
  expect_code(Pair(gzipped(Bytes(images.begin(), images.end() - 1))), ErrorCode::truncated);
  const Bytes whole = gzipped(images);
  expect_code(Pair(Bytes(whole.begin(), whole.end() - 9)), ErrorCode::truncated);
}

TEST(Idx, BytesAfterTheEndAreCorrupt) {
  Bytes images = idx_images(5);
  images.push_back(std::byte{0});
  expect_code(Pair(images), ErrorCode::corrupt);
  expect_code(Pair(gzipped(images)), ErrorCode::corrupt);
}

TEST(Idx, BytesAfterAGzipStreamAreTold) {
  Bytes labels = gzipped(idx_labels(5));
  labels.resize(labels.size() + 7, std::byte{1});
  const Pair pair(gzipped(idx_images(5)), labels);
  const auto data = opened(pair.folder.path(), small_model());
  expect_five(*data);
  EXPECT_EQ(data->warnings(),
            std::vector<std::string>{pair.folder / "t10k-labels-idx1-ubyte" +
                                     ": 7 bytes follow the gzip stream, belong to nothing and are left out"});
}

TEST(Idx, CountsOfBothFilesMustAgree) {
  EXPECT_NE(complaint(Pair(idx_images(5), idx_labels(4))).find("[4] labels, expected 5"), std::string::npos);
}

TEST(Idx, ALabelOutOfRangeIsNamedWithItsSample) {
  const Pair pair(idx_images(5), idx({5}, {std::byte{0}, std::byte{1}, std::byte{2}, std::byte{3}, std::byte{0}}));
  EXPECT_NE(complaint(pair).find("sample 3 is of class 3, expected 0 to 2"), std::string::npos) << complaint(pair);
}

TEST(Idx, AHeaderThatPromisesTooMuchTakesNoMemory) {
  expect_code(Pair(gzipped(idx({0xFFFFFFFF, 2, 3}, {})), gzipped(idx({0xFFFFFFFF}, {}))), ErrorCode::truncated);
  expect_code(Pair(idx({1, 0xFFFFFFFF, 0xFFFFFFFF}, {}), idx_labels(1)), ErrorCode::limit_exceeded);
  expect_code(Pair(idx({0xFFFFFFFF, 0x7FFFFFF, 1}, {}), idx_labels(1)), ErrorCode::truncated);
}

TEST(Idx, ImagesWithoutLabelsAreRefusedWithTheNames) {
  const TemporaryFolder folder;
  put_file(folder / "t10k-images-idx3-ubyte", idx_images(5));
  const auto error = error_of([&] { (void)opened(folder.path(), small_model()); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  EXPECT_NE(std::string(error->what()).find("t10k-labels-idx1-ubyte"), std::string::npos);
}

TEST(Idx, AModelOfAnotherShapeIsRefusedWithBoth) {
  Signature signature = small_model();
  signature.input = {784};
  EXPECT_NE(complaint(Pair(), signature).find("[2, 3], expected [784]"), std::string::npos);
}

TEST(Idx, AModelOfSeveralPositionsIsRefused) {
  Signature signature = small_model();
  signature.positions = 2;
  EXPECT_NE(complaint(Pair(), signature).find("expected 2 integers a sample"), std::string::npos);
}

}  // namespace
}  // namespace ckpt::eval
