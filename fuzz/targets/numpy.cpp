#include "numpy/numpy.h"

#include "ckpt/ops.h"
#include "container/zip_writer.h"
#include "targets/input.h"
#include "targets/reading.h"
#include "targets/targets.h"

namespace ckpt::fuzz {
namespace {

/// Written again, in this format, it has the same tensors.
void check_written(const Checkpoint& before, const std::string& format) {
  if (const auto after = rewritten(before, {.format = format}))
    require(digest(before).total == digest(after->checkpoint).total, "a tensor is another in " + format);
}

void check(const Format& format, const ByteSourcePtr& source) {
  exercise(format, source);
  if (!recognises(format, *source)) return;
  Checkpoint checkpoint;
  if (error_of([&] { checkpoint = format.read(source, {}); })) return;
  checkpoint.format = format.name;
  if (logical_bytes(checkpoint) > worth_hashing) return;
  check_written(checkpoint, std::string(format.name));
  check_written(checkpoint, "torch");
}

}  // namespace

int fuzz_numpy(const std::uint8_t* data, std::size_t size) {
  const ByteSourcePtr source = source_of(data, size);
  check(numpy::npz_format, source);
  check(numpy::npy_format, source);
  // As an array in a well-formed archive, which chance would hardly make.
  MemorySink sink;
  ZipWriter zip(sink);
  zip.add("w.npy", *source);
  zip.finish();
  check(numpy::npz_format, memory_source(sink.bytes(), "archive"));
  return 0;
}

}  // namespace ckpt::fuzz
