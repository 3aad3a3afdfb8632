#include "runner/memory.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <string>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace ckpt::eval {
namespace {

std::optional<std::uint64_t> number_in(const char* path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

std::optional<std::uint64_t> available() {
  std::ifstream file("/proc/meminfo");
  for (std::string name, unit; file >> name;) {
    std::uint64_t kib = 0;
    if (!(file >> kib)) break;
    if (name == "MemAvailable:") return kib * 1024;
    std::getline(file, unit);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> free_host_memory() {
  std::optional<std::uint64_t> least = available();
  const auto bound = [&least](std::uint64_t limit, std::uint64_t used) {
    const std::uint64_t left = limit > used ? limit - used : 0;
    least = std::min(least.value_or(left), left);
  };
  rlimit limit{};
  const auto pages = number_in("/proc/self/statm");
  if (pages && getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    bound(limit.rlim_cur, *pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
  }
  const auto most = number_in("/sys/fs/cgroup/memory.max"), used = number_in("/sys/fs/cgroup/memory.current");
  if (most && used) bound(*most, *used);
  return least;
}

std::optional<std::uint64_t> free_memory(at::Device device) {
  if (device.is_cpu()) return free_host_memory();
  try {
    return c10::getDeviceAllocator(device.type())->getMemoryInfo(device.index()).first;
  } catch (const c10::Error&) {  // not every device's allocator knows
    return std::nullopt;
  }
}

void release_cached_memory(at::Device device) {
  if (device.is_cpu()) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    return;
  }
  try {
    c10::getDeviceAllocator(device.type())->emptyCache();
  } catch (const c10::Error&) {  // then it keeps nothing
  }
}

std::uint64_t peak_memory(at::Device device) {
  if (device.is_cpu()) return 0;
  try {
    const auto stats = c10::getDeviceAllocator(device.type())->getDeviceStats(device.index());
    const auto peak = stats.reserved_bytes[static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE)].peak;
    return static_cast<std::uint64_t>(std::max<std::int64_t>(peak, 0));
  } catch (const c10::Error&) {
    return 0;
  }
}

}  // namespace ckpt::eval
