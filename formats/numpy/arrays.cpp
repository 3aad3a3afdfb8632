#include "numpy/arrays.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ckpt/error.h"
#include "io/bytes.h"
#include "io/checksum.h"
#include "named_tensors/losses.h"
#include "named_tensors/names.h"
#include "ops/copy_tensor.h"
#include "ops/tensor_bytes.h"

namespace ckpt::numpy {
namespace {

[[noreturn]] void refuse(const Checkpoint& checkpoint, const std::string& name, const std::string& what,
                         const std::string& cast = "") {
  throw Error(ErrorCode::unsupported, (name.empty() ? "the tensor " : "tensor '" + name + "' ") + what)
      .expected("what numpy has an array for")
      .in(checkpoint.file)
      .hint(cast + named_tensors::drop_hint(checkpoint, name));
}

TensorInfo reversed(TensorInfo info) {
  std::reverse(info.shape.begin(), info.shape.end());
  std::reverse(info.stride.begin(), info.stride.end());
  return info;
}

OutArray array_of(const Checkpoint& checkpoint, const NamedTensor& named) {
  const TensorInfo& info = named.tensor->info;
  if (info.layout != Layout::strided) refuse(checkpoint, named.name, "is " + std::string(layout_name(info.layout)));
  if (descr_of(info.dtype).empty())
    refuse(checkpoint, named.name, "is " + std::string(dtype_name(info.dtype)),
           is_floating(info.dtype) ? "--dtype float32 casts it; " : "");
  const auto data_bytes = array_bytes(dtype_size(info.dtype), info.shape);
  if (!data_bytes) refuse(checkpoint, named.name, "has a shape past 2^63 bytes");
  auto dense = dense_tensor(checkpoint, named.name, *named.tensor);
  if (!dense) refuse(checkpoint, named.name, "is a meta tensor, which has no elements");
  const bool fortran = !is_contiguous(*dense->placed) && is_contiguous(reversed(*dense->placed));
  OutArray array{*std::move(dense), make_header(info.dtype, fortran, info.shape), *data_bytes, {}};
  array.placed = fortran ? reversed(*array.tensor.placed) : *array.tensor.placed;
  return array;
}

}  // namespace

TensorSource tensor_of(std::string name, const Header& header, const ByteSourcePtr& array) {
  std::optional<std::uint32_t> crc;
  if (const auto whole = array->recorded_crc32()) crc = crc32_of_rest(*whole, header.crc32, header.data_bytes);
  return {.name = std::move(name),
          .dtype = header.type.dtype,
          .shape = header.shape,
          .stride = strides_of(header),
          .bytes = slice(array, header.size, header.data_bytes, array->source_name(), crc),
          .byte_order = header.type.byte_order};
}

std::vector<OutArray> arrays_of(const Checkpoint& checkpoint) {
  named_tensors::refuse_other_values(checkpoint);
  std::vector<OutArray> arrays;
  for (const NamedTensor& named : named_tensors::names_of(checkpoint)) arrays.push_back(array_of(checkpoint, named));
  if (arrays.empty())
    throw Error(ErrorCode::unsupported, "no tensor")
        .expected("one at least, as npy and npz files hold")
        .in(checkpoint.file)
        .hint("ckpt inspect " + shell_word(checkpoint.file) + " shows what the file holds");
  check_views_together(checkpoint, arrays, &OutArray::tensor);
  return arrays;
}

std::uint32_t write_array(const OutArray& array, const std::vector<Storage>& storages, ByteSink& sink) {
  sink.write(as_bytes(array.header));
  try {
    return copy_tensor(storages[*array.tensor.tensor->storage], array.placed, sink);
  } catch (Error& error) {
    if (!error.is_output() && !array.tensor.name.empty()) error.within("tensor '" + array.tensor.name + "'");
    throw;
  }
}

}  // namespace ckpt::numpy
