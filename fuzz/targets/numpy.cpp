#include "numpy/numpy.h"

#include "container/zip_writer.h"
#include "targets/input.h"
#include "targets/reading.h"
#include "targets/targets.h"

namespace ckpt::fuzz {
namespace {

void check(const Format& format, const ByteSourcePtr& source) {
  exercise(format, source);
  if (!recognises(format, *source)) return;
  Checkpoint checkpoint;
  if (error_of([&] { checkpoint = format.read(source, {}); })) return;
  checkpoint.format = format.name;
  if (logical_bytes(checkpoint) > worth_hashing) return;
  rewritten_tensors(checkpoint, std::string(format.name));
  rewritten_tensors(checkpoint, "torch");
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
