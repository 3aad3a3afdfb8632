#include "torch_zip/torch_zip.h"
#include "targets/input.h"
#include "targets/reading.h"
#include "targets/targets.h"

namespace ckpt::fuzz {

int fuzz_torch_zip(const std::uint8_t* data, std::size_t size) {
  exercise(torch::zip_format, source_of(data, size));
  return 0;
}

}  // namespace ckpt::fuzz
