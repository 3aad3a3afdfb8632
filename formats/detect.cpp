#include "ckpt/error.h"
#include "ckpt/gzip.h"
#include "ckpt/limits.h"
#include "foreign.h"
#include "format.h"
#include "opened.h"

namespace ckpt {

Opened open_layers(const ByteSourcePtr& source) {
  Opened opened{.bytes = source};
  while (is_gzip(*opened.bytes)) {
    if (++opened.gzip_layers > limits::gzip_depth)
      throw Error(ErrorCode::limit_exceeded, "gzip within gzip within gzip")
          .expected("at most " + std::to_string(limits::gzip_depth) + " layers")
          .in(source->name())
          .hint("gzip -d takes the outer layers off");
    // One layer cannot grow past the ratio; two could, a million times over.
    const std::uint64_t most = opened.gzip_layers > 1 ? limits::inflated_cap(source->size()) : UINT64_MAX;
    opened.bytes = gunzip(opened.bytes, most);
  }
  for (const Format* format : format_table()) {
    if (!format->probe(*opened.bytes)) continue;
    opened.format = format;
    break;
  }
  return opened;
}

Detection detect(const ByteSourcePtr& source) {
  const Opened opened = open_layers(source);
  return {opened.format == nullptr ? std::string() : std::string(opened.format->name), opened.gzip_layers};
}

Checkpoint read_opened(const Opened& opened, const ReadContext& context) {
  if (opened.format == nullptr) throw foreign_file(*opened.bytes);
  Checkpoint checkpoint = opened.format->read(opened.bytes, context);
  checkpoint.gzip = opened.gzip_layers > 0;
  checkpoint.source = opened.bytes;
  return checkpoint;
}

Checkpoint read(const ByteSourcePtr& source, const ReadOptions& options) {
  try {
    Checkpoint checkpoint = read_opened(open_layers(source), ReadContext::of(*source, options));
    checkpoint.file = source->name();
    return checkpoint;
  } catch (Error& error) {
    throw error.in(source->name());
  }
}

Checkpoint load(const std::string& path, const ReadOptions& options) { return read(open_checkpoint(path), options); }

}  // namespace ckpt
