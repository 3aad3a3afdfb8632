#include "datasets/tensors.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "ckpt/error.h"
#include "datasets/batch_files.h"
#include "eval/datasets/dataset_testing.h"

namespace ckpt::eval {
namespace {

using namespace eval_testing;
using io_testing::error_of;
using io_testing::put_file;
using io_testing::TemporaryFolder;

/// A batch of one sample, of that class.
Bytes one_of(std::int64_t label) { return saved_tuple({small_inputs(1), {"Long", {1}, raw<std::int64_t>({label})}}); }

std::vector<std::int32_t> labels_in(const TemporaryFolder& folder, std::uint64_t step = 1000,
                                    const std::string& split = "testing") {
  return read_all(*opened(folder.path(), small_model(), split), step).labels;
}

TEST(Tensors, AFolderIsItsBatchesInNumericOrder) {
  const TemporaryFolder folder;
  std::vector<std::int32_t> expected;
  for (int i = 0; i < 12; ++i) {
    put_file(folder / ("testing_set." + std::to_string(i) + ".pt"), one_of(i * i % 3));
    expected.push_back(i * i % 3);
  }
  EXPECT_EQ(labels_in(folder), expected);
  EXPECT_EQ(opened(folder.path(), small_model())->path(), folder.path());
}

TEST(Tensors, SplitsAreApart) {
  const TemporaryFolder folder;
  put_file(folder / "testing_set.0.pt", one_of(0));
  put_file(folder / "training_set.0.pt", one_of(1));
  put_file(folder / "validating_set.0.pt.gz", io_testing::gzipped(one_of(2)));
  EXPECT_EQ(labels_in(folder, 1, "testing"), std::vector<std::int32_t>{0});
  EXPECT_EQ(labels_in(folder, 1, "training"), std::vector<std::int32_t>{1});
  EXPECT_EQ(labels_in(folder, 1, "validating"), std::vector<std::int32_t>{2});
}

TEST(Tensors, AGapIsAnErrorThatNamesTheMissingFile) {
  const TemporaryFolder folder;
  for (const int i : {0, 1, 3}) put_file(folder / ("testing_set." + std::to_string(i) + ".pt"), one_of(0));
  const auto error = error_of([&] { labels_in(folder); });
  ASSERT_TRUE(error);
  EXPECT_NE(std::string(error->what()).find("no file testing_set.2.pt"), std::string::npos) << error->what();
}

TEST(Tensors, TheFirstIsNumberNought) {
  const TemporaryFolder folder;
  put_file(folder / "testing_set.1.pt", one_of(0));
  const auto error = error_of([&] { labels_in(folder); });
  ASSERT_TRUE(error);
  EXPECT_NE(std::string(error->what()).find("no file testing_set.0.pt"), std::string::npos) << error->what();
}

TEST(Tensors, NumbersMayHaveZerosBefore) {
  const TemporaryFolder folder;
  for (const char* name : {"testing_set.00.pt", "testing_set.01.pt.gz", "testing_set.2.pt"})
    put_file(folder / name, "");
  const auto files = batch_files(folder.path(), "testing");
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files[1], folder / "testing_set.01.pt.gz");
  put_file(folder / "testing_set.02.pt", "");
  const auto error = error_of([&] { static_cast<void>(batch_files(folder.path(), "testing")); });
  ASSERT_TRUE(error);
  EXPECT_NE(std::string(error->what()).find("two files of one batch"), std::string::npos) << error->what();
}

TEST(Tensors, OtherNamesAreNoBatches) {
  const TemporaryFolder folder;
  for (const char* name : {"testing_set.pt", "testing_set..pt", "testing_set.1a.pt", "testing_set.-1.pt",
                           "xtesting_set.2.pt", "testing_set.99999999999999999999.pt", "testing_set.3.txt"})
    put_file(folder / name, "");
  EXPECT_TRUE(batch_files(folder.path(), "testing").empty());
}

TEST(Tensors, ReadingStopsAtTheEndOfAFile) {
  const TemporaryFolder folder;
  put_file(folder / "testing_set.0.pt", batch(5));
  put_file(folder / "testing_set.1.pt", batch(3));
  const auto data = opened(folder.path(), small_model());
  EXPECT_EQ(data->size(), 8U);
  const Samples first = data->read(4, 100);
  EXPECT_EQ(first.count, 1U);
  const Samples second = data->read(5, 100);
  EXPECT_EQ(second.count, 3U);
  EXPECT_EQ(second.labels, (std::vector<std::int32_t>{0, 1, 2}));
}

TEST(Tensors, AnEmptyFileAmongThemIsPassedOver) {
  const TemporaryFolder folder;
  put_file(folder / "testing_set.0.pt", batch(2));
  put_file(folder / "testing_set.1.pt", batch(0));
  put_file(folder / "testing_set.2.pt", batch(1));
  EXPECT_EQ(labels_in(folder, 1), (std::vector<std::int32_t>{0, 1, 0}));
}

TEST(Tensors, FilesOfOtherSamplesAreRefused) {
  const TemporaryFolder folder;
  put_file(folder / "testing_set.0.pt", batch(2));
  put_file(folder / "testing_set.1.pt",
           saved_tuple({{"Float", {1, 2, 3}, raw<float>({0, 0, 0, 0, 0, 0})}, small_classes(1)}));
  const auto error = error_of([&] { labels_in(folder); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->file(), folder / "testing_set.1.pt");
  EXPECT_NE(std::string(error->what()).find("uint8 [2, 3]"), std::string::npos) << error->what();
}

TEST(Tensors, ALabelOutOfRangeCountsFromTheFirstFile) {
  const TemporaryFolder folder;
  put_file(folder / "testing_set.0.pt", batch(5));
  put_file(folder / "testing_set.1.pt", one_of(7));
  const auto error = error_of([&] { labels_in(folder); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->file(), folder / "testing_set.1.pt");
  EXPECT_NE(std::string(error->what()).find("sample 5 is of class 7"), std::string::npos) << error->what();
}

/// Files of real PyTorch, and the real test set, where they are.
class SharedData : public testing::Test {
 protected:
  static std::string path(const std::string& name) {
    const char* const told = std::getenv("CKPT_SHARED");
    const std::string folder = told != nullptr ? told : CKPT_TEST_DATA "/../../../shared";
    return folder + "/" + name;
  }
  static bool there(const std::string& name) { return std::filesystem::exists(path(name)); }
};

std::string digest_of(Dataset& data, std::uint64_t step, std::size_t positions) {
  DataDigest digest;
  for (std::uint64_t at = 0; at < data.size();) {
    const Samples samples = data.read(at, step);
    digest.add(samples, positions);
    at += samples.count;
  }
  return digest.text();
}

Signature digits() {
  Signature signature;
  signature.input = {784};
  signature.classes = 10;
  return signature;
}

Signature captchas() {
  Signature signature;
  signature.input = {3, 56, 24};
  signature.positions = 4;
  signature.classes = 36;
  signature.alphabet = "abcdefghijklmnopqrstuvwxyz0123456789";
  return signature;
}

TEST_F(SharedData, Mnist) {
  if (!there("corpus/datasets/mnist")) GTEST_SKIP() << "no " << path("corpus/datasets/mnist");
  const auto data = opened(path("corpus/datasets/mnist"), digits());
  EXPECT_EQ(data->size(), 10000U);
  EXPECT_EQ(data->read(0, 5).labels, (std::vector<std::int32_t>{7, 2, 1, 0, 4}));
  const std::string digest = digest_of(*data, 1000, 1);
  EXPECT_EQ(digest, "abe38e7f35676172132af90ded1c749316150362815a6df560ecb3b2f2cbd874");
  EXPECT_EQ(digest, digest_of(*data, 333, 1));
}

TEST_F(SharedData, Digits) {
  if (!there("reference/digits_test_u8.pt.gz")) GTEST_SKIP() << "no " << path("reference");
  const auto data = opened(path("reference/digits_test_u8.pt.gz"), digits());
  EXPECT_EQ(data->size(), 397U);
  EXPECT_EQ(data->input_shape(), (Shape{1, 28, 28}));
}

TEST_F(SharedData, CaptchaBatches) {
  if (!there("reference/captcha_testing_set.0.pt")) GTEST_SKIP() << "no " << path("reference");
  const auto named = opened(path("reference/captcha_testing_set.0.pt"), captchas());
  EXPECT_EQ(named->size(), 200U);
  EXPECT_EQ(captchas().text(named->read(0, 1).labels.data()), "q66z");
  EXPECT_EQ(opened(path("reference/testing_set.0.pt"), captchas())->size(), 100U);
}

TEST_F(SharedData, CaptchaPictures) {
  if (!there("corpus/datasets/captcha")) GTEST_SKIP() << "no " << path("corpus/datasets/captcha");
  const auto data = opened(path("corpus/datasets/captcha"), captchas());
  EXPECT_EQ(data->size(), 35U);
  EXPECT_EQ(captchas().text(data->read(1, 1).labels.data()), "1g4j");
}

}  // namespace
}  // namespace ckpt::eval
