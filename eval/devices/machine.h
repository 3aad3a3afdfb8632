#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// The GPUs that this process may use, without linking CUDA and without making a context.
///
///     const Machine machine = this_machine();
///     for (const Gpu& gpu : machine.gpus) std::cout << gpu.name << '\n';
///     if (machine.gpus.empty()) std::cout << machine.why_none << '\n';
namespace ckpt::eval {

/// As the driver describes it. Sizes are in bytes.
struct Gpu {
  int logical = 0;              ///< N of "cuda:N" in this process, after CUDA_VISIBLE_DEVICES
  std::optional<int> physical;  ///< nvidia-smi's number; none where NVML does not tell
  std::string name;
  std::string pci_id;  ///< "0000:17:00.0"; several MIG instances share one; empty where the driver does not tell
  std::string uuid;  ///< "GPU-…", of a MIG instance "MIG-…", as CUDA_VISIBLE_DEVICES takes them; empty without NVML
  int major = 0;     ///< compute capability
  int minor = 0;
  int multiprocessors = 0;
  std::uint64_t total_bytes = 0;
  std::optional<std::uint64_t> free_bytes;
};

/// What there would have to be besides, where there is no GPU.
enum class Lacking {
  nothing,         ///< there is a GPU
  driver,          ///< no NVIDIA driver
  component,       ///< the kernel has the driver, but its library is not here: mostly a container started without GPUs
  gpu,             ///< a driver that finds none
  visibility,      ///< CUDA_VISIBLE_DEVICES hides them all
  working_driver,  ///< the driver is there and fails
};

struct Machine {
  std::vector<Gpu> gpus;               ///< by logical index
  std::optional<int> installed;        ///< how many NVML knows, visible or not
  std::string driver_version;          ///< "580.65.06"; empty where nothing tells
  std::optional<int> cuda_version;     ///< the newest CUDA that the driver serves: 13000 is 13.0
  std::optional<int> runtime_version;  ///< of the libcudart that a program would load here, if there is one
  std::optional<std::string> visible;  ///< CUDA_VISIBLE_DEVICES, where it is set

  Lacking lacking = Lacking::nothing;
  std::string why_none;  ///< where there is no GPU: half a sentence, with what was looked for
  std::string remedy;    ///< what to do about it; empty where there is nothing to say
  std::string remark;    ///< of something in the way although there are GPUs, or of some that are hidden; mostly empty
};

/// Asks libcuda.so.1 and, for free memory and physical indices, libnvidia-ml.so.1. Never throws for what the machine
/// lacks. Takes as long as the driver needs to start. CUDA_VISIBLE_DEVICES counts as it is at the first call of a
/// process.
Machine this_machine();

/// The enumerator's name, with a hyphen for the underscore, as JSON has it: "driver", "visibility" …
const char* lacking_name(Lacking lacking);

/// "13.0" for 13000.
std::string cuda_version_text(int version);

/// Positions in `machine.gpus`, most free memory first; equal ones by logical index, those that do not tell last.
std::vector<int> by_free_memory(const Machine& machine);

/// Whether the kernels, libtorch's and ours, run on it: compute capability 7.5 or later.
bool is_supported(const Gpu& gpu);

}  // namespace ckpt::eval
