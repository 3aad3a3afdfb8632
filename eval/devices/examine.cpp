#include <utility>

#include "ckpt/error.h"
#include "devices/driver.h"
#include "devices/visibility.h"

namespace ckpt::eval {
namespace {

// CUresult of cuda.h.
constexpr int no_device = 100;

std::string remedy_for(int error) {
  switch (error) {
    case 34:  // STUB_LIBRARY
      return "that is the CUDA toolkit's stub in the driver's place: take its folder out of LD_LIBRARY_PATH";
    case 802:  // SYSTEM_NOT_READY
      return "machines with NVSwitch need a service of their own: systemctl status nvidia-fabricmanager";
    case 803:  // SYSTEM_DRIVER_MISMATCH
      return "the driver's library and its kernel module are of different versions, as after an update: restart the "
             "machine";
    case 804:  // COMPAT_NOT_SUPPORTED_ON_DEVICE
      return "a libcuda.so.1 of the package cuda-compat is found in the driver's place: take its folder out of "
             "LD_LIBRARY_PATH";
    default:
      return "nvidia-smi, and dmesg | grep NVRM, tell more";
  }
}

void set_lacking(Machine& machine, Lacking lacking, std::string why, std::string remedy) {
  machine.gpus.clear();
  machine.lacking = lacking;
  machine.why_none = std::move(why);
  machine.remedy = std::move(remedy);
}

std::string quoted_variable(const Machine& machine) { return "CUDA_VISIBLE_DEVICES='" + *machine.visible + "'"; }

/// Of a driver that starts and shows no GPU: because there is none, or because the variable hides them.
void explain_none(Machine& machine, const Driver& driver, const std::vector<std::string>& uuids) {
  if (!driver.in_kernel && !driver.nvml) {
    set_lacking(machine, Lacking::driver,
                "the NVIDIA driver's library is here and its kernel module is not (cuInit: error 100; " +
                    driver.nvml_missing + ")",
                "");
  } else if (!machine.visible || machine.installed == 0) {
    const std::string version = machine.driver_version.empty() ? "" : " " + machine.driver_version;
    set_lacking(machine, Lacking::gpu, "the NVIDIA driver" + version + " is here and finds none (cuInit: error 100)",
                "");
  } else {
    const std::string hidden = !machine.installed ? " leaves none to be seen"
                               : machine.installed == 1
                                   ? " hides the one of this machine"
                                   : " hides all " + std::to_string(uuids.size()) + " of this machine";
    const std::string fault = machine.installed ? visibility_fault(*machine.visible, uuids) : "";
    set_lacking(machine, Lacking::visibility, quoted_variable(machine) + hidden + (fault.empty() ? "" : ": " + fault),
                "unset CUDA_VISIBLE_DEVICES, or name a GPU: CUDA_VISIBLE_DEVICES=0");
  }
}

CudaDriver::Device ask(CudaDriver& cuda, int logical) {
  try {
    return cuda.device(logical);
  } catch (Error& error) {
    throw error.within("cuda:" + std::to_string(logical));
  }
}

Gpu describe(CudaDriver& cuda, Nvml* nvml, int logical) {
  CudaDriver::Device device = ask(cuda, logical);
  Gpu gpu{.logical = logical,
          .name = std::move(device.name),
          .pci_id = std::move(device.pci_id),
          .major = device.major,
          .minor = device.minor,
          .multiprocessors = device.multiprocessors,
          .total_bytes = device.total_bytes};
  const auto board = nvml != nullptr && !gpu.pci_id.empty() ? nvml->board(gpu.pci_id) : std::nullopt;
  if (board) {
    // Only NVML tells whether it is a whole GPU or an instance in one.
    if (!device.uuid.empty()) gpu.uuid = (board->is_mig ? "MIG-" : "GPU-") + device.uuid;
    gpu.physical = board->index;
    gpu.free_bytes = board->is_mig ? nvml->mig_free_bytes(gpu.uuid) : board->free_bytes;
  }
  if (!gpu.free_bytes) gpu.free_bytes = cuda.free_bytes(logical);
  return gpu;
}

}  // namespace

Machine examine(const Driver& driver, std::optional<std::string> visible) {
  Machine machine;
  machine.visible = std::move(visible);
  machine.runtime_version = driver.runtime_version;
  std::vector<std::string> uuids;
  if (driver.nvml) {
    machine.driver_version = driver.nvml->driver_version();
    uuids = driver.nvml->uuids();
    machine.installed = static_cast<int>(uuids.size());
  }
  if (!driver.cuda) {
    if (driver.in_kernel || machine.installed) {
      set_lacking(machine, Lacking::component,
                  "the kernel has the NVIDIA driver, but its library is not here (" + driver.cuda_missing + ")",
                  "a container needs docker run --gpus all, and in it NVIDIA_DRIVER_CAPABILITIES with compute");
    } else {
      set_lacking(machine, Lacking::driver, "there is no NVIDIA driver (" + driver.cuda_missing + ")", "");
    }
    return machine;
  }
  machine.cuda_version = driver.cuda->version();
  if (const int error = driver.cuda->start(); error == no_device) {
    explain_none(machine, driver, uuids);
    return machine;
  } else if (error != 0) {
    const std::string words = driver.cuda->words(error);
    const std::string said = words.empty() ? "" : " (" + words + ")";
    set_lacking(machine, Lacking::working_driver, "cuInit failed with error " + std::to_string(error) + said,
                remedy_for(error));
    return machine;
  }
  try {
    const int count = driver.cuda->count();
    for (int i = 0; i < count; ++i) machine.gpus.push_back(describe(*driver.cuda, driver.nvml.get(), i));
  } catch (const Error& error) {
    set_lacking(machine, Lacking::working_driver, error.what(), remedy_for(0));
    return machine;
  }
  if (machine.gpus.empty()) {
    explain_none(machine, driver, uuids);
  } else if (machine.visible && machine.installed) {
    if (const std::string fault = visibility_fault(*machine.visible, uuids); !fault.empty())
      machine.remark = quoted_variable(machine) + ": " + fault;
  } else if (!driver.nvml) {
    machine.remark = "no physical indices, and free memory only by way of a context: " + driver.nvml_missing;
  }
  return machine;
}

}  // namespace ckpt::eval
