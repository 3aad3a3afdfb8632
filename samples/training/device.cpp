#include "device.h"

#include <ATen/Context.h>
#include <c10/core/DeviceGuard.h>
#include <ckpt/error.h>
#include <dlfcn.h>

#include <charconv>

namespace training {
namespace {

struct Cuda {
  int gpus = 0;
  std::string missing;
};

std::string loading_error() {
  const char* words = dlerror();
  return words != nullptr ? words : "unknown reason";
}

/// Only the CPU half of libtorch is linked, so that the program starts fast and runs where there is no CUDA.
Cuda load_cuda() {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) == nullptr) return {0, "no NVIDIA driver: " + loading_error()};
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr)
    return {0, "libtorch's CUDA half cannot be loaded: " + loading_error()};
  const auto cuda = c10::DeviceType::CUDA;
  if (!c10::impl::hasDeviceGuardImpl(cuda)) return {0, "libtorch was built without CUDA"};
  const int gpus = c10::impl::getDeviceGuardImpl(cuda)->deviceCount();
  return {gpus, gpus == 0 ? "the driver shows no GPU (CUDA_VISIBLE_DEVICES?)" : ""};
}

const Cuda& cuda() {
  static const Cuda found = load_cuda();
  return found;
}

c10::Device gpu(int index) {
  if (index >= cuda().gpus)
    throw ckpt::Error(ckpt::ErrorCode::unavailable, "there is no cuda:" + std::to_string(index))
        .expected(cuda().gpus == 0 ? cuda().missing : "cuda:0 to cuda:" + std::to_string(cuda().gpus - 1))
        .hint("--device cpu trains on the CPU; ckpt devices lists what is there");
  return {c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index)};
}

ckpt::Error unknown(const std::string& word) {
  return ckpt::Error(ckpt::ErrorCode::invalid_argument, "--device is '" + word + "'")
      .expected("auto, cpu, cuda, cuda:N, cuda:0,2, cuda:all or mps");
}

/// "0,2" as numbers.
std::vector<int> numbers_in(const std::string& list, const std::string& word) {
  std::vector<int> out;
  const char* at = list.data();
  const char* const end = at + list.size();
  while (true) {
    int number = 0;
    const auto [stop, failed] = std::from_chars(at, end, number);
    if (failed != std::errc() || number < 0 || number > 1024) throw unknown(word);
    out.push_back(number);
    if (stop == end) return out;
    if (*stop != ',') throw unknown(word);
    at = stop + 1;
  }
}

}  // namespace

std::vector<c10::Device> devices_of(const std::string& word, std::optional<int> local_rank) {
  const c10::Device cpu(c10::DeviceType::CPU), mps(c10::DeviceType::MPS, 0);
  const std::size_t colon = word.find(':');
  const std::string kind = word.substr(0, colon);
  const std::string list = colon == std::string::npos ? "" : word.substr(colon + 1);
  if (kind == "cpu") {
    if (colon == std::string::npos) return {cpu};
    const std::vector<int> copies = numbers_in(list, word);
    if (copies.size() != 1 || copies[0] == 0) throw unknown(word);
    return {static_cast<std::size_t>(copies[0]), cpu};
  }
  const int loaded = cuda().gpus;  // before anything else asks
  if (word == "auto" && loaded == 0) return {at::hasMPS() ? mps : cpu};
  if (word == "mps" && at::hasMPS()) return {mps};
  if (word == "mps") throw ckpt::Error(ckpt::ErrorCode::unavailable, "there is no Apple GPU here");
  if (word == "auto" || word == "cuda") return {gpu(local_rank.value_or(0))};
  if (kind != "cuda") throw unknown(word);
  std::vector<c10::Device> all;
  if (list == "all") {
    all.push_back(gpu(0));
    while (static_cast<int>(all.size()) < loaded) all.push_back(gpu(static_cast<int>(all.size())));
  } else {
    for (const int index : numbers_in(list, word)) all.push_back(gpu(index));
  }
  return all;
}

void synchronize(c10::Device device) {
  if (!device.is_cpu()) c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
}

}  // namespace training
