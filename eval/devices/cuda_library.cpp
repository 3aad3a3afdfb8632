#include "devices/cuda_library.h"

#include <array>
#include <cstddef>
#include <cstdio>

#include "ckpt/error.h"

namespace ckpt::eval {
namespace {

// cuda.h of CUDA 13: CUresult and CUdevice are ints, CUdevice_attribute an enum, a CUuuid is 16 bytes.
constexpr int attribute_multiprocessors = 16;
constexpr int attribute_major = 75;
constexpr int attribute_minor = 76;
using Uuid = std::array<unsigned char, 16>;
static_assert(sizeof(Uuid) == 16);

struct Functions {
  int (*init)(unsigned flags);
  int (*driver_version)(int* version);
  int (*device_count)(int* count);
  int (*device_get)(int* device, int ordinal);
  int (*device_name)(char* name, int size, int device);
  int (*device_attribute)(int* value, int attribute, int device);
  int (*device_total)(std::size_t* bytes, int device);
  // These may be missing from old drivers.
  int (*error_string)(int error, const char** words);
  int (*device_pci_id)(char* id, int size, int device);
  int (*device_uuid)(Uuid* uuid, int device);
  int (*context_retain)(void** context, int device);
  int (*context_release)(int device);
  int (*context_push)(void* context);
  int (*context_pop)(void** context);
  int (*memory_info)(std::size_t* free, std::size_t* total);
};

/// "5ebe9f43-…", as nvidia-smi writes them.
std::string uuid_text(const Uuid& uuid) {
  std::string out;
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    std::array<char, 4> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", uuid[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += digits.data();
  }
  return out;
}

class LoadedCuda final : public CudaDriver {
 public:
  explicit LoadedCuda(const Functions& functions) : call_(functions) {}

  int start() override { return call_.init(0); }

  std::string words(int error) override {
    const char* words = nullptr;
    if (call_.error_string == nullptr || call_.error_string(error, &words) != 0 || words == nullptr) return {};
    return words;
  }

  std::optional<int> version() override {
    int version = 0;
    return call_.driver_version(&version) == 0 ? std::optional(version) : std::nullopt;
  }

  int count() override {
    int count = 0;
    need(call_.device_count(&count), "cuDeviceGetCount");
    return count;
  }

  Device device(int logical) override {
    const int handle = get(logical);
    Device device;
    std::array<char, 256> name{};
    need(call_.device_name(name.data(), static_cast<int>(name.size()) - 1, handle), "cuDeviceGetName");
    device.name = name.data();
    device.major = attribute(attribute_major, handle);
    device.minor = attribute(attribute_minor, handle);
    device.multiprocessors = attribute(attribute_multiprocessors, handle);
    std::size_t total = 0;
    need(call_.device_total(&total, handle), "cuDeviceTotalMem");
    device.total_bytes = total;
    std::array<char, 64> pci_id{};
    const int room = static_cast<int>(pci_id.size()) - 1;
    if (call_.device_pci_id != nullptr && call_.device_pci_id(pci_id.data(), room, handle) == 0)
      device.pci_id = pci_id.data();
    Uuid uuid{};
    if (call_.device_uuid != nullptr && call_.device_uuid(&uuid, handle) == 0) device.uuid = uuid_text(uuid);
    return device;
  }

  std::optional<std::uint64_t> free_bytes(int logical) override {
    if (call_.context_retain == nullptr || call_.context_release == nullptr || call_.context_push == nullptr ||
        call_.context_pop == nullptr || call_.memory_info == nullptr)
      return std::nullopt;
    const int handle = get(logical);
    void* context = nullptr;
    if (call_.context_retain(&context, handle) != 0) return std::nullopt;
    std::size_t free = 0, total = 0;
    bool known = false;
    if (call_.context_push(context) == 0) {
      known = call_.memory_info(&free, &total) == 0;
      call_.context_pop(&context);
    }
    call_.context_release(handle);
    return known ? std::optional<std::uint64_t>(free) : std::nullopt;
  }

 private:
  void need(int result, const std::string& function) {
    if (result == 0) return;
    const std::string said = words(result);
    throw Error(ErrorCode::unavailable,
                function + " failed with error " + std::to_string(result) + (said.empty() ? "" : " (" + said + ")"));
  }

  int get(int logical) {
    int handle = 0;
    need(call_.device_get(&handle, logical), "cuDeviceGet");
    return handle;
  }

  int attribute(int which, int handle) {
    int value = 0;
    need(call_.device_attribute(&value, which, handle), "cuDeviceGetAttribute");
    return value;
  }

  Functions call_;
};

}  // namespace

std::unique_ptr<CudaDriver> open_cuda(const Library& library, std::string& missing) {
  if (!library.found()) {
    missing = library.error();
    return nullptr;
  }
  Functions call{};
  const auto need = [&](const char* symbol, auto& function) { library.need(symbol, function, missing); };
  need("cuInit", call.init);
  need("cuDriverGetVersion", call.driver_version);
  need("cuDeviceGetCount", call.device_count);
  need("cuDeviceGet", call.device_get);
  need("cuDeviceGetName", call.device_name);
  need("cuDeviceGetAttribute", call.device_attribute);
  need("cuDeviceTotalMem_v2", call.device_total);
  if (!missing.empty()) return nullptr;
  library.find("cuGetErrorString", call.error_string);
  library.find("cuDeviceGetPCIBusId", call.device_pci_id);
  library.find("cuDeviceGetUuid_v2", call.device_uuid);  // of a MIG instance its own; the first version tells the GPU's
  if (call.device_uuid == nullptr) library.find("cuDeviceGetUuid", call.device_uuid);
  library.find("cuDevicePrimaryCtxRetain", call.context_retain);
  library.find("cuDevicePrimaryCtxRelease_v2", call.context_release);
  library.find("cuCtxPushCurrent_v2", call.context_push);
  library.find("cuCtxPopCurrent_v2", call.context_pop);
  library.find("cuMemGetInfo_v2", call.memory_info);
  return std::make_unique<LoadedCuda>(call);
}

}  // namespace ckpt::eval
