#include "eval/devices/imaginary_driver.h"

#include <algorithm>
#include <numeric>

#include "ckpt/error.h"

namespace ckpt::eval {
namespace {

std::string pci_id(int number) { return "0000:1" + std::to_string(number) + ":00.0"; }
std::string uuid(int number) { return std::to_string(number) + "0000000-1111-2222-3333-444444444444"; }

}  // namespace

int ImaginaryCuda::start() { return start_error != 0 ? start_error : devices.empty() ? 100 : 0; }

std::string ImaginaryCuda::words(int error) { return error == 999 ? "unknown error" : ""; }

CudaDriver::Device ImaginaryCuda::device(int logical) {
  if (logical == lost) throw Error(ErrorCode::unavailable, "cuDeviceGetName failed with error 46");
  return devices.at(static_cast<std::size_t>(logical));
}

std::optional<std::uint64_t> ImaginaryCuda::free_bytes(int logical) {
  ++contexts_made;
  return context_free.at(static_cast<std::size_t>(logical));
}

std::vector<std::string> ImaginaryNvml::uuids() {
  std::vector<std::string> out;
  for (const Known& gpu : known) out.push_back(gpu.uuid);
  return out;
}

std::optional<Nvml::Board> ImaginaryNvml::board(const std::string& id) {
  const auto found = std::find_if(known.begin(), known.end(), [&](const Known& gpu) { return gpu.pci_id == id; });
  return found != known.end() ? std::optional(found->board) : std::nullopt;
}

std::optional<std::uint64_t> ImaginaryNvml::mig_free_bytes(const std::string& id) {
  const auto found = std::find_if(known.begin(), known.end(), [&](const Known& gpu) {
    return id == "MIG-" + gpu.uuid.substr(std::string("GPU-").size());
  });
  return found != known.end() ? found->mig_free : std::nullopt;
}

Driver driver_showing(const std::vector<unsigned>& free_gigabytes, const std::vector<int>& shown) {
  auto cuda = std::make_unique<ImaginaryCuda>();
  auto nvml = std::make_unique<ImaginaryNvml>();
  for (std::size_t i = 0; i < free_gigabytes.size(); ++i) {
    const int number = static_cast<int>(i);
    nvml->known.push_back({pci_id(number), "GPU-" + uuid(number), {number, false, free_gigabytes[i] * gigabyte}, {}});
  }
  for (const int number : shown) {
    cuda->devices.push_back(
        {"Imaginary GPU " + std::to_string(number), pci_id(number), uuid(number), 8, 6, 84, 24 * gigabyte});
    cuda->context_free.push_back(free_gigabytes.at(static_cast<std::size_t>(number)) * gigabyte);
  }
  Driver driver;
  driver.cuda = std::move(cuda);
  driver.nvml = std::move(nvml);
  driver.in_kernel = true;
  return driver;
}

Driver driver_with(const std::vector<unsigned>& free_gigabytes) {
  std::vector<int> all(free_gigabytes.size());
  std::iota(all.begin(), all.end(), 0);
  return driver_showing(free_gigabytes, all);
}

Driver no_driver() {
  Driver driver;
  driver.cuda_missing = "libcuda.so.1: cannot open shared object file";
  driver.nvml_missing = "libnvidia-ml.so.1: cannot open shared object file";
  return driver;
}

ImaginaryCuda& cuda_of(const Driver& driver) { return dynamic_cast<ImaginaryCuda&>(*driver.cuda); }
ImaginaryNvml& nvml_of(const Driver& driver) { return dynamic_cast<ImaginaryNvml&>(*driver.nvml); }

Machine machine_with(const std::vector<unsigned>& free_gigabytes) {
  return examine(driver_with(free_gigabytes), std::nullopt);
}

Machine machine_without_driver() { return examine(no_driver(), std::nullopt); }

}  // namespace ckpt::eval
