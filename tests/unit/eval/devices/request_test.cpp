#include "devices/request.h"

#include <gtest/gtest.h>

#include "ckpt/error.h"

namespace ckpt::eval {
namespace {

using Kind = DeviceRequest::Kind;

std::string hint_for(std::string_view word) {
  try {
    parse_device(word);
    ADD_FAILURE() << "'" << word << "' was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.hint();
  }
  return {};
}

bool proposes(std::string_view word, const std::string& device) {
  return hint_for(word).starts_with("--device " + device + ", perhaps; ");
}

TEST(Request, WordsAreTaken) {
  EXPECT_EQ(parse_device("auto").kind, Kind::automatic);
  EXPECT_EQ(parse_device("cpu").kind, Kind::cpu);
  EXPECT_EQ(parse_device("cuda").kind, Kind::cuda);
  EXPECT_EQ(parse_device("cuda:all").kind, Kind::all_gpus);
  EXPECT_EQ(parse_device("mps").kind, Kind::mps);
}

TEST(Request, IndicesAreTakenInTheirOrder) {
  EXPECT_EQ(parse_device("cuda:3").kind, Kind::gpus);
  EXPECT_EQ(parse_device("cuda:3").indices, (std::vector{3}));
  EXPECT_EQ(parse_device("cuda:2,0,11").indices, (std::vector{2, 0, 11}));
  EXPECT_EQ(parse_device("cuda:2,0").word, "cuda:2,0");
}

TEST(Request, AnythingElseIsRefusedWithAllThatThereIs) {
  for (const char* word : {"", "tpu", "cuda:", "cuda:,1", "cuda:1,", "cuda:-1", "cuda:a", "cuda:0,0", "cuda:1 ",
                           "cuda:all,0", "cuda:99999999999", "cuda:01", "CPU", "cpu:0", "mps:0", ":", "0"}) {
    EXPECT_NE(hint_for(word).find("auto, cpu, cuda, cuda:N, cuda:0,2 (several), cuda:all and mps"), std::string::npos)
        << word;
  }
}

TEST(Request, OtherProgramsWordsAreUnderstood) {
  EXPECT_TRUE(proposes("gpu", "cuda"));
  EXPECT_TRUE(proposes("GPU:1", "cuda:1"));
  EXPECT_TRUE(proposes("1", "cuda:1"));
  EXPECT_TRUE(proposes("0,2", "cuda:0,2"));
  EXPECT_TRUE(proposes("cuda0", "cuda:0"));
  EXPECT_TRUE(proposes("cuda:01,00", "cuda:1,0"));
  EXPECT_TRUE(proposes("cuda:0,cuda:2", "cuda:0,2"));
  EXPECT_TRUE(proposes("cpu:0", "cpu"));
  EXPECT_TRUE(proposes("metal", "mps"));
  EXPECT_TRUE(proposes("all", "cuda:all"));
  EXPECT_TRUE(proposes("CUDA", "cuda"));
}

TEST(Request, OneSlipIsForgiven) {
  EXPECT_TRUE(proposes("cud", "cuda"));
  EXPECT_TRUE(proposes("cdua", "cuda"));
  EXPECT_TRUE(proposes("cudaa", "cuda"));
  EXPECT_TRUE(proposes("coda:2", "cuda:2"));
  EXPECT_TRUE(proposes("autp", "auto"));
}

TEST(Request, NothingIsProposedForWhatIsFarOff) {
  EXPECT_TRUE(hint_for("quantum").starts_with("there are "));
  EXPECT_TRUE(hint_for("tpu:1").find("cuda:1") == std::string::npos);
}

}  // namespace
}  // namespace ckpt::eval
