#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/export.h"

namespace ckpt {

/// What the sources of one file are called. A file may have tens of thousands of them, of which hardly one is ever
/// named: each name is put together when a message asks for it.
class CKPT_API SourceNames {
 public:
  virtual ~SourceNames();
  [[nodiscard]] virtual std::string name(std::uint32_t index) const = 0;
};

/// What a source is called: a text, or one of SourceNames. A copy shares it.
class CKPT_API SourceName {
 public:
  SourceName(std::string name);  // NOLINT(google-explicit-constructor): a name is a text
  SourceName(const char* name) : SourceName(std::string(name)) {}  // NOLINT(google-explicit-constructor)
  SourceName(std::shared_ptr<const SourceNames> names, std::uint32_t index) : names_(std::move(names)), index_(index) {}

  [[nodiscard]] std::string text() const { return names_->name(index_); }

 private:
  std::shared_ptr<const SourceNames> names_;
  std::uint32_t index_;
};

/// Bytes that can be read from any offset: a file, a piece of memory, a slice of another source, an inflated gzip
/// stream, a member of an archive.
///
///     auto file = open_file("model.pt");
///     std::array<std::byte, 4> magic{};
///     file->read_exactly(0, magic);
///
/// Reading forward is always cheap. Reading backward is free on files and memory; an inflating source goes back to
/// its nearest checkpoint. Sources are shared (`std::shared_ptr`), never change what they stand for, and may be read by
/// any thread; where is_concurrent() says no, threads take turns, and have it go back and forth between them.
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

  /// True where threads read at once, none waiting for another: files, memory, slices of them. Else read_at() locks.
  [[nodiscard]] virtual bool is_concurrent() const;

  /// Reads up to out.size() bytes at `offset`; fewer only where the source ends. Returns how many.
  /// Throws Error: io, corrupt, truncated (a compressed stream that is cut).
  virtual std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const = 0;

  /// Says that these bytes will be read next, or soon: what takes time may be begun on other threads. No more than a
  /// hint, and called as read_at() is; what goes wrong in it, reading says.
  virtual void expect(std::uint64_t offset, std::uint64_t size) const;

  /// Reads all of `out` or throws truncated at the byte where the source ended.
  void read_exactly(std::uint64_t offset, std::span<std::byte> out) const;

  /// The CRC-32 that the container recorded for these bytes, if it recorded one. Whoever reads all of it compares.
  [[nodiscard]] virtual std::optional<std::uint32_t> recorded_crc32() const;

  /// What messages call it: the file's name as the user gave it, or "FILE: member 'data/0'".
  [[nodiscard]] std::string name() const { return name_.text(); }
  /// The same for another source that is called so.
  [[nodiscard]] const SourceName& source_name() const { return name_; }

  /// The folder that its file lies in, where what it names may lie beside it; empty for what came from nowhere.
  [[nodiscard]] virtual std::string folder() const;

 protected:
  explicit ByteSource(SourceName name);

 private:
  SourceName name_;
};

using ByteSourcePtr = std::shared_ptr<const ByteSource>;

/// Opens a file for reading by `pread`; "-" is standard input. What cannot be read at random (a pipe) is first
/// spooled to an unnamed file in temporary_folder(). A file that others change while it is read is an Error (io) of the
/// next read, never a signal or a mixture of both.
/// Throws Error: io (also for a folder).
CKPT_API ByteSourcePtr open_file(const std::string& path);

/// $TMPDIR, or /tmp.
CKPT_API std::string temporary_folder();

/// Bytes in memory, owned by the source. `folder`: as ByteSource::folder() tells it.
CKPT_API ByteSourcePtr memory_source(std::vector<std::byte> bytes, std::string name, std::string folder = {});

/// `size` bytes of `whole` from `offset` on. Throws Error (truncated) where they reach past its end, if its size is
/// known without inflating; else reads past the end are short.
CKPT_API ByteSourcePtr slice(ByteSourcePtr whole, std::uint64_t offset, std::uint64_t size, SourceName name,
                             std::optional<std::uint32_t> recorded_crc32 = std::nullopt);

/// The whole of a source, at most `limit` bytes, in memory. Allocates only as bytes arrive.
/// Throws Error: limit_exceeded, and what reading throws. Compares the recorded CRC-32 where there is one (corrupt).
CKPT_API std::vector<std::byte> read_all(const ByteSource& source, std::uint64_t limit);

/// SHA-256 of all its bytes, as 64 hexadecimal digits. Compares the recorded CRC-32 where there is one.
/// Throws Error: corrupt (that), unavailable (OpenSSL has none), and what reading throws.
CKPT_API std::string sha256_of(const ByteSource& source);

}  // namespace ckpt
