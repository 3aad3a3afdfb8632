#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ckpt/export.h"

namespace ckpt {

/// Bytes that can be read from any offset: a file, a piece of memory, a slice of another source, an inflated gzip
/// stream, a member of an archive.
///
///     auto file = open_file("model.pt");
///     std::array<std::byte, 4> magic{};
///     file->read_exactly(0, magic);
///
/// Reading forward is always cheap. Reading backward is free on files and memory; an inflating source goes back to
/// its nearest checkpoint. Sources are shared (`std::shared_ptr`), never change what they stand for, and are not
/// thread-safe: one thread at a time a source, slices of it included.
class CKPT_API ByteSource {
 public:
  virtual ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Bytes in all. An inflating source inflates everything once to know it.
  /// Throws Error: io, corrupt, truncated.
  [[nodiscard]] virtual std::uint64_t size() const = 0;

  /// False where size() has to inflate everything first; a caller with one forward pass to spend then reads to the end
  /// instead. A slice's size is always known: it was told.
  [[nodiscard]] virtual bool size_is_known() const;

  /// Reads up to out.size() bytes at `offset`; fewer only where the source ends. Returns how many.
  /// Throws Error: io, corrupt, truncated (a compressed stream that is cut).
  virtual std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const = 0;

  /// Reads all of `out` or throws truncated at the byte where the source ended.
  void read_exactly(std::uint64_t offset, std::span<std::byte> out) const;

  /// The CRC-32 that the container recorded for these bytes, if it recorded one. Whoever reads all of it compares.
  [[nodiscard]] virtual std::optional<std::uint32_t> recorded_crc32() const;

  /// What messages call it: the file's name as the user gave it, or "FILE: member 'data/0'".
  [[nodiscard]] const std::string& name() const { return name_; }

  /// The folder that its file lies in, where what it names may lie beside it; empty for what came from nowhere.
  [[nodiscard]] const std::string& folder() const { return folder_; }

 protected:
  explicit ByteSource(std::string name, std::string folder = {});

 private:
  std::string name_;
  std::string folder_;
};

using ByteSourcePtr = std::shared_ptr<const ByteSource>;

/// Opens a file for reading by `pread`; "-" is standard input. What cannot be read at random (a pipe) is first
/// spooled to an unnamed temporary file. A file that others change while it is read is an Error (io) of the next read,
/// never a signal or a mixture of both.
/// Throws Error: io (also for a folder).
CKPT_API ByteSourcePtr open_file(const std::string& path);

/// Bytes in memory, owned by the source. `folder`: as ByteSource::folder() tells it.
CKPT_API ByteSourcePtr memory_source(std::vector<std::byte> bytes, std::string name, std::string folder = {});

/// `size` bytes of `whole` from `offset` on. Throws Error (truncated) where they reach past its end, if its size is
/// known without inflating; else reads past the end are short.
CKPT_API ByteSourcePtr slice(ByteSourcePtr whole, std::uint64_t offset, std::uint64_t size, std::string name,
                             std::optional<std::uint32_t> recorded_crc32 = std::nullopt);

/// The whole of a source, at most `limit` bytes, in memory. Allocates only as bytes arrive.
/// Throws Error: limit_exceeded, and what reading throws. Compares the recorded CRC-32 where there is one (corrupt).
CKPT_API std::vector<std::byte> read_all(const ByteSource& source, std::uint64_t limit);

/// SHA-256 of all its bytes, as 64 hexadecimal digits. Compares the recorded CRC-32 where there is one (corrupt).
CKPT_API std::string sha256_of(const ByteSource& source);

}  // namespace ckpt
