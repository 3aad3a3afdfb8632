#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <array>
#include <cstddef>
#include <optional>

#include "runner/batch.h"

namespace ckpt::eval {

/// The way up to a device: labels and inputs of a batch in one copy, as the bytes they are. For a GPU through pinned
/// memory that is allocated once and used by turns, so that one batch is filled in while another is still on its way.
class Staging {
 public:
  explicit Staging(at::Device device) : device_(device) {}

  struct Sent {
    at::Tensor inputs;  ///< [count, elements], uint8 or float32
    at::Tensor labels;  ///< [count, positions], int32
  };
  /// Returns as soon as the copy is under way in the device's current stream.
  [[nodiscard]] Sent send(const Batch& batch);

  /// What copies took, once the stream has been waited for.
  [[nodiscard]] double seconds();

 private:
  struct Buffer {
    at::Tensor host;
    std::optional<c10::Event> begun, ended;  // of a copy out of it
  };
  void wait_for(Buffer& buffer);

  at::Device device_;
  std::array<Buffer, 2> buffers_;
  std::size_t turn_ = 0;
  double seconds_ = 0;
};

}  // namespace ckpt::eval
