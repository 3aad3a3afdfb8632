#include "dcp/join.h"

#include <algorithm>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/shape.h"
#include "dcp/joined_source.h"
#include "dcp/tiling.h"
#include "io/bytes.h"
#include "io/swapped_source.h"
#include "ops/dense_tensor.h"
#include "ops/gathered_source.h"
#include "ops/tensor_bytes.h"
#include "ops/watched_source.h"

namespace ckpt::dcp {
namespace {

/// Of a tensor that memory could hold.
std::uint64_t bytes_of(const Entry& entry) {
  std::optional<std::int64_t> bytes = static_cast<std::int64_t>(dtype_size(entry.dtype));
  for (const std::int64_t size : entry.shape) {
    if (size == 0) return 0;
    if (bytes) bytes = checked_mul(*bytes, size);
  }
  if (!bytes)
    throw Error(ErrorCode::corrupt, "a tensor of shape " + shape_text(entry.shape)).expected("fewer than 2^63 bytes");
  return static_cast<std::uint64_t>(*bytes);
}

bool is_all_of(const Entry& entry) {
  const std::size_t dims = entry.shape.size();
  const auto middle = entry.boxes.begin() + static_cast<std::ptrdiff_t>(dims);
  return std::all_of(entry.boxes.begin(), middle, [](std::int64_t offset) { return offset == 0; }) &&
         std::equal(middle, entry.boxes.end(), entry.shape.begin(), entry.shape.end());
}

/// The chunk's elements, contiguous and little-endian; its checksum is compared as they are read.
ByteSourcePtr elements(Chunk chunk) {
  const TensorInfo& info = chunk.info;
  const bool straight = is_contiguous(info) && info.offset == 0 && !info.conjugate && !info.negative &&
                        logical_bytes(info) == chunk.storage.nbytes;
  if (!straight) return gathered_source(std::move(chunk.storage), info);
  if (chunk.storage.byte_order == ByteOrder::big && chunk.storage.typed)
    return swapped(std::move(chunk.storage.bytes), dtype_swap_size(chunk.storage.dtype));
  return std::make_shared<WatchedSource>(std::move(chunk.storage.bytes));
}

/// A chunk that is the whole tensor, as it lies.
TensorSource taken(const Entry& entry, Chunk chunk) {
  const TensorInfo info = chunk.info;
  TensorSource tensor{.name = entry.name, .dtype = entry.dtype, .shape = entry.shape};
  const ByteOrder order = chunk.storage.typed ? chunk.storage.byte_order : ByteOrder::little;
  if (info.conjugate || info.negative || (order == ByteOrder::big && chunk.storage.dtype != entry.dtype)) {
    tensor.bytes = elements(std::move(chunk));
  } else {
    tensor.stride = info.stride;
    tensor.offset = info.offset;
    tensor.byte_order = order;
    tensor.bytes = std::move(chunk.storage.bytes);
  }
  return tensor;
}

}  // namespace

Chunk chunk_of(const Checkpoint& part, const Tensor& tensor, DType dtype, std::span<const std::int64_t> shape) {
  const TensorInfo& info = tensor.info;
  if (info.layout != Layout::strided || !tensor.parts.empty())
    throw Error(ErrorCode::unsupported, "its layout is torch." + std::string(layout_name(info.layout)))
        .expected("torch.strided");
  if (info.dtype != dtype || !std::equal(shape.begin(), shape.end(), info.shape.begin(), info.shape.end()))
    throw Error(ErrorCode::corrupt,
                "a chunk is " + std::string(dtype_name(info.dtype)) + " of shape " + shape_text(info.shape))
        .expected(std::string(dtype_name(dtype)) + " of shape " + shape_text(shape));
  auto dense = dense_tensor(part, "", tensor);
  if (!dense) throw Error(ErrorCode::unsupported, "a chunk is on the meta device: it has no bytes");
  return {part.storages[*tensor.storage], *dense->placed};
}

TensorSource Joiner::join(const Entry& entry, std::vector<Chunk> chunks, const std::string& where) {
  const std::uint64_t bytes = bytes_of(entry);
  if (chunks.size() == 1 && is_all_of(entry)) return taken(entry, std::move(chunks.front()));
  if (chunks.empty() && bytes != 0)
    throw Error(ErrorCode::corrupt, "it has no chunks")
        .expected("chunks for all of its shape " + shape_text(entry.shape));
  if (entry.shape.empty() && chunks.size() > 1)
    throw Error(ErrorCode::corrupt, std::to_string(chunks.size()) + " chunks hold the element").expected("one");
  Tiling tiling(entry.shape, entry.boxes, steps_);
  TensorSource tensor{.name = entry.name, .dtype = entry.dtype, .shape = entry.shape};
  if (bytes == 0) {
    tensor.bytes = memory_source({}, where);
    return tensor;
  }
  std::vector<ByteSourcePtr> sources;
  sources.reserve(chunks.size());
  for (Chunk& chunk : chunks) {
    // Each is gathered out of its storage, piece by piece as the whole needs it.
    if (logical_bytes(chunk.info) / limits::expansion_ratio > chunk.storage.nbytes)
      throw Error(ErrorCode::limit_exceeded, "a chunk stands for " + std::to_string(logical_bytes(chunk.info)) +
                                                 " bytes but its storage has " + std::to_string(chunk.storage.nbytes))
          .expected("at most " + std::to_string(limits::expansion_ratio) + " times as many");
    sources.push_back(elements(std::move(chunk)));
  }
  tensor.bytes = joined_source(where, std::move(tiling), dtype_size(entry.dtype), bytes, std::move(sources), room_);
  return tensor;
}

}  // namespace ckpt::dcp
