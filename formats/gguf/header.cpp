#include "gguf/header.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "ckpt/utf8.h"
#include "gguf/fields.h"
#include "gguf/metadata.h"
#include "io/bytes.h"
#include "io/keyed_hash.h"

namespace ckpt::gguf {
namespace {

constexpr std::string_view alignment_key = "general.alignment";

Error bad_tensor(const TensorEntry& tensor, std::string what) {
  return Error(ErrorCode::corrupt, "tensor '" + tensor.name + "' " + std::move(what));
}

void read_metadata(Fields& fields, std::uint64_t count, Header& header) {
  NameSet keys;
  std::uint64_t left = limits::gguf_metadata_bytes;
  std::uint64_t too_long = 0;
  std::string first_too_long;
  for (; count > 0; --count) {
    const std::uint64_t at = fields.offset();
    std::string key = fields.text();
    if (!keys.insert(key).second) throw Error(ErrorCode::corrupt, "the key '" + key + "' comes twice").at(at);
    const ValueType type = read_type(fields);
    std::optional<std::string> value = read_value(fields, type, left);
    if (key == alignment_key) {
      header.alignment = type == ValueType::uint32 ? std::stoull(*value) : 0;
      if (!std::has_single_bit(header.alignment))
        throw Error(ErrorCode::corrupt, "general.alignment is " + value.value_or("a long array"))
            .expected("a power of two, of 32 bits")
            .at(at);
    }
    if (!value || key.size() + value->size() > left) {
      if (too_long++ == 0) first_too_long = std::move(key);
      continue;
    }
    left -= key.size() + value->size();
    header.metadata.emplace_back(std::move(key), *std::move(value));
  }
  if (too_long > 0)
    header.warnings.push_back(
        "the metadata takes more than " + std::to_string(limits::gguf_metadata_bytes / limits::mib) +
        " MiB as text: '" + first_too_long + "'" +
        (too_long > 1 ? " and " + std::to_string(too_long - 1) + " more are" : " is") + " left out");
}

std::vector<std::int64_t> read_shape(Fields& fields, const TensorEntry& tensor) {
  const std::uint64_t at = fields.offset();
  const auto dimensions = fields.number<std::uint32_t>();
  if (dimensions > limits::tensor_dimensions)
    throw Error(ErrorCode::limit_exceeded,
                "tensor '" + tensor.name + "' has " + std::to_string(dimensions) + " dimensions")
        .expected("at most " + std::to_string(limits::tensor_dimensions))
        .at(at);
  std::vector<std::int64_t> shape;
  std::uint64_t product = 1;
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    const std::uint64_t size = fields.size();
    const auto next = checked_mul(product, std::max<std::uint64_t>(size, 1));
    if (!next || *next > INT64_MAX) throw bad_tensor(tensor, "has more than 2^63 elements").at(at);
    product = *next;
    shape.push_back(static_cast<std::int64_t>(size));
  }
  std::reverse(shape.begin(), shape.end());
  return shape;
}

const TensorType* read_tensor_type(Fields& fields, const TensorEntry& tensor) {
  const std::uint64_t at = fields.offset();
  const auto id = fields.number<std::uint32_t>();
  const TensorType* const type = find_type(id);
  if (type != nullptr && type->block != 0) return type;
  const std::string name = type == nullptr ? "" : " (" + std::string(type->name) + ", which ggml no longer has)";
  throw Error(ErrorCode::unsupported, "tensor '" + tensor.name + "' is of type " + std::to_string(id) + name)
      .expected("a type that gguf 0.19 knows")
      .at(at)
      .hint("quantise the model again with a llama.cpp of today");
}

/// Whole blocks of the last dimension, which runs along them.
std::uint64_t bytes_of(const TensorEntry& tensor, std::uint64_t at) {
  const std::uint64_t row = tensor.shape.empty() ? 1 : static_cast<std::uint64_t>(tensor.shape.back());
  if (row % tensor.type->block != 0)
    throw bad_tensor(tensor, "has rows of " + std::to_string(row) + " elements")
        .expected("a multiple of " + std::to_string(tensor.type->block) + ", the block of " +
                  std::string(tensor.type->name))
        .at(at);
  std::uint64_t elements = 1;
  for (const std::int64_t size : tensor.shape) elements *= static_cast<std::uint64_t>(size);  // read_shape() checked
  const auto bytes = checked_mul<std::uint64_t>(elements / tensor.type->block, tensor.type->bytes);
  // Another dimension of 0 does not make a row shorter.
  const auto row_bytes = checked_mul<std::uint64_t>(row / tensor.type->block, tensor.type->bytes);
  if (!bytes || *bytes > INT64_MAX || !row_bytes || *row_bytes > INT64_MAX)
    throw bad_tensor(tensor, "takes more than 2^63 bytes").at(at);
  return *bytes;
}

void read_tensors(Fields& fields, std::uint64_t count, Header& header) {
  NameSet names;
  for (; count > 0; --count) {
    const std::uint64_t at = fields.offset();
    if (header.tensors.size() == limits::gguf_tensors)
      throw Error(ErrorCode::limit_exceeded, "more than " + std::to_string(limits::gguf_tensors) + " tensors").at(at);
    TensorEntry tensor;
    tensor.name = fields.text();
    if (!is_utf8(tensor.name)) throw bad_tensor(tensor, "has a name that is not UTF-8").at(at);
    if (!names.insert(tensor.name).second) throw bad_tensor(tensor, "comes twice").at(at);
    tensor.shape = read_shape(fields, tensor);
    tensor.type = read_tensor_type(fields, tensor);
    tensor.nbytes = bytes_of(tensor, at);
    tensor.offset = fields.number<std::uint64_t>();
    header.tensors.push_back(std::move(tensor));
  }
}

/// Offsets count from where the data begins, which is known only now.
void place_tensors(Header& header, std::uint64_t header_end) {
  const auto begin = checked_add(header_end, header.alignment - 1);
  header.data_begin = begin.value_or(0) / header.alignment * header.alignment;
  header.data_end = header_end;  // without tensors there need be no padding
  std::vector<const TensorEntry*> order;
  for (TensorEntry& tensor : header.tensors) {
    if (tensor.offset % header.alignment != 0)
      throw bad_tensor(tensor, "begins at byte " + std::to_string(tensor.offset) + " of the data")
          .expected("a multiple of " + std::to_string(header.alignment));
    const auto offset = checked_add(header.data_begin, tensor.offset);
    const auto end = offset ? checked_add(*offset, tensor.nbytes) : std::nullopt;
    if (!end) throw bad_tensor(tensor, "ends past 2^64 bytes");
    tensor.offset = *offset;
    if (tensor.nbytes == 0) continue;
    header.data_end = std::max(header.data_end, *end);
    order.push_back(&tensor);
  }
  const auto first = [](const TensorEntry* a, const TensorEntry* b) { return a->offset < b->offset; };
  std::sort(order.begin(), order.end(), first);
  for (std::size_t i = 1; i < order.size(); ++i)
    if (order[i]->offset < order[i - 1]->offset + order[i - 1]->nbytes)
      throw bad_tensor(*order[i], "overlaps '" + order[i - 1]->name + "'").at(order[i]->offset);
}

}  // namespace

Header read_header(const ByteSource& source, std::uint64_t limit) {
  Fields fields(source, limit);
  Header header;
  header.byte_order = fields.byte_order();
  const std::uint64_t tensors = fields.size(), values = fields.size();
  read_metadata(fields, values, header);
  read_tensors(fields, tensors, header);
  place_tensors(header, fields.offset());
  return header;
}

}  // namespace ckpt::gguf
