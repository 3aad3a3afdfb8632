#include "io/cores.h"

#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

namespace ckpt {
namespace {

std::size_t bound_cores() {
#ifdef __linux__
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<std::size_t>(CPU_COUNT(&set));
#endif
  return std::thread::hardware_concurrency();
}

std::size_t count_cores() {
  std::size_t cores = bound_cores();
  // Where a container has a quota, this is its own group.
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string line;
  if (std::getline(file, line)) cores = std::min(cores, cores_of_quota(line).value_or(cores));
  cores = std::min(cores, threads_of_omp(std::getenv("OMP_NUM_THREADS")).value_or(cores));
  return std::max<std::size_t>(cores, 1);
}

}  // namespace

std::optional<std::size_t> cores_of_quota(const std::string& cpu_max) {
  std::istringstream text(cpu_max);
  long long quota = 0, period = 0;
  if (!(text >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return static_cast<std::size_t>((quota - 1) / period + 1);
}

std::optional<std::size_t> threads_of_omp(const char* variable) {
  if (!variable) return std::nullopt;
  std::size_t threads = 0;
  const auto [end, error] = std::from_chars(variable, variable + std::strlen(variable), threads);
  if (error != std::errc() || threads == 0 || (*end != '\0' && *end != ',')) return std::nullopt;
  return threads;
}

std::size_t usable_cores() {
  static const std::size_t cores = count_cores();
  return cores;
}

}  // namespace ckpt
