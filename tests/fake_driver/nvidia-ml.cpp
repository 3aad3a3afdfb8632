// libnvidia-ml.so.1, as far as eval/devices calls it. It knows every GPU, and no CUDA_VISIBLE_DEVICES.
#include <algorithm>

#include "gpus.h"

namespace {

constexpr int invalid_argument = 2, not_found = 6, insufficient_size = 7;

struct Memory {
  unsigned long long total, free, used;
};

// A device is its GPU's number plus one, and plus a thousand where it is the MIG instance in it.
void* handle(std::size_t number) { return reinterpret_cast<void*>(number); }

int with_gpu(void* device, const auto& use) {
  const auto gpus = fake::installed();
  const std::size_t number = (reinterpret_cast<std::size_t>(device) % 1000) - 1;
  return number < gpus.size() ? use(gpus[number]) : invalid_argument;
}

int find(void** device, std::size_t offset, const auto& matches) {
  const auto gpus = fake::installed();
  const auto found = std::find_if(gpus.begin(), gpus.end(), matches);
  if (found == gpus.end()) return not_found;
  *device = handle(found->number + 1 + offset);
  return 0;
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return fake::setting("CKPT_FAKE_NVML", 0); }
const char* nvmlErrorString(int error) { return error == 9 ? "Driver Not Loaded" : "Unknown Error"; }
int nvmlShutdown() { return 0; }

int nvmlSystemGetDriverVersion(char* version, unsigned size) {
  return fake::put("580.65.06", version, size) ? 0 : insufficient_size;
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(fake::installed().size());
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = handle(index + 1);
  return index < fake::installed().size() ? 0 : invalid_argument;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  return find(device, 0, [&](const fake::Gpu& gpu) { return gpu.pci_id() == id; });
}

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  return find(device, 1000, [&](const fake::Gpu& gpu) { return gpu.mig && "MIG-" + gpu.uuid() == uuid; });
}

int nvmlDeviceGetUUID(void* device, char* uuid, unsigned size) {
  return with_gpu(
      device, [&](const fake::Gpu& gpu) { return fake::put("GPU-" + gpu.uuid(), uuid, size) ? 0 : insufficient_size; });
}

int nvmlDeviceGetIndex(void* device, unsigned* index) {
  return with_gpu(device, [&](const fake::Gpu& gpu) {
    *index = static_cast<unsigned>(gpu.number);
    return 0;
  });
}

// A split GPU has all of its memory given to instances; an instance has what CKPT_FAKE_GPUS says.
int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  const bool is_instance = reinterpret_cast<std::size_t>(device) > 1000;
  return with_gpu(device, [&](const fake::Gpu& gpu) {
    const unsigned long long total = 24'000'000'000, free = gpu.mig && !is_instance ? 0 : gpu.free;
    *memory = {total, free, total - free};
    return 0;
  });
}

int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  return with_gpu(device, [&](const fake::Gpu& gpu) {
    *current = *pending = gpu.mig ? 1 : 0;
    return 0;
  });
}
}
