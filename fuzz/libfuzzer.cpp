// What libFuzzer calls: one target a program, and a mutator that keeps archives and pickles whole.
#include <algorithm>

#include "mutator.h"
#include "targets/targets.h"

namespace {

constexpr const ckpt::fuzz::Target* target = ckpt::fuzz::find_target(CKPT_FUZZ_TARGET);
static_assert(target != nullptr);

// The first byte of the whole program's input is not part of the file.
constexpr std::size_t head = target->name == "program" ? 1 : 0;
constexpr bool knows_how = target->name != "png";  // which mends its own

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): libFuzzer's names

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { return target->run(data, size); }

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  if (!knows_how || size <= head || max_size <= head || seed % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const ckpt::fuzz::Bytes changed = ckpt::fuzz::mutated({data + head, data + size}, seed / 16, LLVMFuzzerMutate);
  const std::size_t kept = std::min(changed.size(), max_size - head);
  std::copy_n(changed.begin(), kept, data + head);
  return head + kept;
}

// NOLINTEND(readability-identifier-naming)
