#include "gpus.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace fake {

std::string Gpu::name() const { return "Imaginary GPU " + std::to_string(number); }
std::string Gpu::pci_id() const { return "0000:1" + std::to_string(number) + ":00.0"; }
std::string Gpu::uuid() const { return std::to_string(number) + "0000000-1111-2222-3333-444444444444"; }

std::vector<Gpu> installed() {
  const char* text = std::getenv("CKPT_FAKE_GPUS");
  std::istringstream words(text != nullptr ? text : "");
  std::vector<Gpu> gpus;
  for (std::string word; words >> word;) {
    Gpu gpu;
    gpu.number = static_cast<int>(gpus.size());
    gpu.free = std::stoull(word) * 1'000'000'000;
    if (const auto at = word.find('@'); at != std::string::npos) {
      gpu.major = word.at(at + 1) - '0';
      gpu.minor = word.at(at + 3) - '0';
    }
    gpu.mig = word.back() == 'm';
    gpus.push_back(gpu);
  }
  return gpus;
}

// As CUDA does it: a word that names no GPU ends the list, and a GPU named twice leaves none.
std::vector<Gpu> visible() {
  const std::vector<Gpu> all = installed();
  const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
  if (text == nullptr) return all;
  std::istringstream words(text);
  std::vector<Gpu> gpus;
  for (std::string word; std::getline(words, word, ',');) {
    const auto named = [&](const Gpu& gpu) {
      const std::string uuid = (gpu.mig ? "MIG-" : "GPU-") + gpu.uuid();
      return word == std::to_string(gpu.number) || (word.size() > 4 && uuid.compare(0, word.size(), word) == 0);
    };
    const auto found = std::find_if(all.begin(), all.end(), named);
    if (found == all.end()) break;
    if (std::any_of(gpus.begin(), gpus.end(), [&](const Gpu& gpu) { return gpu.number == found->number; })) return {};
    gpus.push_back(*found);
  }
  return gpus;
}

int setting(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : otherwise;
}

bool put(const std::string& text, char* out, unsigned size) {
  if (text.size() >= size) return false;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return true;
}

}  // namespace fake
