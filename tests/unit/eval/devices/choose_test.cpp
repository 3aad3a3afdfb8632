#include "devices/choose.h"

#include <gtest/gtest.h>

#include "ckpt/error.h"
#include "eval/devices/imaginary_driver.h"

namespace ckpt::eval {
namespace {

using Kind = DeviceChoice::Kind;

DeviceChoice chosen(std::string_view word, const Machine& machine, const Program& program = {}) {
  return choose(parse_device(word), machine, program);
}

Error refusal(std::string_view word, const Machine& machine, const Program& program = {}) {
  try {
    chosen(word, machine, program);
    ADD_FAILURE() << "--device " << word << " was granted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    return error;
  }
  return Error(ErrorCode::io, "not refused");
}

bool says(const Error& error, std::string_view phrase) {
  return std::string_view(error.what()).find(phrase) != std::string_view::npos;
}

bool notes(const DeviceChoice& choice, std::string_view phrase) {
  for (const std::string& note : choice.notes)
    if (note.find(phrase) != std::string::npos) return true;
  return false;
}

Machine with_capability(Machine machine, std::size_t gpu, int major, int minor) {
  machine.gpus.at(gpu).major = major;
  machine.gpus.at(gpu).minor = minor;
  return machine;
}

TEST(Choose, AutoTakesTheGpuWithMostFreeMemory) {
  const DeviceChoice choice = chosen("auto", machine_with({3, 11, 8}));
  EXPECT_EQ(choice.kind, Kind::cuda);
  EXPECT_EQ(choice.gpus, (std::vector{1}));
  EXPECT_TRUE(notes(choice, "cuda:1 of 3 GPUs"));
}

TEST(Choose, OnlyGpuIsTakenWithoutANote) { EXPECT_TRUE(chosen("auto", machine_with({3})).notes.empty()); }

TEST(Choose, CudaTakesTheGpuWithMostFreeMemory) {
  EXPECT_EQ(chosen("cuda", machine_with({3, 11, 8})).gpus, (std::vector{1}));
}

TEST(Choose, AllGpusComeInTheOrderOfFreeMemory) {
  EXPECT_EQ(chosen("cuda:all", machine_with({3, 11, 8})).gpus, (std::vector{1, 2, 0}));
}

TEST(Choose, NamedGpusComeInTheOrderGiven) {
  EXPECT_EQ(chosen("cuda:0", machine_with({3, 11, 8})).gpus, (std::vector{0}));
  EXPECT_EQ(chosen("cuda:2,0", machine_with({3, 11, 8})).gpus, (std::vector{2, 0}));
}

TEST(Choose, CpuIsTakenWhateverIsThere) { EXPECT_EQ(chosen("cpu", machine_with({3})).kind, Kind::cpu); }

TEST(Choose, AutoWithoutGpuIsMpsThenCpu) {
  EXPECT_EQ(chosen("auto", machine_without_driver(), {.has_mps = true}).kind, Kind::mps);
  EXPECT_EQ(chosen("auto", machine_without_driver()).kind, Kind::cpu);
}

TEST(Choose, ProgramThatLacksCudaSaysWhatWouldMendIt) {
  const Error error =
      refusal("cuda", machine_with({3}), {.lacks_cuda = "no libtorch_cuda.so", .cuda_remedy = "get it"});
  EXPECT_TRUE(says(error, "no libtorch_cuda.so"));
  EXPECT_EQ(error.hint(), "--device cpu; or: get it");
}

TEST(Choose, MachineWithoutDriverNeedsNoNote) { EXPECT_TRUE(chosen("auto", machine_without_driver()).notes.empty()); }

TEST(Choose, AutoSaysWhyADriverShowsNone) {
  EXPECT_TRUE(notes(chosen("auto", examine(driver_showing({3, 11}, {}), "")), "CUDA_VISIBLE_DEVICES='' hides all 2"));
}

TEST(Choose, UnknownFreeMemoryIsSaid) {
  Machine machine = machine_with({3, 11});
  for (Gpu& gpu : machine.gpus) gpu.free_bytes.reset();
  const DeviceChoice choice = chosen("auto", machine);
  EXPECT_EQ(choice.gpus, (std::vector{0}));
  EXPECT_TRUE(notes(choice, "free memory is not known"));
}

// What is asked for and is not there.

TEST(Choose, CudaWithoutAnyIsRefusedWithWhatWasLookedFor) {
  for (const char* word : {"cuda", "cuda:0", "cuda:all"}) {
    const Error error = refusal(word, machine_without_driver());
    EXPECT_TRUE(says(error, "no GPU: there is no NVIDIA driver (libcuda.so.1: cannot open")) << error.what();
    EXPECT_EQ(error.hint(), "--device cpu");
  }
}

TEST(Choose, RemedyOfTheMachineIsInTheHint) {
  const Error error = refusal("cuda", examine(driver_showing({3, 11}, {}), "-1"));
  EXPECT_TRUE(says(error, "CUDA_VISIBLE_DEVICES='-1' hides all 2")) << error.what();
  EXPECT_TRUE(error.hint().starts_with("--device cpu; or: unset CUDA_VISIBLE_DEVICES")) << error.hint();
}

TEST(Choose, GpuPastTheLastIsRefusedWithWhatIsThere) {
  const Error error = refusal("cuda:1,7", machine_with({3, 11}));
  EXPECT_TRUE(says(error, "there is no cuda:7 here, but 2 GPUs: cuda:0 (Imaginary GPU 0), cuda:1 (Imaginary GPU 1)"))
      << error.what();
}

TEST(Choose, MpsElsewhereThanOnApplesMachinesIsRefused) {
  EXPECT_EQ(chosen("mps", machine_without_driver(), {.has_mps = true}).kind, Kind::mps);
  EXPECT_TRUE(says(refusal("mps", machine_with({3})), "GPU of Apple's machines"));
}

TEST(Choose, ProgramWithoutCudaSaysSo) {
  const Program program{.lacks_cuda = "libtorch_cuda.so was not found"};
  EXPECT_TRUE(says(refusal("cuda:0", machine_with({3}), program), "libtorch_cuda.so was not found"));
  const DeviceChoice choice = chosen("auto", machine_with({3}), program);
  EXPECT_EQ(choice.kind, Kind::cpu);
  EXPECT_TRUE(notes(choice, "libtorch_cuda.so was not found"));
}

// Cards older than the kernels.

TEST(Choose, CapabilityOf75IsTheLeast) {
  EXPECT_TRUE(is_supported(with_capability(machine_with({3}), 0, 7, 5).gpus[0]));
  EXPECT_FALSE(is_supported(with_capability(machine_with({3}), 0, 7, 0).gpus[0]));
  EXPECT_FALSE(is_supported(with_capability(machine_with({3}), 0, 6, 9).gpus[0]));
  EXPECT_TRUE(is_supported(with_capability(machine_with({3}), 0, 12, 0).gpus[0]));
}

TEST(Choose, AutoTakesTheCpuForAnOldCardAndSaysWhy) {
  const DeviceChoice choice = chosen("auto", with_capability(machine_with({3}), 0, 3, 7));
  EXPECT_EQ(choice.kind, Kind::cpu);
  EXPECT_TRUE(choice.gpus.empty());
  EXPECT_TRUE(notes(choice, "cuda:0 (Imaginary GPU 0) has compute capability 3.7"));
}

TEST(Choose, OldCardIsPassedOverForAnother) {
  const DeviceChoice choice = chosen("auto", with_capability(machine_with({3, 11}), 1, 6, 1));
  EXPECT_EQ(choice.gpus, (std::vector{0}));
  EXPECT_TRUE(notes(choice, "compute capability 6.1"));
}

TEST(Choose, OldCardAskedForByNameIsRefused) {
  for (const char* word : {"cuda", "cuda:0", "cuda:all"}) {
    const Error error = refusal(word, with_capability(machine_with({3}), 0, 6, 1));
    EXPECT_TRUE(says(error, "has compute capability 6.1, and 7.5 is the least")) << error.what();
    EXPECT_EQ(error.hint(), "--device cpu");
  }
}

// Under torchrun.

TEST(Choose, RankTakesTheGpuOfItsNumber) {
  EXPECT_EQ(chosen("auto", machine_with({3, 11, 8}), {.local_rank = 2}).gpus, (std::vector{2}));
  EXPECT_EQ(chosen("cuda", machine_with({3, 11, 8}), {.local_rank = 0}).gpus, (std::vector{0}));
}

TEST(Choose, RankWithoutAGpuOfItsOwnIsRefusedWhereAGpuWasAskedFor) {
  const Error error = refusal("cuda", machine_with({3, 11}), {.local_rank = 2});
  EXPECT_TRUE(says(error, "LOCAL_RANK is 2, and there is no cuda:2: 2 GPUs: cuda:0")) << error.what();
  EXPECT_TRUE(says(error, "--nproc-per-node 2")) << error.what();
}

TEST(Choose, RankWithoutAGpuOfItsOwnTakesTheCpuWhereNoneWasAskedFor) {
  const DeviceChoice choice = chosen("auto", machine_with({3, 11}), {.local_rank = 2});
  EXPECT_EQ(choice.kind, Kind::cpu);
  ASSERT_EQ(choice.notes.size(), 1U);
  EXPECT_NE(choice.notes.front().find("there is no cuda:2"), std::string::npos);
}

TEST(Choose, NamedGpuStaysUnderTorchrun) {
  EXPECT_EQ(chosen("cuda:1", machine_with({3, 11}), {.local_rank = 0}).gpus, (std::vector{1}));
}

TEST(Choose, RankOnAMachineWithoutGpusTakesTheCpu) {
  EXPECT_EQ(chosen("auto", machine_without_driver(), {.local_rank = 5}).kind, Kind::cpu);
}

}  // namespace
}  // namespace ckpt::eval
