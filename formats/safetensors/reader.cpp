#include <memory>
#include <span>
#include <utility>

#include "ckpt/assemble.h"
#include "ckpt/error.h"
#include "io/bytes.h"
#include "io/keyed_hash.h"
#include "io/slice_source.h"
#include "named_tensors/sharding_info.h"
#include "safetensors/header.h"
#include "safetensors/safetensors.h"
#include "safetensors/views.h"

namespace ckpt::safetensors {
namespace {

/// Throws Error: truncated, corrupt, unless the file ends where its tensors do.
void check_end(const ByteSource& source, std::uint64_t end) {
  const std::uint64_t size = source.size();
  if (size < end)
    throw Error(ErrorCode::truncated, "the file ends at byte " + std::to_string(size))
        .expected(std::to_string(end) + " bytes, as its header says")
        .at(size);
  if (size > end)
    throw Error(ErrorCode::corrupt, std::to_string(size - end) + " bytes follow the last tensor")
        .expected("the file's end")
        .at(end);
}

/// Of a compressed file, whose end is known only when it has been read.
class LateEnd final : public FormatDetails {
 public:
  LateEnd(ByteSourcePtr source, std::uint64_t end) : source_(std::move(source)), end_(end) {}

  [[nodiscard]] std::vector<std::string> finish() const override {
    check_end(*source_, end_);
    return {};
  }

 private:
  ByteSourcePtr source_;
  std::uint64_t end_;
};

TensorSource source_of(Entry& entry, const Header& header, const ByteSourcePtr& file) {
  return {.name = std::move(entry.name),
          .dtype = entry.dtype,
          .shape = std::move(entry.shape),
          .bytes = slice(file, header.data_begin + entry.begin, entry.end - entry.begin, file->source_name())};
}

/// Beside the tensors that they are views of; each shares the bytes of its own.
void add_sources(std::vector<View> views, std::vector<TensorSource>& tensors) {
  NameViewMap<std::size_t> by_name;
  const std::size_t written = tensors.size();
  tensors.reserve(written + views.size());
  for (std::size_t i = 0; i < written; ++i) by_name.emplace(tensors[i].name, i);
  for (View& view : views) {
    const TensorSource& of = tensors[by_name.at(view.of)];
    tensors.push_back({.name = std::move(view.name),
                       .dtype = of.dtype,
                       .shape = view.whole ? std::vector(of.shape) : std::move(view.shape),
                       .stride = view.whole ? std::vector<std::int64_t>() : std::move(view.stride),
                       .bytes = of.bytes,
                       .offset = view.offset});
  }
}

/// The tensors of the header's entries, in `source`.
Checkpoint make_checkpoint(Header header, const ByteSourcePtr& source, const ReadContext& context) {
  std::vector<std::string> warnings;
  std::vector<View> views = take_views(header.metadata, header.entries, warnings, context);
  std::vector<TensorSource> tensors;
  tensors.reserve(header.entries.size());
  for (Entry& entry : header.entries) {
    tensors.push_back(source_of(entry, header, source));
    if (source->size_is_known()) context.check_bytes(*tensors.back().bytes, tensor_called(tensors.back().name));
  }
  header.entries = std::vector<Entry>();  // braces alone would keep the room
  add_sources(std::move(views), tensors);
  Checkpoint checkpoint = assemble(std::move(tensors));
  checkpoint.file = source->name();
  checkpoint.format = safetensors_format.name;
  checkpoint.metadata = std::move(header.metadata);
  if (std::string pieces = named_tensors::warning_of_pieces(checkpoint.metadata, checkpoint.file); !pieces.empty())
    warnings.push_back(std::move(pieces));
  checkpoint.warnings = std::move(warnings);
  return checkpoint;
}

}  // namespace

bool probe(const ByteSource& source) { return begins_with_header(source); }

Checkpoint read(const ByteSourcePtr& source, const ReadContext& context) {
  Header header = read_header(*source, context);
  // verify() reads to the end anyway; else a compressed source is not inflated for that alone.
  const bool to_the_end = context.findings != nullptr || source->size_is_known();
  if (to_the_end) {
    try {
      check_end(*source, header.data_end);
    } catch (const Error& error) {
      context.report(error, "");
      const std::uint64_t size = source->size();
      std::erase_if(header.entries, [&](const Entry& entry) { return header.data_begin + entry.end > size; });
    }
  }
  const std::uint64_t end = header.data_end;
  Checkpoint checkpoint = make_checkpoint(std::move(header), source, context);
  if (!to_the_end) checkpoint.details = std::make_shared<LateEnd>(source, end);
  return checkpoint;
}

Salvage salvage(const ByteSourcePtr& source, const ReadContext& context) {
  if (!begins_with_header(*source)) throw Error(ErrorCode::unsupported, "no header of safetensors").expected("one");
  Salvage result;
  const std::size_t known = context.findings->size();
  Header header = read_header(*source, context);
  try {
    check_end(*source, header.data_end);
  } catch (const Error& error) {
    context.report(error, "");
  }
  result.checkpoint = make_checkpoint(std::move(header), endless(source), context);
  // No checksum tells which of the header's numbers is wrong, or where bytes are missing or too many: others may lie
  // where a tensor is looked for, and of an entry or a view that is broken nothing is left.
  result.is_certain = !has_faults(std::span(*context.findings).subspan(known));
  return result;
}

}  // namespace ckpt::safetensors
