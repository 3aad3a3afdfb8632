#pragma once

#include "devices/driver.h"

/// A driver made up for a test: what the libraries of a machine would answer.
namespace ckpt::eval {

struct ImaginaryCuda final : CudaDriver {
  std::vector<Device> devices;
  std::vector<std::optional<std::uint64_t>> context_free;  ///< what a context would tell, by logical index
  int start_error = 0;
  int lost = -1;  ///< this one answers with error 46
  int contexts_made = 0;

  int start() override;
  std::string words(int error) override;
  std::optional<int> version() override { return 13000; }
  int count() override { return static_cast<int>(devices.size()); }
  Device device(int logical) override;
  std::optional<std::uint64_t> free_bytes(int logical) override;
};

struct ImaginaryNvml final : Nvml {
  struct Known {
    std::string pci_id, uuid;
    Board board;
    std::optional<std::uint64_t> mig_free;
  };
  std::vector<Known> known;

  std::string driver_version() override { return "580.65.06"; }
  std::vector<std::string> uuids() override;
  std::optional<Board> board(const std::string& pci_id) override;
  std::optional<std::uint64_t> mig_free_bytes(const std::string& uuid) override;
};

constexpr std::uint64_t gigabyte = 1'000'000'000;

/// GPUs of compute capability 8.6 with so many GB free, all visible, none out of order.
Driver driver_with(const std::vector<unsigned>& free_gigabytes);
/// The same where CUDA shows these only, in this order.
Driver driver_showing(const std::vector<unsigned>& free_gigabytes, const std::vector<int>& shown);
/// No library is found.
Driver no_driver();

ImaginaryCuda& cuda_of(const Driver& driver);
ImaginaryNvml& nvml_of(const Driver& driver);

/// Such GPUs as examine() describes them.
Machine machine_with(const std::vector<unsigned>& free_gigabytes);
/// A machine as most are: without a driver.
Machine machine_without_driver();

}  // namespace ckpt::eval
