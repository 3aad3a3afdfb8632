// Converts files in turn, again and again in one process, as a server would, and says after each thousand what it
// holds: `RUNS RESIDENT_BYTES DESCRIPTORS`.
//
//     ckpt_convert_often RUNS OUT IN…
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "ckpt/formats.h"
#include "ckpt/ops.h"

namespace {

std::size_t resident_bytes() {
  std::size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::ptrdiff_t descriptors() {
  const std::filesystem::directory_iterator open("/proc/self/fd");
  return std::distance(begin(open), end(open)) - 1;  // the one that lists them
}

void convert(const std::string& in, const std::string& out) {
  ckpt::Checkpoint checkpoint = ckpt::load(in);
  checkpoint = ckpt::remap(std::move(checkpoint), ckpt::DeviceMap::all_to("cpu"));
  checkpoint = ckpt::strip_prefix(std::move(checkpoint)).first;
  ckpt::save(std::move(checkpoint), out);
}

}  // namespace

int main(int count, char** words) try {
  constexpr int options = 3, some = 1000;
  if (count <= options) return 2;
  for (int run = 1, runs = std::atoi(words[1]); run <= runs; ++run) {
    convert(words[options + run % (count - options)], words[2]);
    if (run % some == 0) std::cout << run << ' ' << resident_bytes() << ' ' << descriptors() << std::endl;
  }
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
