#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/export.h"
#include "ckpt/limits.h"
#include "ckpt/storage.h"
#include "ckpt/tensor.h"

namespace ckpt {

/// Bytes of the tensor's elements were they laid out one after the other. Throws Error (corrupt) where they do not fit
/// 64 bits.
CKPT_API std::uint64_t logical_bytes(const TensorInfo& info);

/// Whether `bytes` are made of far fewer, `held` (limits::expansion_ratio and expansion_floor), and what was expected
/// instead, in words.
CKPT_API bool expands_too_far(std::uint64_t bytes, std::uint64_t held);
CKPT_API std::string expected_expansion();

/// Refuses a view that stands for far more bytes than its storage has. Throws Error (limit_exceeded), naming the
/// tensor.
CKPT_API void check_expansion(std::string_view name, const TensorInfo& info, const Storage& storage);

/// Whether going back in a storage costs nothing: else what lies before is inflated or computed again.
inline bool lies_there(const Storage& storage) { return !storage.bytes || storage.bytes->is_concurrent(); }

/// Bytes gathered at a time: the more, the longer are the pieces of a storage that is read across its grain. The second
/// is for who has one stream alone; the third for what is inflated or computed, most of it again for each block.
constexpr std::uint64_t gathered_block = 8 * limits::mib, large_gathered_block = 12 * limits::mib;
constexpr std::uint64_t inflated_block = 32 * limits::mib;

/// The tensor's elements in the order of their indices, contiguous and little-endian, in pieces of any size; conjugate
/// and negative views resolved. Whatever strides it has, little more than a block is held: what is not contiguous is
/// gathered block by block, each block reading its part of the storage forward.
class CKPT_API TensorStream {
 public:
  /// `storage` must outlive the stream. Throws Error: corrupt (a shape, stride or offset that is negative or leaves the
  /// storage).
  /// `block`: by default gathered_block, or inflated_block.
  TensorStream(const Storage& storage, const TensorInfo& info, std::optional<std::uint64_t> block = std::nullopt);
  ~TensorStream();
  TensorStream(TensorStream&&) noexcept;

  /// The next elements, whole ones, at least one; nothing at the end. Valid until the next call. Throws what reading
  /// throws.
  std::span<const std::byte> next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Hands all pieces of the tensor's stream to `consume`.
CKPT_API void stream_tensor(const Storage& storage, const TensorInfo& info,
                            const std::function<void(std::span<const std::byte>)>& consume);

/// Turns the signs of whole little-endian elements as the tensor's lazy views say: integers as torch negates them,
/// modulo 2^bits. The bits of types that torch makes no such views of stay.
void turn_signs(const TensorInfo& info, std::span<std::byte> elements);

/// Of the element at `place` in the order of the indices: its index in each dimension. No dimension is 0.
std::vector<std::int64_t> index_of(std::uint64_t place, const std::vector<std::int64_t>& shape);

}  // namespace ckpt
