#include "devices/nvml_library.h"

#include <array>

namespace ckpt::eval {
namespace {

// nvml.h: nvmlReturn_t is an int, a device an opaque pointer, memory three numbers of bytes.
using Device = void*;
struct Memory {
  unsigned long long total, free, used;
};

struct Functions {
  int (*init)();
  const char* (*error_string)(int error);
  int (*shutdown)();
  int (*driver_version)(char* version, unsigned size);
  int (*count)(unsigned* count);
  int (*by_index)(unsigned index, Device* device);
  int (*by_pci_id)(const char* id, Device* device);
  int (*by_uuid)(const char* uuid, Device* device);
  int (*uuid)(Device device, char* uuid, unsigned size);
  int (*index)(Device device, unsigned* index);
  int (*memory)(Device device, Memory* memory);
  int (*mig_mode)(Device device, unsigned* current, unsigned* pending);  // since 2020
};

class LoadedNvml final : public Nvml {
 public:
  explicit LoadedNvml(const Functions& functions) : call_(functions) {}
  ~LoadedNvml() override { call_.shutdown(); }
  LoadedNvml(const LoadedNvml&) = delete;
  LoadedNvml& operator=(const LoadedNvml&) = delete;

  std::string driver_version() override {
    std::array<char, 128> version{};
    return call_.driver_version(version.data(), version.size() - 1) == 0 ? version.data() : "";
  }

  std::vector<std::string> uuids() override {
    unsigned count = 0;
    if (call_.count(&count) != 0) return {};
    std::vector<std::string> out(count);
    for (unsigned i = 0; i < count; ++i) {
      Device device = nullptr;
      std::array<char, 128> uuid{};
      if (call_.by_index(i, &device) == 0 && call_.uuid(device, uuid.data(), uuid.size() - 1) == 0)
        out[i] = uuid.data();
    }
    return out;
  }

  std::optional<Board> board(const std::string& pci_id) override {
    Device device = nullptr;
    unsigned index = 0;
    if (call_.by_pci_id(pci_id.c_str(), &device) != 0 || call_.index(device, &index) != 0) return std::nullopt;
    unsigned mig = 0, pending = 0;
    const bool is_mig = call_.mig_mode != nullptr && call_.mig_mode(device, &mig, &pending) == 0 && mig == 1;
    return Board{static_cast<int>(index), is_mig, free_bytes(device)};
  }

  std::optional<std::uint64_t> mig_free_bytes(const std::string& uuid) override {
    Device device = nullptr;
    if (call_.by_uuid(uuid.c_str(), &device) != 0) return std::nullopt;
    return free_bytes(device);
  }

 private:
  std::optional<std::uint64_t> free_bytes(Device device) {
    Memory memory{};
    if (call_.memory(device, &memory) != 0) return std::nullopt;
    return memory.free;
  }

  Functions call_;
};

}  // namespace

std::unique_ptr<Nvml> open_nvml(const Library& library, std::string& missing) {
  if (!library.found()) {
    missing = library.error();
    return nullptr;
  }
  Functions call{};
  const auto need = [&](const char* symbol, auto& function) { library.need(symbol, function, missing); };
  need("nvmlInit_v2", call.init);
  need("nvmlShutdown", call.shutdown);
  need("nvmlSystemGetDriverVersion", call.driver_version);
  need("nvmlDeviceGetCount_v2", call.count);
  need("nvmlDeviceGetHandleByIndex_v2", call.by_index);
  need("nvmlDeviceGetHandleByPciBusId_v2", call.by_pci_id);
  need("nvmlDeviceGetHandleByUUID", call.by_uuid);
  need("nvmlDeviceGetUUID", call.uuid);
  need("nvmlDeviceGetIndex", call.index);
  need("nvmlDeviceGetMemoryInfo", call.memory);
  if (!missing.empty()) return nullptr;
  library.find("nvmlErrorString", call.error_string);
  library.find("nvmlDeviceGetMigMode", call.mig_mode);
  if (const int result = call.init(); result != 0) {
    const char* words = call.error_string != nullptr ? call.error_string(result) : nullptr;
    missing = "nvmlInit failed with error " + std::to_string(result) + (words ? " (" + std::string(words) + ")" : "");
    return nullptr;
  }
  return std::make_unique<LoadedNvml>(call);
}

}  // namespace ckpt::eval
