#include "datasets/find.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>

#include "ckpt/error.h"
#include "eval/datasets/dataset_testing.h"

namespace ckpt::eval {
namespace {

using namespace eval_testing;
using io_testing::error_of;
using io_testing::put_file;
using io_testing::TemporaryFolder;

/// A folder with a model, in which tests put data.
class Find : public testing::Test {
 protected:
  void SetUp() override { ::unsetenv("CKPT_DATA"); }
  void TearDown() override { ::unsetenv("CKPT_DATA"); }

  void put(const std::string& name, const Bytes& bytes = batch(1)) const {
    std::filesystem::create_directories(std::filesystem::path(folder / name).parent_path());
    put_file(folder / name, bytes);
  }
  void put_idx(const std::string& below) const {
    put(below + "t10k-images-idx3-ubyte", idx_images(5));
    put(below + "t10k-labels-idx1-ubyte", idx_labels(5));
  }

  [[nodiscard]] DataRequest request(const std::string& arch) const {
    DataRequest request;
    request.model = folder / "model.pt";
    request.arch = arch;
    return request;
  }
  /// What is found beside the model, without the folder's name.
  std::string found(const std::string& arch) const {
    const std::string path = find_data(request(arch)).path;
    return path == folder.path() ? "." : path.substr(folder.path().size() + 1);
  }

  TemporaryFolder folder;
};

TEST_F(Find, IdxBesideTheModelBeforeBatches) {
  put("testing_set.0.pt");
  put_idx("");
  EXPECT_EQ(found("fnn"), "t10k-images-idx3-ubyte");
  EXPECT_EQ(found("mlp"), "t10k-images-idx3-ubyte");
}

TEST_F(Find, IdxInTorchvisionsFolderBelowData) {
  put_idx("data/MNIST/raw/");
  EXPECT_EQ(found("fnn"), "data/MNIST/raw/t10k-images-idx3-ubyte");
}

TEST_F(Find, ImagesWithoutLabelsArePassedOver) {
  put("t10k-images-idx3-ubyte", idx_images(5));
  put("testing_set.0.pt");
  EXPECT_EQ(found("fnn"), "testing_set.0.pt");
}

TEST_F(Find, DigitsBeforeBatches) {
  put("testing_set.0.pt");
  put("digits_test_u8.pt.gz");
  EXPECT_EQ(found("fnn"), "digits_test_u8.pt.gz");
}

TEST_F(Find, SeveralFilesOfDigitsAreNotOneOfThem) {
  put("digits_test.pt");
  put("digits_test.pt.gz");  // the same, packed
  EXPECT_EQ(found("fnn"), "digits_test.pt");
  put("digits_test_1.pt");
  EXPECT_THROW(found("fnn"), Error);
}

TEST_F(Find, BatchesForCaptchasBeforePictures) {
  put_idx("");
  put("testing_set.0.pt");
  put("00000-ab12.png");
  EXPECT_EQ(found("captcha-resnet"), "testing_set.0.pt");
}

TEST_F(Find, PicturesForCaptchas) {
  put_idx("");
  put("00000-ab12.png");
  EXPECT_EQ(found("captcha-resnet"), ".");
}

TEST_F(Find, PicturesWithoutLabelsAreNotTakenUnasked) {
  put("logo.png");
  EXPECT_TRUE(error_of([&] { found("captcha-resnet"); }));
}

TEST_F(Find, BatchesOfTheSplit) {
  put("testing_set.0.pt");
  put("training_set.0.pt");
  put("training_set.1.pt");
  auto training = request("fnn");
  training.split = "training";
  EXPECT_EQ(find_data(training).files,
            (std::vector<std::string>{folder / "training_set.0.pt", folder / "training_set.1.pt"}));
}

TEST_F(Find, OneNpzThatIsForTests) {
  put("outputs.npz");
  EXPECT_TRUE(error_of([&] { found("fnn"); }));
  put("mnist_test.npz");
  EXPECT_EQ(found("fnn"), "mnist_test.npz");
}

TEST_F(Find, OneSafetensorsFileThatIsForTests) {
  put("model.safetensors");
  EXPECT_TRUE(error_of([&] { found("fnn"); }));
  put("mnist_test.safetensors");
  EXPECT_EQ(found("fnn"), "mnist_test.safetensors");
}

TEST_F(Find, TheVariableBeforeWhatLiesBesideTheModel) {
  put_idx("");
  put("elsewhere/set.pt");
  ::setenv("CKPT_DATA", (folder / "elsewhere/set.pt").c_str(), 1);
  EXPECT_EQ(found("fnn"), "elsewhere/set.pt");
}

TEST_F(Find, WhatTheUserNamedBeforeTheVariable) {
  put("a.pt");
  put("b.pt");
  ::setenv("CKPT_DATA", (folder / "a.pt").c_str(), 1);
  auto named = request("fnn");
  named.data = folder / "b.pt";
  EXPECT_EQ(find_data(named).path, folder / "b.pt");
}

TEST_F(Find, NothingIsRefusedWithThePlacesAndTheCommand) {
  const auto error = error_of([&] { found("fnn"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  const std::string said = error->what();
  for (const std::string& place : {std::string("$CKPT_DATA"), folder.path(), folder / "data", std::string("./data")})
    EXPECT_NE(said.find(place), std::string::npos) << said;
  EXPECT_EQ(error->hint(), "ckpt eval " + (folder / "model.pt") + " --data PATH");
}

TEST_F(Find, TheCommandIsOneThatAShellTakes) {
  auto model = request("fnn");
  model.model = folder / "my model; v2.pt";
  EXPECT_EQ(error_of([&] { find_data(model); })->hint(), "ckpt eval '" + model.model + "' --data PATH");
  model.data = folder.path();
  EXPECT_EQ(error_of([&] { find_data(model); })->hint(), "name a file: ckpt eval '" + model.model + "' --data PATH");
}

TEST_F(Find, AFolderThatWasNamedHoldsWhatDoesNotSuitToo) {
  put_idx("");
  auto named = request("captcha-resnet");
  named.data = folder.path();
  EXPECT_EQ(find_data(named).path, folder / "t10k-images-idx3-ubyte");
}

TEST_F(Find, PicturesOfAFolderThatWasNamedWhateverTheirNames) {
  put("a/b/logo.png");
  auto named = request("captcha-resnet");
  named.data = folder.path();
  EXPECT_EQ(find_data(named).files, std::vector<std::string>{folder / "a/b/logo.png"});
}

TEST_F(Find, AnEmptyFolderThatWasNamedIsRefused) {
  auto named = request("fnn");
  named.data = folder.path();
  const auto error = error_of([&] { find_data(named); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error->file(), folder.path());
}

TEST_F(Find, APathThatIsNotThereIsAnErrorOfReading) {
  auto named = request("fnn");
  named.data = folder / "nowhere";
  const auto error = error_of([&] { find_data(named); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::io);
}

TEST_F(Find, StreamsAreRefused) {
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const std::string& path : {folder / "pipe", std::string("-"), std::string("/dev/null")}) {
    auto named = request("fnn");
    named.data = path;
    const auto error = error_of([&] { find_data(named); });
    ASSERT_TRUE(error) << path;
    EXPECT_EQ(error->code(), ErrorCode::unsupported) << path;
  }
}

TEST_F(Find, AnUnknownSplitIsRefused) {
  auto wrong = request("fnn");
  wrong.split = "test";
  const auto error = error_of([&] { (void)open_dataset(wrong); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace ckpt::eval
