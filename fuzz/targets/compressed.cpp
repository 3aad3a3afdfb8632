#include "ckpt/formats.h"
#include "ckpt/gzip.h"
#include "ckpt/ops.h"
#include "io/stream.h"
#include "targets/input.h"
#include "targets/targets.h"

namespace ckpt::fuzz {
namespace {

/// In one member, and so without the index by which ckpt reads its own files here and there.
ByteSourcePtr gzipped(const ByteSource& bare) {
  MemorySink file;
  const auto packed = gzip_sink(file, {.threads = 1});
  copy_all(bare, *packed);
  packed->commit();
  return memory_source(file.bytes(), "input");
}

/// What comes of reading all of a file.
struct Outcome {
  std::optional<Error> error;
  std::string format, total;
  std::vector<std::string> tensors;
};

Outcome outcome_of(const ByteSourcePtr& source) {
  Outcome found;
  found.error = error_of([&] {
    const Checkpoint checkpoint = read(source);
    found.format = checkpoint.format;
    for (const NamedTensor& named : tensor_names(checkpoint))
      found.tensors.push_back(named.name + " on " + device_of(checkpoint, *named.tensor));
    for (const Storage& storage : checkpoint.storages)
      if (storage.bytes != nullptr) stream_all(*storage.bytes, [](auto) {});
    static_cast<void>(finish_reading(checkpoint));
    if (logical_bytes(checkpoint) <= worth_hashing) found.total = digest(checkpoint).total;
    MemorySink sink;  // reads the members that are no storages
    if (checkpoint.format == "torch") write(checkpoint, sink, {.format = "torch", .allow_unsafe = true});
  });
  return found;
}

std::size_t count_of(std::string_view mark, std::string_view bytes) {
  std::size_t count = 0;
  for (std::size_t at = bytes.find(mark); at != std::string_view::npos; at = bytes.find(mark, at + 1)) ++count;
  return count;
}

/// Whether an archive has more local headers than its directory names.
bool has_unlisted_members(std::string_view bytes) { return count_of("PK\3\4", bytes) > count_of("PK\1\2", bytes); }

/// A cap goes by the size of the file; and what is in gzip is read from its first byte on (docs/formats/torch.md), with
/// members that the directory does not name, and what is left out of the output (formats/torch_zip/writer.cpp): the
/// checksum of such a record is wrong.
bool may_refuse(const Error& error, std::string_view bytes) {
  if (error.code() == ErrorCode::limit_exceeded) return true;
  const std::string_view said = error.what();
  return said.find("stands behind the storages") != std::string_view::npos ||
         said.find("is not in the directory as it is here") != std::string_view::npos ||
         said.find("/.format_version': the bytes have CRC-32 ") != std::string_view::npos ||
         (said.find(": the bytes have CRC-32 ") != std::string_view::npos && has_unlisted_members(bytes));
}

}  // namespace

int fuzz_compressed(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || (data[0] == 0x1f && data[1] == 0x8b)) return 0;
  const ByteSourcePtr source = source_of(data, size);
  const Outcome bare = outcome_of(source), compressed = outcome_of(gzipped(*source));
  if (bare.error && compressed.error) return 0;
  if (bare.error) {
    // Within gzip, the index of a file in gzip goes unread, and what it contradicts.
    require(
        bare.error->code() == ErrorCode::limit_exceeded ||
            std::string_view(bare.error->what()).find("no gzip member as ckpt writes them") != std::string_view::npos,
        std::string("compressed it reads, but bare: ") + bare.error->what());
    return 0;
  }
  if (compressed.error) {
    require(may_refuse(*compressed.error, {reinterpret_cast<const char*>(data), size}),
            std::string("bare it reads, but compressed: ") + compressed.error->what());
    return 0;
  }
  require(bare.format == compressed.format, "bare it is " + bare.format + ", compressed " + compressed.format);
  require(bare.tensors == compressed.tensors, "compressed it has other tensors");
  require(bare.total == compressed.total, "compressed its tensors have other values");
  return 0;
}

}  // namespace ckpt::fuzz
