#include "ops/tensor_bytes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "io/bytes.h"
#include "ops/gather.h"
#include "ops/storage_window.h"

namespace ckpt {
namespace {

/// Where less than this part of a stretch is wanted, single pages of it are read instead of all.
constexpr std::uint64_t sparse_ratio = 64;
constexpr std::size_t sparse_window = 4 * limits::kib;
/// Of what may be read anywhere: reading a gap of so many bytes takes longer than a call that leaves it out.
constexpr std::uint64_t skipped_gap = 4 * limits::kib;

using Axis = GatherAxis;

/// The part of the storage the tensor looks at, in bytes.
struct Extent {
  std::uint64_t begin = 0, end = 0;
};

[[noreturn]] void refuse_geometry(const Storage& storage, const std::string& what) {
  throw Error(ErrorCode::corrupt, "a view of storage '" + storage.key + "' " + what)
      .expected("one within its " + std::to_string(storage.nbytes) + " bytes");
}

/// Of a tensor that has elements.
Extent extent_of(const Storage& storage, const TensorInfo& info, std::uint64_t item) {
  std::optional<std::uint64_t> last = static_cast<std::uint64_t>(info.offset);
  if (info.offset < 0) refuse_geometry(storage, "has offset " + std::to_string(info.offset));
  for (std::size_t i = 0; i < info.shape.size(); ++i) {
    if (info.stride[i] < 0) refuse_geometry(storage, "has stride " + std::to_string(info.stride[i]));
    const auto reach =
        checked_mul(static_cast<std::uint64_t>(info.shape[i] - 1), static_cast<std::uint64_t>(info.stride[i]));
    last = reach && last ? checked_add(*last, *reach) : std::nullopt;
  }
  const auto count = last ? checked_add<std::uint64_t>(*last, 1) : std::nullopt;
  const auto end = count ? checked_mul(*count, item) : std::nullopt;
  if (!end || *end > storage.nbytes) refuse_geometry(storage, "reaches past its end");
  return {static_cast<std::uint64_t>(info.offset) * item, *end};
}

/// The dimensions without those of one element, neighbours made one where they are stepped through as one.
std::vector<Axis> axes_of(const TensorInfo& info, std::uint64_t item) {
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < info.shape.size(); ++i) {
    const auto size = static_cast<std::uint64_t>(info.shape[i]);
    if (size == 1) continue;
    const std::uint64_t step = static_cast<std::uint64_t>(info.stride[i]) * item;
    if (!axes.empty() && axes.back().step == step * size) {
      axes.back() = {axes.back().size * size, step, 0};
    } else {
      axes.push_back({size, step, 0});
    }
  }
  return axes;
}

bool has_sign_bit(DType dtype) {
  switch (dtype) {
    case DType::float32:
    case DType::float64:
    case DType::float16:
    case DType::bfloat16:
      return true;
    default:
      return is_complex(dtype);
  }
}

/// Little-endian integers of `size` bytes become their two's complements.
void negate_integers(std::size_t size, std::span<std::byte> block) {
  for (std::size_t begin = 0; begin < block.size(); begin += size) {
    unsigned carry = 1;
    for (std::byte& byte : block.subspan(begin, size)) {
      carry += std::to_integer<unsigned>(~byte);
      byte = static_cast<std::byte>(carry);
      carry >>= 8;
    }
  }
}

/// A tensor of which the innermost axes, from `split` on, are gathered a block at a time.
struct Blocks {
  std::size_t split = 0;
  std::uint64_t rows = 1;  ///< of the axis at `split`, in a block
  std::uint64_t row = 0;   ///< bytes of one
};

Blocks lay_out(std::vector<Axis>& axes, std::uint64_t item, std::uint64_t block_bytes) {
  Blocks blocks{axes.size() - 1, 1, item};
  axes.back().place = item;
  while (blocks.split > 0 && axes[blocks.split].size <= block_bytes / blocks.row) {
    blocks.row *= axes[blocks.split].size;
    axes[--blocks.split].place = blocks.row;
  }
  blocks.rows = std::clamp<std::uint64_t>(block_bytes / blocks.row, 1, axes[blocks.split].size);
  return blocks;
}

std::uint64_t stretch_of(const std::vector<Axis>& axes, const Blocks& blocks, std::uint64_t item) {
  std::uint64_t stretch = item + (blocks.rows - 1) * axes[blocks.split].step;
  for (std::size_t i = blocks.split + 1; i < axes.size(); ++i) stretch += (axes[i].size - 1) * axes[i].step;
  return stretch;
}

std::size_t window_for(const Storage& storage, const std::vector<Axis>& axes, const Blocks& blocks,
                       std::uint64_t item) {
  std::vector<Axis> box(axes.begin() + static_cast<std::ptrdiff_t>(blocks.split), axes.end());
  box.front().size = blocks.rows;
  const std::uint64_t run = sort_for_gathering(box, item);
  if (storage.bytes && storage.bytes->is_concurrent() && is_transpose(box, run)) {
    const std::uint64_t line = run * box.back().size, lines_apart = box[box.size() - 2].step;
    if (line < limits::copy_chunk && lines_apart - line >= skipped_gap) return static_cast<std::size_t>(line) + 32;
  }
  return stretch_of(axes, blocks, item) / sparse_ratio > blocks.rows * blocks.row ? sparse_window : limits::copy_chunk;
}

}  // namespace

std::uint64_t logical_bytes(const TensorInfo& info) {
  std::optional<std::uint64_t> bytes = dtype_size(info.dtype);
  bool empty = false;
  for (std::int64_t size : info.shape) {
    if (size < 0) throw Error(ErrorCode::corrupt, "a tensor has a dimension of " + std::to_string(size) + " elements");
    empty = empty || size == 0;
    if (bytes) bytes = checked_mul(*bytes, static_cast<std::uint64_t>(size));
  }
  if (empty) return 0;
  if (!bytes) throw Error(ErrorCode::corrupt, "a tensor's shape multiplies past 64 bits");
  return *bytes;
}

bool expands_too_far(std::uint64_t bytes, std::uint64_t held) {
  return bytes > limits::expansion_floor && bytes > checked_mul(held, limits::expansion_ratio).value_or(UINT64_MAX);
}

std::string expected_expansion() {
  return "at most " + std::to_string(limits::expansion_ratio) + " times as many, or " +
         std::to_string(limits::expansion_floor);
}

void check_expansion(std::string_view name, const TensorInfo& info, const Storage& storage) {
  const std::uint64_t bytes = logical_bytes(info);
  if (!expands_too_far(bytes, storage.nbytes)) return;
  throw Error(ErrorCode::limit_exceeded, (name.empty() ? "the tensor" : "tensor '" + std::string(name) + "'") +
                                             " stands for " + std::to_string(bytes) + " bytes but its storage has " +
                                             std::to_string(storage.nbytes))
      .expected(expected_expansion());
}

struct TensorStream::State {
  State(const Storage& storage, const TensorInfo& tensor, std::uint64_t bytes, std::uint64_t item_size,
        std::optional<std::uint64_t> block_bytes)
      : info(tensor),
        item(item_size),
        left(bytes),
        extent(extent_of(storage, tensor, item)),
        axes(axes_of(tensor, item)) {
    const bool straight = axes.empty() || (axes.size() == 1 && axes.front().step == item);
    if (straight && !info.conjugate && !info.negative) {
      window.emplace(storage, extent.end, limits::copy_chunk);
      return;
    }
    if (axes.empty()) axes.push_back({1, item, item});
    blocks = lay_out(axes, item, block_bytes.value_or(lies_there(storage) ? gathered_block : inflated_block));
    later_window = window_for(storage, axes, blocks, item);
    // Where most of the storage is wanted, the first block reads it whole: from a disk that is one pass of it, and what
    // the next blocks pick out lies in memory then.
    const std::uint64_t looked_at = extent.end - extent.begin;
    window.emplace(storage, extent.end, bytes >= looked_at / 2 ? limits::copy_chunk : later_window);
    buffer.resize(static_cast<std::size_t>(blocks.rows * blocks.row));
    index.assign(blocks.split, 0);
  }

  std::span<const std::byte> next_piece() {
    auto bytes = window->from(extent.begin);
    bytes = bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), left)));
    extent.begin += bytes.size();
    return bytes;
  }

  std::span<const std::byte> next_block() {
    std::vector<Axis> box(axes.begin() + static_cast<std::ptrdiff_t>(blocks.split), axes.end());
    const Axis split = box.front();
    box.front().size = std::min(blocks.rows, split.size - rows_done);
    const std::span<std::byte> block(buffer.data(), static_cast<std::size_t>(box.front().size * blocks.row));
    const std::uint64_t run = sort_for_gathering(box, item);
    gather(*window, extent.begin + rows_done * split.step, box, run, block);
    if (info.conjugate || info.negative) turn_signs(info, block);
    rows_done += blocks.rows;
    if (rows_done >= split.size) step_outside();
    if (later_window != 0) window.emplace(window->storage(), extent.end, std::exchange(later_window, 0));
    return block;
  }

  /// One step along the axes outside the blocks.
  void step_outside() {
    rows_done = 0;
    for (std::size_t axis = blocks.split; axis-- > 0;) {
      extent.begin += axes[axis].step;
      if (++index[axis] < axes[axis].size) return;
      extent.begin -= axes[axis].step * axes[axis].size;
      index[axis] = 0;
    }
  }

  TensorInfo info;
  std::uint64_t item;
  std::uint64_t left;  ///< logical bytes not yet given
  Extent extent;       ///< begins where the next piece, or the next row of blocks, does
  std::vector<Axis> axes;
  Blocks blocks;
  std::optional<StorageWindow> window;
  std::vector<std::byte> buffer;  ///< of a block; empty where the bytes come straight from the window
  std::vector<std::uint64_t> index;
  std::uint64_t rows_done = 0;
  std::size_t later_window = 0;  ///< once the first block has been gathered; 0: it has
};

TensorStream::TensorStream(const Storage& storage, const TensorInfo& info, std::optional<std::uint64_t> block) {
  if (info.layout != Layout::strided || info.stride.size() != info.shape.size()) {
    refuse_geometry(storage, "has " + std::to_string(info.stride.size()) + " strides for " +
                                 std::to_string(info.shape.size()) + " dimensions");
  }
  if (const std::uint64_t bytes = logical_bytes(info); bytes > 0)
    state_ = std::make_unique<State>(storage, info, bytes, dtype_size(info.dtype), block);
}

TensorStream::~TensorStream() = default;
TensorStream::TensorStream(TensorStream&&) noexcept = default;

std::span<const std::byte> TensorStream::next() {
  if (!state_ || state_->left == 0) return {};
  const auto piece = state_->buffer.empty() ? state_->next_piece() : state_->next_block();
  state_->left -= piece.size();
  return piece;
}

void stream_tensor(const Storage& storage, const TensorInfo& info,
                   const std::function<void(std::span<const std::byte>)>& consume) {
  TensorStream stream(storage, info);
  for (auto piece = stream.next(); !piece.empty(); piece = stream.next()) consume(piece);
}

std::vector<std::int64_t> index_of(std::uint64_t place, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    const auto size = static_cast<std::uint64_t>(shape[i]);
    index[i] = static_cast<std::int64_t>(place % size);
    place /= size;
  }
  return index;
}

void turn_signs(const TensorInfo& info, std::span<std::byte> elements) {
  const std::size_t part = dtype_swap_size(info.dtype);
  if (is_integer(info.dtype) && info.negative) negate_integers(part, elements);
  if (!has_sign_bit(info.dtype)) return;
  const bool conjugate = info.conjugate && is_complex(info.dtype);
  for (std::size_t i = 0; i * part < elements.size(); ++i) {
    const bool imaginary = i % 2 == 1;
    if (info.negative != (conjugate && imaginary)) elements[i * part + part - 1] ^= std::byte{0x80};
  }
}

}  // namespace ckpt
