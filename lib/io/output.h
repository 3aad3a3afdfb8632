#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "ckpt/error.h"
#include "io/buffer_ring.h"
#include "io/companion.h"

namespace ckpt {

/// An output's failure, in the operating system's words.
[[nodiscard]] Error output_error(const std::string& doing, const std::string& name, int errno_value);

/// What is asked of an output that is committed is refused, for that is final.
[[nodiscard]] Error committed_already(const std::string& name);

/// Whether a folder is on the disk, or its file system cannot be asked for that; errno tells why not.
[[nodiscard]] bool sync_folder(int fd);

/// Whether the last descriptor of a file could be closed: some file systems say only then that nothing was written. It
/// stays open. errno tells why not.
[[nodiscard]] bool can_be_closed(int fd);

/// Gathers what is written to a file descriptor. Of much output the writing itself is done on a thread of its own,
/// while the next bytes come; what is wrong is then said by a later call. Borrows the descriptor.
class BufferedOutput {
 public:
  BufferedOutput(int fd, std::string name);
  ~BufferedOutput();

  /// Room for the next bytes, at least one; advance() says how many have come. Throws Error (io, on_output), as all of
  /// the following.
  std::span<std::byte> room();
  void advance(std::size_t count);
  /// What is much at once, from where it lies: it is written when this returns.
  void write_now(std::span<const std::byte> bytes);
  /// Returns when all of it is written.
  void flush();

 private:
  void hand_over();
  void write_here(std::span<const std::byte> bytes);
  void write_through(std::span<const std::byte> bytes) const;
  void serve();

  int fd_;
  std::string name_;
  BufferRing ring_;
  std::span<std::byte> buffer_;  ///< of the ring, to be filled; empty: none has been taken
  std::size_t held_ = 0;
  std::exception_ptr failure_;         ///< of this thread's writing
  std::unique_ptr<Companion> writer_;  ///< from the first full buffer on
};

}  // namespace ckpt
