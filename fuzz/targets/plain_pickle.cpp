#include "plain_pickle/plain_pickle.h"

#include "ckpt/assemble.h"
#include "ckpt/ops.h"
#include "targets/input.h"
#include "targets/reading.h"
#include "targets/targets.h"

namespace ckpt::fuzz {
namespace {

/// Its arrays are the same as tensors, and as tensors in a file of torch's.
void check_as_tensors(const Checkpoint& before) {
  Checkpoint tensors;
  std::string total;
  if (error_of([&] { tensors = arrays_as_tensors(before); }) || error_of([&] { total = digest(before).total; })) return;
  require(total == digest(tensors).total, "a tensor is another than its array");
  if (const auto after = rewritten(tensors, {.format = "torch", .protocol = 2}))
    require(total == digest(after->checkpoint).total, "a tensor is another in what was written");
}

}  // namespace

int fuzz_plain_pickle(const std::uint8_t* data, std::size_t size) {
  const ByteSourcePtr source = source_of(data, size);
  exercise(plain_pickle::format, source);
  if (!recognises(plain_pickle::format, *source)) return 0;
  Checkpoint checkpoint;
  if (error_of([&] { checkpoint = read(source); })) return 0;
  if (error_of([&] { check_views(checkpoint); }) || logical_bytes(checkpoint) > worth_hashing) return 0;
  check_as_tensors(checkpoint);
  return 0;
}

}  // namespace ckpt::fuzz
