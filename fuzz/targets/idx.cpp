#include "datasets/idx.h"

#include <algorithm>

#include "targets/input.h"
#include "targets/targets.h"

namespace ckpt::fuzz {

int fuzz_idx(const std::uint8_t* data, std::size_t size) {
  static_cast<void>(error_of([&] {
    const eval::IdxFile file(source_of(data, size));
    std::uint64_t elements = 1;
    for (const std::int64_t length : file.shape()) elements *= static_cast<std::uint64_t>(length);
    const std::uint64_t half = elements / 2;
    const auto first = file.read(0, half, half == elements), second = file.read(half, elements - half, true);
    require(first.size() == half && second.size() == elements - half, "another number of elements");
    auto whole = file.read(0, elements, true);
    require(std::equal(first.begin(), first.end(), whole.begin()), "the first half is another");
    require(std::equal(second.begin(), second.end(), whole.begin() + static_cast<std::ptrdiff_t>(half)),
            "the second half is another");
  }));
  return 0;
}

}  // namespace ckpt::fuzz
