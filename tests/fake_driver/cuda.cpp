// libcuda.so.1, as far as eval/devices calls it. Errors are those of cuda.h.
#include <cstddef>

#include "gpus.h"

namespace {

constexpr int invalid_value = 1, not_initialized = 3, unavailable = 46, no_device = 100, invalid_device = 101;
bool started = false;

int with_gpu(int device, const auto& use) {
  const auto gpus = fake::visible();
  if (!started) return not_initialized;
  if (device < 0 || static_cast<std::size_t>(device) >= gpus.size()) return invalid_device;
  if (gpus[device].number == fake::setting("CKPT_FAKE_LOST", -1)) return unavailable;
  return use(gpus[device]) ? 0 : invalid_value;
}

}  // namespace

extern "C" {

int cuInit(unsigned flags) {
  const int error = fake::setting("CKPT_FAKE_CUINIT", flags != 0                ? invalid_value
                                                      : fake::visible().empty() ? no_device
                                                                                : 0);
  started = error == 0;
  return error;
}

int cuGetErrorString(int error, const char** words) {
  *words = error == 803  ? "system has unsupported display driver / cuda driver combination"
           : error == 46 ? "CUDA-capable device(s) is/are busy or unavailable"
                         : nullptr;
  return *words != nullptr ? 0 : invalid_value;
}

int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}

int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(fake::visible().size());
  return started ? 0 : not_initialized;
}

int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return started ? 0 : not_initialized;
}

int cuDeviceGetName(char* name, int size, int device) {
  return with_gpu(device,
                  [&](const fake::Gpu& gpu) { return fake::put(gpu.name(), name, static_cast<unsigned>(size)); });
}

int cuDeviceGetPCIBusId(char* id, int size, int device) {
  return with_gpu(device,
                  [&](const fake::Gpu& gpu) { return fake::put(gpu.pci_id(), id, static_cast<unsigned>(size)); });
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  return with_gpu(device, [&](const fake::Gpu& gpu) {
    if (attribute == 16) *value = 84;
    if (attribute == 75) *value = gpu.major;
    if (attribute == 76) *value = gpu.minor;
    return attribute == 16 || attribute == 75 || attribute == 76;
  });
}

int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  return with_gpu(device, [&](const fake::Gpu&) {
    *bytes = 24'000'000'000;
    return true;
  });
}

int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  return with_gpu(device, [&](const fake::Gpu& gpu) {
    int digit = 0;
    for (const char c : gpu.uuid()) {
      if (c == '-') continue;
      unsigned char& byte = uuid[digit / 2];
      byte = static_cast<unsigned char>(digit % 2 == 0 ? (c - '0') << 4 : byte | (c - '0'));
      ++digit;
    }
    return true;
  });
}

// A context is its device's number plus one; the current one tells free memory.
int current = 0, retained = 0;

int cuDevicePrimaryCtxRetain(void** context, int device) {
  return with_gpu(device, [&](const fake::Gpu&) {
    ++retained;
    *context = reinterpret_cast<void*>(static_cast<std::size_t>(device + 1));
    return true;
  });
}

int cuDevicePrimaryCtxRelease_v2(int) { return retained-- > 0 && current == 0 ? 0 : invalid_value; }

int cuCtxPushCurrent_v2(void* context) {
  current = static_cast<int>(reinterpret_cast<std::size_t>(context));
  return 0;
}

int cuCtxPopCurrent_v2(void**) {
  current = 0;
  return 0;
}

int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return with_gpu(current - 1, [&](const fake::Gpu& gpu) {
    *free = gpu.free;
    *total = 24'000'000'000;
    return true;
  });
}
}
