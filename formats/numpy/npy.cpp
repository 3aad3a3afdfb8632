#include <array>
#include <memory>

#include "ckpt/error.h"
#include "io/bytes.h"
#include "model/end_of_file.h"
#include "numpy/arrays.h"
#include "numpy/numpy.h"
#include "ops/watched_source.h"

namespace ckpt::numpy {
bool probe_npy(const ByteSource& source) {
  std::array<std::byte, magic.size()> start{};
  return source.read_at(0, start) == start.size() && as_text(start) == magic;
}

namespace {

std::uint64_t end_of(const Header& header) { return header.size + header.data_bytes; }

}  // namespace

std::uint64_t end_of_npy(const ByteSourcePtr& source, const ReadContext&) { return find_end(*source); }

Checkpoint read_npy(const ByteSourcePtr& source, const ReadContext& context) {
  const Header header = read_header(*source);
  auto details = std::make_shared<EndOfFile>(source, end_of(header), "the array");
  // verify() reads to the end anyway; else a compressed source is not inflated for that alone.
  const bool to_the_end = context.findings != nullptr || source->size_is_known();
  std::vector<std::string> warnings;
  if (to_the_end) warnings = details->finish();
  Checkpoint checkpoint = assemble_one(tensor_of("", header, source));
  checkpoint.file = source->name();
  checkpoint.format = npy_format.name;
  checkpoint.warnings = std::move(warnings);
  if (!to_the_end)
    checkpoint.details = std::move(details);
  else if (details->goes_on())
    keep_rest(checkpoint);
  context.check_bytes(*checkpoint.storages.front().bytes, "");
  return checkpoint;
}

WriteReceipt write_npy(Checkpoint& checkpoint, ByteSink& sink, const WriteOptions&) {
  const std::vector<NamedTensor> names = tensor_names(checkpoint);
  const bool is_alone = names.size() == 1 && names.front().tensor->value == checkpoint.root;
  if (!names.empty() && !is_alone)
    throw Error(ErrorCode::unsupported, "tensors under names, as '" + names.front().name + "'")
        .expected("one tensor alone, as npy files hold")
        .in(checkpoint.file)
        .hint("--root NAME takes one of them; --format npz holds them all by name");
  const std::vector<OutArray> arrays = arrays_of(checkpoint);
  const std::vector<Storage> storages = watched_storages(checkpoint);
  const std::uint32_t crc = write_array(arrays.front(), storages, sink);
  finish_watching(storages);
  return {{"0", crc}};
}

}  // namespace ckpt::numpy
