#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/byte_source.h"
#include "ckpt/gzip.h"
#include "format.h"

namespace ckpt {

/// A source with its gzip layers and a tar archive around it taken off, and the format of what is inside (null where
/// none knows it).
struct Opened {
  ByteSourcePtr bytes;
  std::vector<ByteSourcePtr> compressed;  ///< what each layer of gzip was taken off, the outer one first
  const Format* format = nullptr;
  ByteSourcePtr archive;         ///< the tar that `bytes` are a member of; null where they are the file itself
  std::string member;            ///< its name there
  std::optional<Error> refusal;  ///< why no member was chosen

  [[nodiscard]] int gzip_layers() const { return static_cast<int>(compressed.size()); }
  [[nodiscard]] const ByteSource& outermost() const { return archive ? *archive : *bytes; }
};

/// Takes one layer of gzip off, from which at most so many bytes may come: gunzip_by_index(), or gunzip(), which
/// believes nothing but the bytes themselves.
using GzipReader = std::function<ByteSourcePtr(ByteSourcePtr, std::uint64_t)>;

/// `is_surely_gzip`: whatever its first bytes are. Throws Error: io, limit_exceeded.
Opened open_layers(const ByteSourcePtr& source, const GzipReader& reader = gunzip_by_index,
                   bool is_surely_gzip = false);

/// Takes gzip off opened.bytes and asks the formats. `left`: bytes that gzip within gzip may still come to, of which it
/// takes what this one may, where no format knows it. Throws Error: io, limit_exceeded.
void open_gzip(Opened& opened, std::uint64_t& left, const GzipReader& reader = gunzip_by_index);

/// Where `opened` is a tar that no format reads: goes on to the one member that a format does, or says why not.
/// Throws Error: io, limit_exceeded.
void open_archive(Opened& opened, std::uint64_t& left, const GzipReader& reader);

/// That the checkpoint is a member of opened.archive.
std::string archive_remark(const Opened& opened);

/// Reads what open_layers() found: a checkpoint that knows its name, its compression and its bytes. Throws Error:
/// unsupported, by name, where no format knows it; what the format's reader throws.
Checkpoint read_opened(const Opened& opened, const ReadContext& context);

/// Reports what is wrong with gzip by its index, by which all but verify() reads it. Throws Error: io.
void check_gzip(const Opened& opened, const ReadContext& context);

}  // namespace ckpt
