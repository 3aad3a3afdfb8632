#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

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

  /// Makes what was written final. Called once. Throws Error (io, on_output); then the old state stands.
  virtual void commit() = 0;

  /// Bytes appended so far.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

  /// What messages call it.
  [[nodiscard]] const std::string& name() const { return name_; }

 protected:
  explicit ByteSink(std::string name);
  virtual void append(std::span<const std::byte> bytes) = 0;

 private:
  std::string name_;
  std::uint64_t offset_ = 0;
};

}  // namespace ckpt
