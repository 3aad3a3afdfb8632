#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

namespace ckpt {

/// Compresses a stream of bytes to one raw deflate stream (RFC 1951), forward only.
class Deflater {
 public:
  using Emit = std::function<void(std::span<const std::byte>)>;

  virtual ~Deflater() = default;
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  /// Takes all of `bytes` (4 GiB at most), hands what is ready to `emit`; `last` ends the stream.
  virtual void feed(std::span<const std::byte> bytes, bool last, const Emit& emit) = 0;

 protected:
  Deflater() = default;
};

/// Levels 1 to 3: fast, and on float weights no larger than zlib's best.
std::unique_ptr<Deflater> isal_deflater(int level);
/// Levels 1 to 9 of zlib; used from 4 on.
std::unique_ptr<Deflater> zlib_deflater(int level);

}  // namespace ckpt
