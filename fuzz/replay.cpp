// Gives files to a fuzz target, in any build: ckpt_fuzz_replay TARGET FILE...
// A finding ends the process as it ended the fuzzer; without one each file is named and the exit status is 0.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "targets/targets.h"

int main(int count, char** words) {
  const ckpt::fuzz::Target* const target = count > 1 ? ckpt::fuzz::find_target(words[1]) : nullptr;
  if (target == nullptr || count < 3) {
    std::fprintf(stderr, "usage: ckpt_fuzz_replay TARGET FILE...\ntargets:");
    for (const auto& each : ckpt::fuzz::targets) std::fprintf(stderr, " %s", each.name.data());
    std::fprintf(stderr, "\n");
    return 2;
  }
  for (int i = 2; i < count; ++i) {
    std::ifstream file(words[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "%s: cannot be opened\n", words[i]);
      return 2;
    }
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    std::printf("%s\n", words[i]);
    std::fflush(stdout);
    target->run(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  return 0;
}
