#include "ckpt/tensor_reader.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "ckpt/error.h"
#include "io/bytes.h"
#include "ops/dense_tensor.h"
#include "ops/tensor_bytes.h"
#include "ops/watched_source.h"

namespace ckpt {

TensorReader::TensorReader(const Checkpoint& checkpoint, const NamedTensor& tensor)
    : name_(tensor.name), file_(checkpoint.file) {
  try {
    if (!tensor.tensor->parts.empty() || tensor.tensor->info.layout != Layout::strided) {
      throw Error(ErrorCode::unsupported,
                  "tensor '" + name_ + "' is " + std::string(layout_name(tensor.tensor->info.layout)))
          .expected("a strided one");
    }
    auto dense = dense_tensor(checkpoint, name_, *tensor.tensor);
    if (!dense) throw Error(ErrorCode::unsupported, "tensor '" + name_ + "' is on the meta device: it has no bytes");
    storage_ = checkpoint.storages[*tensor.tensor->storage];
    storage_.bytes = std::make_shared<WatchedSource>(std::move(storage_.bytes));
    info_ = *dense->placed;
    const TensorStream geometry(storage_, info_);
    const std::uint64_t bytes = logical_bytes(info_);
    if (!info_.shape.empty()) rows_ = static_cast<std::uint64_t>(info_.shape[0]);
    row_bytes_ = rows_ == 0 ? 0 : bytes / rows_;
  } catch (Error& error) {
    error.in(file_);
    throw;
  }
}

void TensorReader::read(std::uint64_t first, std::uint64_t count, std::span<std::byte> out) const {
  try {
    if (!in_bounds(first, count, rows_)) {
      throw Error(ErrorCode::invalid_argument, "rows from " + std::to_string(first) + " on of tensor '" + name_ + "'")
          .expected("some of " + std::to_string(rows_));
    }
    if (out.size() != count * row_bytes_) {
      throw Error(ErrorCode::invalid_argument, "room for " + std::to_string(out.size()) + " bytes")
          .expected(std::to_string(count * row_bytes_));
    }
    if (out.empty()) return;
    TensorInfo part = info_;
    if (!part.shape.empty()) {
      part.shape[0] = static_cast<std::int64_t>(count);
      part.offset += static_cast<std::int64_t>(first) * part.stride[0];
    }
    stream_tensor(storage_, part, [&](std::span<const std::byte> piece) {
      std::copy(piece.begin(), piece.end(), out.begin());
      out = out.subspan(piece.size());
    });
  } catch (Error& error) {
    error.within("tensor '" + name_ + "'").in(file_);
    throw;
  }
}

}  // namespace ckpt
