#include "devices/visibility.h"

#include <gtest/gtest.h>

namespace ckpt::eval {
namespace {

const std::vector<std::string> three{"GPU-5ebe9f43-aaaa", "GPU-5ebe0000-bbbb", "GPU-77777777-cccc"};

bool is_faultless(std::string_view variable) { return visibility_fault(variable, three).empty(); }

bool is_blamed(std::string_view variable, std::string_view word) {
  return visibility_fault(variable, three).starts_with("'" + std::string(word) + "' names no GPU");
}

TEST(Visibility, IndicesOfGpusAreWell) {
  EXPECT_TRUE(is_faultless("0"));
  EXPECT_TRUE(is_faultless("2,0"));
  EXPECT_TRUE(is_faultless("2, 0"));
}

TEST(Visibility, HidingAllOnPurposeIsWell) {
  EXPECT_TRUE(is_faultless(""));
  EXPECT_TRUE(is_faultless("-1"));
  EXPECT_TRUE(is_faultless("1,-1,9"));
}

TEST(Visibility, UuidsAreWell) {
  EXPECT_TRUE(is_faultless("GPU-5ebe9f43-aaaa"));
  EXPECT_TRUE(is_faultless("GPU-77777777-cccc,0"));
}

TEST(Visibility, BeginningOfAUuidMustBeClear) {
  EXPECT_TRUE(is_faultless("GPU-5ebe9"));
  EXPECT_TRUE(is_blamed("GPU-5ebe", "GPU-5ebe"));
}

TEST(Visibility, MigInstancesAreNotJudged) {
  EXPECT_TRUE(is_faultless("MIG-5ebe9f43-aaaa"));
  EXPECT_TRUE(is_faultless("MIG-GPU-5ebe9f43-aaaa/1/0,MIG-9"));
}

TEST(Visibility, FirstWordThatNamesNoneIsBlamed) {
  EXPECT_TRUE(is_blamed("3", "3"));
  EXPECT_TRUE(is_blamed("1,7,9", "7"));
  EXPECT_TRUE(is_blamed("cuda:0", "cuda:0"));
  EXPECT_TRUE(is_blamed("GPU-9", "GPU-9"));
  EXPECT_TRUE(is_blamed("99999999999999999999999", "99999999999999999999999"));
}

TEST(Visibility, GpuNamedTwiceIsBlamed) {
  EXPECT_TRUE(visibility_fault("0,1,0", three).starts_with("'0' names a GPU for the second time"));
  EXPECT_TRUE(visibility_fault("2,GPU-7777", three).starts_with("'GPU-7777' names a GPU for the second time"));
}

}  // namespace
}  // namespace ckpt::eval
