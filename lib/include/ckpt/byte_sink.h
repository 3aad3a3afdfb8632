#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "ckpt/byte_source.h"
#include "ckpt/export.h"

namespace ckpt {

/// Where bytes are appended. Nothing counts until commit(): a sink that is destroyed without it leaves no trace
/// (a file) or an unfinished stream (standard output, gzip).
///
///     FileSink sink("out.pt");
///     sink.write(bytes);
///     sink.commit();
class CKPT_API ByteSink {
 public:
  virtual ~ByteSink();
  ByteSink(const ByteSink&) = delete;
  ByteSink& operator=(const ByteSink&) = delete;

  /// Appends all of `bytes`. Throws Error (io, on_output).
  void write(std::span<const std::byte> bytes);

  /// Room for the next bytes, at least one, for a caller that makes them in place; advance() appends the first `count`
  /// of it, where no other call has come between. Throw as write() does.
  [[nodiscard]] std::span<std::byte> room();
  void advance(std::size_t count);

  /// Says that the next `size` bytes are one thing, such as a storage: a sink that compresses begins anew there, so
  /// that they can be read, and copied, without what stands before them. Throws as write() does.
  virtual void announce(std::uint64_t size);

  /// Appends `size` bytes of `source` from `begin` on, and returns their CRC-32, where the sink has a shorter way for
  /// that than the bytes themselves: compressed ones that stay as they are. Else nothing happens.
  /// Throws as write() does, and what reading throws.
  std::optional<std::uint32_t> take(const ByteSource& source, std::uint64_t begin, std::uint64_t size);

  /// Makes it all final, once: nothing is appended after it. Throws Error (io, on_output): the old state stands, unless
  /// only a folder's sync failed.
  virtual void commit() = 0;

  /// Bytes appended so far.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

  /// What messages call it.
  [[nodiscard]] const std::string& name() const { return name_; }

 protected:
  explicit ByteSink(std::string name);
  // A sink with buffers of its own gives those: prepare() and append_prepared(), which append() then fills. One without
  // has append(), and is lent a buffer for the two.
  virtual void append(std::span<const std::byte> bytes);
  virtual std::span<std::byte> prepare();
  virtual void append_prepared(std::size_t count);
  virtual std::optional<std::uint32_t> append_part(const ByteSource& source, std::uint64_t begin, std::uint64_t size);

 private:
  std::unique_ptr<std::byte[]> prepared_;
  std::string name_;
  std::uint64_t offset_ = 0;
};

}  // namespace ckpt
