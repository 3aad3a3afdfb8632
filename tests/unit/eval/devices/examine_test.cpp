#include <gtest/gtest.h>

#include "eval/devices/imaginary_driver.h"

namespace ckpt::eval {
namespace {

std::vector<std::optional<int>> physical(const Machine& machine) {
  std::vector<std::optional<int>> out;
  for (const Gpu& gpu : machine.gpus) out.push_back(gpu.physical);
  return out;
}

TEST(Examine, DescribesEachGpu) {
  const Machine machine = machine_with({3, 11});
  ASSERT_EQ(machine.gpus.size(), 2);
  const Gpu& gpu = machine.gpus[1];
  EXPECT_EQ(gpu.logical, 1);
  EXPECT_EQ(gpu.physical, 1);
  EXPECT_EQ(gpu.name, "Imaginary GPU 1");
  EXPECT_EQ(gpu.pci_id, "0000:11:00.0");
  EXPECT_EQ(gpu.uuid, "GPU-10000000-1111-2222-3333-444444444444");
  EXPECT_EQ(gpu.major, 8);
  EXPECT_EQ(gpu.minor, 6);
  EXPECT_EQ(gpu.multiprocessors, 84);
  EXPECT_EQ(gpu.total_bytes, 24 * gigabyte);
  EXPECT_EQ(gpu.free_bytes, 11 * gigabyte);
}

TEST(Examine, TellsVersions) {
  Driver driver = driver_with({3});
  driver.runtime_version = 12040;
  const Machine machine = examine(driver, std::nullopt);
  EXPECT_EQ(machine.driver_version, "580.65.06");
  EXPECT_EQ(machine.cuda_version, 13000);
  EXPECT_EQ(machine.runtime_version, 12040);
  EXPECT_EQ(machine.lacking, Lacking::nothing);
  EXPECT_EQ(machine.remark, "");
}

TEST(Examine, MostFreeMemoryComesFirst) { EXPECT_EQ(by_free_memory(machine_with({3, 11, 8})), (std::vector{1, 2, 0})); }

TEST(Examine, EqualFreeMemoryKeepsTheOrder) {
  EXPECT_EQ(by_free_memory(machine_with({8, 11, 8, 11})), (std::vector{1, 3, 0, 2}));
}

TEST(Examine, UnknownFreeMemoryComesLast) {
  Machine machine = machine_with({3, 11, 8});
  machine.gpus[1].free_bytes.reset();
  EXPECT_EQ(by_free_memory(machine), (std::vector{2, 0, 1}));
}

TEST(Examine, NvmlTellsFreeMemoryWithoutAContext) {
  const Driver driver = driver_with({3, 11});
  examine(driver, std::nullopt);
  EXPECT_EQ(cuda_of(driver).contexts_made, 0);
}

TEST(Examine, PhysicalIndexIsFoundByPciId) {
  const Machine machine = examine(driver_showing({3, 11, 8}, {2, 0}), "2,0");
  EXPECT_EQ(physical(machine), (std::vector<std::optional<int>>{2, 0}));
  EXPECT_EQ(machine.gpus[0].logical, 0);
  EXPECT_EQ(machine.gpus[0].free_bytes, 8 * gigabyte);
  EXPECT_EQ(machine.installed, 3);
  EXPECT_EQ(machine.visible, "2,0");
  EXPECT_EQ(machine.remark, "");
}

TEST(Examine, WithoutNvmlAContextTellsFreeMemory) {
  Driver driver = driver_with({3, 11});
  driver.nvml.reset();
  driver.nvml_missing = "libnvidia-ml.so.1: cannot open shared object file";
  const Machine machine = examine(driver, std::nullopt);
  EXPECT_EQ(machine.gpus.at(1).free_bytes, 11 * gigabyte);
  EXPECT_EQ(physical(machine), (std::vector<std::optional<int>>{std::nullopt, std::nullopt}));
  EXPECT_EQ(machine.installed, std::nullopt);
  EXPECT_NE(machine.remark.find("libnvidia-ml.so.1"), std::string::npos) << machine.remark;
}

TEST(Examine, FreeMemoryThatNothingTellsIsUnknown) {
  Driver driver = driver_with({3});
  driver.nvml.reset();
  cuda_of(driver).context_free = {std::nullopt};
  EXPECT_EQ(examine(driver, std::nullopt).gpus.at(0).free_bytes, std::nullopt);
}

TEST(Examine, MigInstanceHasItsOwnMemoryAndName) {
  const Driver driver = driver_with({0});
  nvml_of(driver).known[0].board.is_mig = true;
  nvml_of(driver).known[0].mig_free = 5 * gigabyte;
  const Machine machine = examine(driver, "MIG-00000000-1111-2222-3333-444444444444");
  ASSERT_EQ(machine.gpus.size(), 1);
  EXPECT_EQ(machine.gpus[0].uuid, "MIG-00000000-1111-2222-3333-444444444444");
  EXPECT_EQ(machine.gpus[0].free_bytes, 5 * gigabyte);
  EXPECT_EQ(machine.remark, "");
}

TEST(Examine, ListThatCudaReadsInPartIsRemarked) {
  const Machine machine = examine(driver_showing({3, 11, 8}, {1}), "1,7,0");
  EXPECT_EQ(machine.gpus.size(), 1);
  EXPECT_NE(machine.remark.find("'7' names no GPU"), std::string::npos) << machine.remark;
}

// The reasons for there being none.

TEST(Examine, NoLibraryIsALackingDriver) {
  const Machine machine = machine_without_driver();
  EXPECT_TRUE(machine.gpus.empty());
  EXPECT_EQ(machine.lacking, Lacking::driver);
  EXPECT_EQ(machine.why_none, "there is no NVIDIA driver (libcuda.so.1: cannot open shared object file)");
}

TEST(Examine, DriverInTheKernelWithoutItsLibraryIsALackingComponent) {
  Driver driver = no_driver();
  driver.in_kernel = true;
  const Machine machine = examine(driver, std::nullopt);
  EXPECT_EQ(machine.lacking, Lacking::component);
  EXPECT_NE(machine.remedy.find("--gpus all"), std::string::npos);
}

TEST(Examine, NvmlWithoutCudaIsALackingComponent) {
  Driver driver = driver_with({3});
  driver.cuda.reset();
  driver.in_kernel = false;
  EXPECT_EQ(examine(driver, std::nullopt).lacking, Lacking::component);
}

TEST(Examine, LibraryWithoutKernelModuleIsALackingDriver) {
  Driver driver = driver_with({});
  driver.nvml.reset();
  driver.in_kernel = false;
  EXPECT_EQ(examine(driver, "0").lacking, Lacking::driver);
}

TEST(Examine, DriverThatFindsNoneLacksAGpu) {
  const Machine machine = examine(driver_with({}), std::nullopt);
  EXPECT_EQ(machine.lacking, Lacking::gpu);
  EXPECT_EQ(machine.why_none, "the NVIDIA driver 580.65.06 is here and finds none (cuInit: error 100)");
}

TEST(Examine, VariableIsNotBlamedWhereThereIsNoGpu) { EXPECT_EQ(examine(driver_with({}), "0").lacking, Lacking::gpu); }

TEST(Examine, EmptyVariableHidesAll) {
  const Machine machine = examine(driver_showing({3, 11, 8}, {}), "");
  EXPECT_EQ(machine.lacking, Lacking::visibility);
  EXPECT_EQ(machine.why_none, "CUDA_VISIBLE_DEVICES='' hides all 3 of this machine");
}

TEST(Examine, MinusOneHidesTheOne) {
  EXPECT_EQ(examine(driver_showing({3}, {}), "-1").why_none, "CUDA_VISIBLE_DEVICES='-1' hides the one of this machine");
}

TEST(Examine, UnknownWordHidesAllAndIsNamed) {
  EXPECT_EQ(examine(driver_showing({3, 11}, {}), "GPU-9").why_none,
            "CUDA_VISIBLE_DEVICES='GPU-9' hides all 2 of this machine: 'GPU-9' names no GPU of this machine, and CUDA "
            "reads no further");
}

TEST(Examine, VariableIsNamedWhereNvmlCannotTellWhatItHides) {
  Driver driver = driver_with({});
  driver.nvml.reset();
  const Machine machine = examine(driver, "-1");
  EXPECT_EQ(machine.lacking, Lacking::visibility);
  EXPECT_EQ(machine.why_none, "CUDA_VISIBLE_DEVICES='-1' leaves none to be seen");
}

TEST(Examine, FailingDriverIsToldInItsOwnWords) {
  const Driver driver = driver_with({3});
  cuda_of(driver).start_error = 999;
  const Machine machine = examine(driver, std::nullopt);
  EXPECT_TRUE(machine.gpus.empty());
  EXPECT_EQ(machine.lacking, Lacking::working_driver);
  EXPECT_EQ(machine.why_none, "cuInit failed with error 999 (unknown error)");
  EXPECT_NE(machine.remedy.find("nvidia-smi"), std::string::npos);
}

TEST(Examine, MismatchedDriverHasARemedyOfItsOwn) {
  const Driver driver = driver_with({3});
  cuda_of(driver).start_error = 803;
  const Machine machine = examine(driver, std::nullopt);
  EXPECT_EQ(machine.why_none, "cuInit failed with error 803");
  EXPECT_NE(machine.remedy.find("restart"), std::string::npos);
}

TEST(Examine, GpuThatDoesNotAnswerIsAFailingDriver) {
  const Driver driver = driver_with({3, 11});
  cuda_of(driver).lost = 1;
  const Machine machine = examine(driver, std::nullopt);
  EXPECT_TRUE(machine.gpus.empty());
  EXPECT_EQ(machine.lacking, Lacking::working_driver);
  EXPECT_EQ(machine.why_none, "cuda:1: cuDeviceGetName failed with error 46");
}

TEST(Examine, VersionsReadAsPeopleWriteThem) {
  EXPECT_EQ(cuda_version_text(13000), "13.0");
  EXPECT_EQ(cuda_version_text(12040), "12.4");
}

}  // namespace
}  // namespace ckpt::eval
