#include "ckpt/device.h"

#include <gtest/gtest.h>

#include "ckpt/error.h"

namespace ckpt {
namespace {

Error refusal(std::string_view device) {
  try {
    const std::string tag = location_tag(device);
    ADD_FAILURE() << "'" << device << "' was taken as " << tag;
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorCode::io, "not refused");
}

TEST(Device, NumberedTypesGetIndexZero) {
  EXPECT_EQ(location_tag("cuda"), "cuda:0");
  EXPECT_EQ(location_tag("xpu"), "xpu:0");
  EXPECT_EQ(location_tag("hpu"), "hpu:0");
  EXPECT_EQ(location_tag("npu"), "npu:0");
  EXPECT_EQ(location_tag("mtia"), "mtia:0");
  EXPECT_EQ(location_tag("maia"), "maia:0");
  EXPECT_EQ(location_tag("privateuseone"), "privateuseone:0");
}

TEST(Device, GivenIndexStays) {
  EXPECT_EQ(location_tag("cuda:3"), "cuda:3");
  EXPECT_EQ(location_tag("xla:0"), "xla:0");
  EXPECT_EQ(location_tag("cuda:127"), "cuda:127");
}

TEST(Device, TypesThatTorchTagsWithoutIndexHaveNone) {
  EXPECT_EQ(location_tag("cpu"), "cpu");
  EXPECT_EQ(location_tag("cpu:0"), "cpu");
  EXPECT_EQ(location_tag("mps:0"), "mps");
  EXPECT_EQ(location_tag("meta"), "meta");
}

TEST(Device, UnknownNamesAreRefused) {
  for (std::string_view device : {"", "gpu", "cuda:x", "CUDA:0", "cuda:", "cuda:-1", "cuda:+1", "cuda:01", "cuda:128",
                                  "cuda:99999999999", "cuda:0:0", "cuda0", " cuda", "*", ":0"}) {
    EXPECT_EQ(refusal(device).code(), ErrorCode::invalid_argument) << device;
  }
}

TEST(Device, RefusalSaysWhatIsKnown) {
  EXPECT_NE(std::string(refusal("abacus").what()).find("privateuseone"), std::string::npos);
  EXPECT_EQ(refusal("abacus").hint(), "");
}

TEST(Device, NicknamesGetAHint) {
  EXPECT_EQ(refusal("gpu").hint(), "did you mean cuda:0?");
  EXPECT_EQ(refusal("gpu:1").hint(), "did you mean cuda:1?");
  EXPECT_EQ(refusal("GPU0").hint(), "did you mean cuda:0?");
  EXPECT_EQ(refusal("privateuse1:2").hint(), "did you mean privateuseone:2?");
}

TEST(Device, SlipsGetAHint) {
  EXPECT_EQ(refusal("CUDA:2").hint(), "did you mean cuda:2?");
  EXPECT_EQ(refusal("cuda1").hint(), "did you mean cuda:1?");
  EXPECT_EQ(refusal("cuda:x").hint(), "did you mean cuda:0?");
  EXPECT_EQ(refusal("cuda:128").hint(), "did you mean cuda:127?");
  EXPECT_EQ(refusal("gpu128").hint(), "did you mean cuda:127?");
}

TEST(DeviceMap, OneDeviceTakesEverything) {
  const DeviceMap map = DeviceMap::all_to("cuda");
  EXPECT_EQ(map.map("cpu"), "cuda:0");
  EXPECT_EQ(map.map("someone's:4"), "cuda:0");
}

TEST(DeviceMap, WhatNothingMatchesStays) {
  DeviceMap map;
  map.add("cuda:0=cuda:1");
  EXPECT_EQ(map.map("cuda:2"), "cuda:2");
  EXPECT_EQ(map.map("cpu:0"), "cpu:0");
}

TEST(DeviceMap, RulesSwapDevicesInOnePass) {
  DeviceMap map;
  map.add("cuda:0=cuda:1");
  map.add("cuda:1=cuda:0");
  EXPECT_EQ(map.map("cuda:0"), "cuda:1");
  EXPECT_EQ(map.map("cuda:1"), "cuda:0");
}

TEST(DeviceMap, ExactTagWinsOverTypeAndTypeOverStar) {
  DeviceMap map;
  map.add("*=meta");
  map.add("cuda=cpu");
  map.add("cuda:1=cuda:0");
  EXPECT_EQ(map.map("cuda:1"), "cuda:0");
  EXPECT_EQ(map.map("cuda:7"), "cpu");
  EXPECT_EQ(map.map("mps"), "meta");
}

TEST(DeviceMap, TypeAloneDoesNotTakeLongerNames) {
  DeviceMap map;
  map.add("cuda=cpu");
  EXPECT_EQ(map.map("cudax:0"), "cudax:0");
}

TEST(DeviceMap, SourceMayBeABackendNobodyKnows) {
  DeviceMap map;
  map.add("abacus:0=cpu");
  EXPECT_EQ(map.map("abacus:0"), "cpu");
}

TEST(DeviceMap, MalformedRulesAreRefused) {
  for (std::string_view rule : {"", "cuda:0", "=cpu", "cuda:0=", "cuda:0=gpu", "cuda:0=cpu=cpu"}) {
    DeviceMap map;
    EXPECT_THROW(map.add(rule), Error) << rule;
  }
}

TEST(DeviceMap, TwoTargetsForOneSourceAreRefused) {
  DeviceMap map;
  map.add("cuda:0=cpu");
  EXPECT_NO_THROW(map.add("cuda:0=cpu"));
  EXPECT_THROW(map.add("cuda:0=cuda:1"), Error);
}

TEST(DeviceMap, UnmatchedSourcesAreNamedAsWritten) {
  DeviceMap map;
  map.add("cuda:5=cpu");
  map.add("mps=cpu");
  map.add("cuda=cpu");
  EXPECT_EQ(map.unmatched({"cuda:0", "cpu"}), (std::vector<std::string>{"cuda:5", "mps"}));
}

TEST(DeviceMap, EmptyUntilARuleIsAdded) {
  DeviceMap map;
  EXPECT_TRUE(map.empty());
  map.add("*=cpu");
  EXPECT_FALSE(map.empty());
}

}  // namespace
}  // namespace ckpt
