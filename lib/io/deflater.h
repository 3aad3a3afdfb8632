#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace ckpt {

/// Compresses pieces of bytes, each for itself.
class Deflater {
 public:
  virtual ~Deflater() = default;
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  /// Puts one raw deflate stream (RFC 1951) of all of `bytes` (below 4 GiB) into `out` from `at` on, which grows where
  /// it has to. Returns where the stream ends. The same bytes always give the same stream.
  virtual std::size_t deflate(std::span<const std::byte> bytes, std::vector<std::byte>& out, std::size_t at) = 0;

 protected:
  Deflater() = default;
  /// Makes room in `out` from `at` on for all that `bytes` bytes can come to: where a compressor has to stop for want
  /// of room, it may go on with other matches.
  static void make_room(std::vector<std::byte>& out, std::size_t at, std::size_t bytes);
};

/// Levels 1 to 3 are ISA-L's: fast, and on float weights no larger than zlib's best; 4 to 9 are zlib's.
std::unique_ptr<Deflater> make_deflater(int level);
std::unique_ptr<Deflater> isal_deflater(int level);
std::unique_ptr<Deflater> zlib_deflater(int level);

}  // namespace ckpt
