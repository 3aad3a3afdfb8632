#include "ops/tensor_bytes.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "io/bytes.h"
#include "ops/storage_window.h"

namespace ckpt {
namespace {

/// Bytes gathered at a time: the larger, the fewer passes over a storage that is read across its grain.
constexpr std::uint64_t block_bytes = 8 * limits::mib;
/// Where less than this part of a stretch is wanted, single pages of it are read instead of all.
constexpr std::uint64_t sparse_ratio = 64;
constexpr std::size_t sparse_window = 4 * limits::kib;

/// A dimension: how many steps, how far one goes in the storage and in the block, in bytes.
struct Axis {
  std::uint64_t size = 1;
  std::uint64_t step = 0;
  std::uint64_t place = 0;
};

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

/// Fills `out` from the box of `axes` at `base`, going through the storage forward.
void gather(StorageWindow& window, std::uint64_t base, std::vector<Axis> axes, std::uint64_t item,
            std::span<std::byte> out) {
  // Long steps outside, short ones inside; steps of 0 outermost of all, so that what repeats is copied in long runs.
  std::stable_sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.step - 1 > b.step - 1; });
  std::uint64_t run = item;
  while (!axes.empty() && axes.back().step == run && axes.back().place == run) {
    run *= axes.back().size;
    axes.pop_back();
  }
  Axis inner;
  if (!axes.empty()) {
    inner = axes.back();
    axes.pop_back();
  }
  std::vector<std::uint64_t> index(axes.size(), 0);
  std::uint64_t place = 0;
  while (true) {
    for (std::uint64_t i = 0; i < inner.size; ++i) {
      window.copy(base + i * inner.step,
                  out.subspan(static_cast<std::size_t>(place + i * inner.place), static_cast<std::size_t>(run)));
    }
    std::size_t axis = axes.size();
    while (axis > 0) {
      --axis;
      base += axes[axis].step, place += axes[axis].place;
      if (++index[axis] < axes[axis].size) break;
      base -= axes[axis].step * axes[axis].size, place -= axes[axis].place * axes[axis].size;
      index[axis] = 0;
      if (axis == 0) return;
    }
    if (axes.empty()) return;
  }
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

/// Turns signs as the lazy views say. The bits of other types stay: torch makes no such views of them.
void resolve(const TensorInfo& info, std::span<std::byte> block) {
  if (!has_sign_bit(info.dtype)) return;
  const std::size_t part = dtype_swap_size(info.dtype);
  const bool conjugate = info.conjugate && is_complex(info.dtype);
  for (std::size_t i = 0; i * part < block.size(); ++i) {
    const bool imaginary = i % 2 == 1;
    if (info.negative != (conjugate && imaginary)) block[i * part + part - 1] ^= std::byte{0x80};
  }
}

/// A tensor of which the innermost axes, from `split` on, are gathered a block at a time.
struct Blocks {
  std::size_t split = 0;
  std::uint64_t rows = 1;  ///< of the axis at `split`, in a block
  std::uint64_t row = 0;   ///< bytes of one
};

Blocks lay_out(std::vector<Axis>& axes, std::uint64_t item) {
  Blocks blocks{axes.size() - 1, 1, item};
  axes.back().place = item;
  while (blocks.split > 0 && axes[blocks.split].size <= block_bytes / blocks.row) {
    blocks.row *= axes[blocks.split].size;
    axes[--blocks.split].place = blocks.row;
  }
  blocks.rows = std::clamp<std::uint64_t>(block_bytes / blocks.row, 1, axes[blocks.split].size);
  return blocks;
}

std::size_t window_for(const std::vector<Axis>& axes, const Blocks& blocks, std::uint64_t item) {
  std::uint64_t stretch = item + (blocks.rows - 1) * axes[blocks.split].step;
  for (std::size_t i = blocks.split + 1; i < axes.size(); ++i) stretch += (axes[i].size - 1) * axes[i].step;
  return stretch / sparse_ratio > blocks.rows * blocks.row ? sparse_window : limits::copy_chunk;
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

void check_expansion(std::string_view name, const TensorInfo& info, const Storage& storage) {
  const std::uint64_t bytes = logical_bytes(info);
  const auto most = checked_mul(storage.nbytes, limits::expansion_ratio);
  if (bytes <= limits::expansion_floor || !most || bytes <= *most) return;
  throw Error(ErrorCode::limit_exceeded, "tensor '" + std::string(name) + "' stands for " + std::to_string(bytes) +
                                             " bytes but its storage has " + std::to_string(storage.nbytes))
      .expected("at most " + std::to_string(limits::expansion_ratio) + " times as many");
}

struct TensorStream::State {
  State(const Storage& storage, const TensorInfo& tensor, std::uint64_t bytes, std::uint64_t item_size)
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
    blocks = lay_out(axes, item);
    window.emplace(storage, extent.end, window_for(axes, blocks, item));
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
    gather(*window, extent.begin + rows_done * split.step, std::move(box), item, block);
    if (info.conjugate || info.negative) resolve(info, block);
    rows_done += blocks.rows;
    if (rows_done >= split.size) step_outside();
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
};

TensorStream::TensorStream(const Storage& storage, const TensorInfo& info) {
  if (info.layout != Layout::strided || info.stride.size() != info.shape.size()) {
    refuse_geometry(storage, "has " + std::to_string(info.stride.size()) + " strides for " +
                                 std::to_string(info.shape.size()) + " dimensions");
  }
  if (const std::uint64_t bytes = logical_bytes(info); bytes > 0)
    state_ = std::make_unique<State>(storage, info, bytes, dtype_size(info.dtype));
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

}  // namespace ckpt
