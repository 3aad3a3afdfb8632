#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace ckpt {

/// Buffers that one thread fills and another empties, in turn, so that neither waits for the other but where all are
/// full or empty. A buffer is allocated when it is first filled.
class BufferRing {
 public:
  /// Buffers large enough that what handing them over costs does not show.
  explicit BufferRing(std::size_t buffers = 4, std::size_t bytes = std::size_t{1} << 20U)
      : bytes_(bytes), slots_(buffers) {}

  // The thread that fills.

  /// The next buffer, once it is empty; none where the other side has stopped. Throws what that stopped with.
  std::span<std::byte> room();
  /// Hands over the first `count` bytes of it.
  void filled(std::size_t count);
  /// Nothing more comes; where there is a `failure`, the other side meets it after all that was filled.
  void end(std::exception_ptr failure = nullptr);
  /// Waits until all is emptied. Throws what the other side stopped with.
  void wait_until_empty();

  // The thread that empties.

  /// The next bytes, once there are some; none at the end. Throws what that ended with.
  std::span<const std::byte> next();
  /// They are no longer needed.
  void emptied();
  /// Nothing more is wanted; where there is a `failure`, the other side meets it.
  void stop(std::exception_ptr failure = nullptr);

 private:
  struct Slot {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t count = 0;
  };
  void throw_where_stopped() const;

  std::size_t bytes_;
  std::vector<Slot> slots_;
  std::mutex mutex_;
  std::condition_variable changed_;  ///< for both: only one of them can have to wait
  std::size_t filled_ = 0, emptied_ = 0;
  bool ended_ = false, stopped_ = false;
  std::exception_ptr end_failure_, stop_failure_;
};

}  // namespace ckpt
