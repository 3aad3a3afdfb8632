#include "distributed/place.h"

#include <gtest/gtest.h>

#include <map>

#include "ckpt/error.h"

namespace ckpt::eval {
namespace {

std::optional<Place> place_in(std::map<std::string, std::string> variables) {
  return find_place([variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string refusal(const std::map<std::string, std::string>& variables) {
  try {
    (void)place_in(variables);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "no error";
}

TEST(FindPlace, IsNoneWhereNothingSpeaksOfRanks) { EXPECT_FALSE(place_in({{"PATH", "/bin"}})); }

TEST(FindPlace, ReadsTorchrun) {
  const auto place = place_in({{"RANK", "5"},
                               {"WORLD_SIZE", "8"},
                               {"LOCAL_RANK", "1"},
                               {"MASTER_ADDR", "gpu07"},
                               {"MASTER_PORT", "29400"},
                               {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                               {"TORCHELASTIC_RESTART_COUNT", "2"}});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 5u);
  EXPECT_EQ(place->size, 8u);
  EXPECT_EQ(place->local_rank, 1u);
  EXPECT_EQ(place->host, "gpu07");
  EXPECT_EQ(place->port, 29400);
  EXPECT_TRUE(place->store_runs);
  EXPECT_EQ(place->attempt, "2");
}

TEST(FindPlace, TakesVariablesSetByHandWithoutLocalRank) {
  const auto place =
      place_in({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "4000"}});
  ASSERT_TRUE(place);
  EXPECT_FALSE(place->local_rank);
  EXPECT_FALSE(place->store_runs);
}

TEST(FindPlace, NeedsNoStoreForOneRank) {
  const auto place = place_in({{"RANK", "0"}, {"WORLD_SIZE", "1"}});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->size, 1u);
}

TEST(FindPlace, NamesTheVariableThatIsMissing) {
  EXPECT_NE(refusal({{"RANK", "0"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}}).find("WORLD_SIZE is not set"),
            std::string::npos);
  EXPECT_NE(refusal({{"WORLD_SIZE", "2"}}).find("RANK is not set"), std::string::npos);
  EXPECT_NE(refusal({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}).find("MASTER_PORT is not set"),
            std::string::npos);
}

TEST(FindPlace, RefusesWhatIsNoNumber) {
  EXPECT_NE(refusal({{"RANK", "one"}, {"WORLD_SIZE", "2"}}).find("RANK is 'one'"), std::string::npos);
  EXPECT_NE(refusal({{"RANK", "0"}, {"WORLD_SIZE", "99999999999999999999"}}).find("WORLD_SIZE is"), std::string::npos);
  EXPECT_NE(refusal({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "70000"}}).find("65535"),
            std::string::npos);
}

TEST(FindPlace, RefusesARankPastTheSize) {
  EXPECT_NE(
      refusal({{"RANK", "2"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}}).find("count from 0"),
      std::string::npos);
}

TEST(FindPlace, ReadsASlurmStepAndMakesUpWhereToMeet) {
  const auto place = place_in({{"SLURM_PROCID", "3"},
                               {"SLURM_STEP_NUM_TASKS", "4"},
                               {"SLURM_LOCALID", "1"},
                               {"SLURM_STEP_NODELIST", "gpu[07-08]"},
                               {"SLURM_JOB_ID", "123456"},
                               {"SLURM_STEP_ID", "0"}});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 3u);
  EXPECT_EQ(place->size, 4u);
  EXPECT_EQ(place->local_rank, 1u);
  EXPECT_EQ(place->host, "gpu07");
  EXPECT_EQ(place->port, 20000 + 123456 % 20000);
}

TEST(FindPlace, TakesNoLocalRankWhereASlurmTaskSeesItsOwnGpuAlone) {
  const auto place = place_in({{"SLURM_PROCID", "1"},
                               {"SLURM_STEP_NUM_TASKS", "1000"},
                               {"SLURM_LOCALID", "1"},
                               {"SLURM_STEP_NODELIST", "gpu7"},
                               {"SLURM_JOB_ID", "1"},
                               {"CUDA_VISIBLE_DEVICES", "3"}});
  ASSERT_TRUE(place);
  EXPECT_FALSE(place->local_rank);
}

TEST(FindPlace, RunsAloneInABatchScript) { EXPECT_FALSE(place_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}})); }

TEST(FirstHost, ReadsSlurmsLists) {
  EXPECT_EQ(first_host("login1"), "login1");
  EXPECT_EQ(first_host("gpu07,gpu09"), "gpu07");
  EXPECT_EQ(first_host("gpu[07-09,12],login1"), "gpu07");
  EXPECT_EQ(first_host("gpu[3,5]"), "gpu3");
  EXPECT_EQ(first_host("rack[1-2]n[1-4]"), "rack1");  // not a form that Slurm writes for one step; never past the text
  EXPECT_EQ(first_host("gpu["), "gpu");
}

}  // namespace
}  // namespace ckpt::eval
