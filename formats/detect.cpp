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

Checkpoint read(const ByteSourcePtr& source) {
  const Opened opened = open_layers(source);
  if (opened.format == nullptr) throw foreign_file(*opened.bytes);
  Checkpoint checkpoint;
  try {
    checkpoint = opened.format->read(opened.bytes, {.pickle_cap = limits::pickle_cap(source->size()),
                                                    .inflated_cap = limits::inflated_cap(source->size()),
                                                    .findings = nullptr});
  } catch (Error& error) {
    throw error.in(source->name());
  }
  checkpoint.file = source->name();
  checkpoint.gzip = opened.gzip_layers > 0;
  checkpoint.source = opened.bytes;
  return checkpoint;
}

Checkpoint load(const std::string& path) { return read(open_file(path)); }

}  // namespace ckpt
