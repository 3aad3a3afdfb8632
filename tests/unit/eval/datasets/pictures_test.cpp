#include "datasets/pictures.h"

#include <gtest/gtest.h>

#include <sstream>

#include "ckpt/error.h"
#include "eval/datasets/dataset_testing.h"
#include "eval/datasets/png_testing.h"

namespace ckpt::eval {
namespace {

using namespace eval_testing;
using io_testing::error_of;
using io_testing::put_file;
using io_testing::TemporaryFolder;
using png_testing::png;

/// 2 × 2 in colours that count up.
Bytes coloured() {
  return png(
      {.width = 2, .height = 2, .colour = PNG_COLOR_TYPE_RGB, .rows = {{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}}});
}

std::vector<int> numbers(const Bytes& bytes) {
  std::vector<int> out;
  for (const std::byte byte : bytes) out.push_back(std::to_integer<int>(byte));
  return out;
}

std::string complaint(const std::string& name, const Bytes& file = coloured(),
                      const Signature& signature = small_reader()) {
  const TemporaryFolder folder;
  put_file(folder / name, file);
  const auto error = error_of([&] { read_all(*opened(folder.path(), signature)); });
  return error ? error->what() : "";
}

TEST(Pictures, ColumnsOfColoursWithLabelsFromNames) {
  const TemporaryFolder folder;
  put_file(folder / "2-B1.png", coloured());
  put_file(folder / "10-aa.png", coloured());
  const Everything all = read_all(*opened(folder.path(), small_reader()), 1);
  EXPECT_EQ(all.labels, (std::vector<std::int32_t>{1, 2, 0, 0}));
  const Bytes first(all.inputs.begin(), all.inputs.begin() + 12);
  EXPECT_EQ(numbers(first), (std::vector<int>{0, 6, 3, 9, 1, 7, 4, 10, 2, 8, 5, 11}));
}

TEST(Pictures, GreyRowsForDigits) {
  const TemporaryFolder folder;
  put_file(folder / "00000-2.png", png({.width = 2, .height = 2, .rows = {{1, 2}, {3, 4}}}));
  Signature signature = small_model();
  signature.input = {2, 2};
  const Everything all = read_all(*opened(folder.path(), signature));
  EXPECT_EQ(numbers(all.inputs), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(all.labels, std::vector<std::int32_t>{2});
}

TEST(Pictures, OneFileByItsContent) {
  const TemporaryFolder folder;
  put_file(folder / "ab_1.png", coloured());
  EXPECT_EQ(opened(folder / "ab_1.png", small_reader())->size(), 1U);
}

TEST(Pictures, ANameWithoutALabelIsNamed) {
  EXPECT_NE(complaint("logo.png").find("logo.png: the name tells no label of length 2"), std::string::npos);
}

TEST(Pictures, ANameInACommandIsOneWordOfAShell) {
  const TemporaryFolder folder;
  put_file(folder / "it's; a logo.png", coloured());
  const auto error = error_of([&] { read_all(*opened(folder.path(), small_reader())); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->hint(), "what it holds: ckpt eval MODEL --predict '" + (folder / "it'\\''s; a logo.png") + "'");
}

TEST(Pictures, ALabelOfAnotherLengthIsNamed) {
  EXPECT_NE(complaint("0-ab1.png").find("0-ab1.png: the name tells no label of length 2"), std::string::npos);
}

TEST(Pictures, ALabelOutsideTheAlphabetIsNamed) {
  EXPECT_NE(complaint("0-az.png").find("'az' is none that the model reads"), std::string::npos);
}

TEST(Pictures, ADigitPastTheClassesIsNamed) {
  Signature signature = small_model();
  signature.input = {2, 2};
  EXPECT_NE(complaint("0-3.png", coloured(), signature).find("'3' is none"), std::string::npos);
}

TEST(Pictures, OneThatIsBrokenIsNamed) {
  EXPECT_NE(complaint("0-ab.png", Bytes(20)).find("0-ab.png"), std::string::npos);
}

TEST(Pictures, AModelOfNoPicturesIsRefused) {
  Signature signature = small_reader();
  signature.input = {5};
  EXPECT_NE(complaint("0-ab.png", coloured(), signature).find("a model that takes [5]"), std::string::npos);
}

TEST(Pictures, ASampleToBeReadHasNoLabel) {
  const TemporaryFolder folder;
  put_file(folder / "whatever", coloured());
  const Samples sample = read_sample(folder / "whatever", small_reader());
  EXPECT_EQ(sample.count, 1U);
  EXPECT_EQ(sample.inputs.size(), 12U);
  EXPECT_EQ(sample.labels, (std::vector<std::int32_t>{-1, -1}));
  EXPECT_THROW(read_sample(folder / "nowhere", small_reader()), Error);
}

std::vector<std::string> meant(const std::string& word, const std::string& lines = "") {
  std::istringstream in(lines);
  std::vector<std::string> paths;
  each_picture(word, in, [&](const std::string& path) { paths.push_back(path); });
  return paths;
}

TEST(EachPicture, AFileByItself) { EXPECT_EQ(meant("no such file"), std::vector<std::string>{"no such file"}); }
TEST(EachPicture, LinesOfTheInput) {
  EXPECT_EQ(meant("-", "a.png\n\nb c.png"), (std::vector<std::string>{"a.png", "b c.png"}));
}

TEST(EachPicture, AllOfAFolder) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "sub");
  put_file(folder / "10.png", "");
  put_file(folder / "9.png", "");
  put_file(folder / "sub/1.png", "");
  put_file(folder / "note.txt", "");
  EXPECT_EQ(meant(folder.path()),
            (std::vector<std::string>{folder / "9.png", folder / "10.png", folder / "sub/1.png"}));
}

TEST(EachPicture, AFolderWithoutAnyIsRefused) {
  const TemporaryFolder folder;
  EXPECT_THROW(meant(folder.path()), Error);
}

}  // namespace
}  // namespace ckpt::eval
