#include "numpy/header.h"

#include <algorithm>
#include <array>
#include <optional>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "io/bytes.h"
#include "io/checksum.h"
#include "numpy/literal.h"

namespace ckpt::numpy {
namespace {

constexpr std::size_t before_length = 8;  // the magic and two bytes of version
constexpr std::size_t alignment = 64;     // numpy's ARRAY_ALIGN, so that the elements can be mapped
/// numpy leaves room for the dimension that grows when an array is appended to (GROWTH_AXIS_MAX_DIGITS).
constexpr std::size_t growth_digits = 21;

/// Where the line stands, and how long it is.
struct Line {
  std::uint64_t begin = 0, size = 0;
  std::uint32_t crc32 = 0;  ///< of what stands before it
};

Line find_line(const ByteSource& source) {
  std::array<std::byte, before_length + 4> start{};
  const std::size_t got = source.read_at(0, std::span(start).first(magic.size()));
  if (!magic.starts_with(as_text(std::span(start).first(got))))
    throw Error(ErrorCode::corrupt, "no numpy array: the magic is missing").expected("\\x93NUMPY").at(0);
  source.read_exactly(0, std::span(start).first(before_length + 2));
  const auto major = static_cast<unsigned>(start[6]), minor = static_cast<unsigned>(start[7]);
  if (major < 1 || major > 3 || minor != 0)
    throw Error(ErrorCode::unsupported,
                "a numpy array of format version " + std::to_string(major) + "." + std::to_string(minor))
        .expected("1.0, 2.0 or 3.0")
        .at(magic.size());
  const std::size_t begin = before_length + (major == 1 ? 2 : 4);
  const std::span<std::byte> before = std::span(start).first(begin);
  source.read_exactly(0, before);
  const std::byte* const length = start.data() + before_length;
  return {begin, major == 1 ? load_le<std::uint16_t>(length) : load_le<std::uint32_t>(length), crc32(0, before)};
}

std::vector<std::byte> read_line(const ByteSource& source, const Line& line) {
  if (line.size > limits::numpy_header_bytes)
    throw Error(ErrorCode::limit_exceeded, "an array's header of " + std::to_string(line.size) + " bytes")
        .expected("at most " + std::to_string(limits::numpy_header_bytes))
        .at(before_length);
  std::vector<std::byte> bytes(line.size);
  source.read_exactly(line.begin, bytes);
  return bytes;
}

/// The keys of the dict, each once, in any order. `Type`: what is kept of the dtype.
template <class Type>
struct Fields {
  std::optional<Type> type;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::int64_t>> shape;
};

ArrayType read_descr(LiteralReader& reader) {
  if (reader.sees('[') || reader.sees('('))
    throw Error(ErrorCode::unsupported, "the array is a structured one, of records with named fields")
        .expected("an array of numbers")
        .hint("in Python: array['FIELD'] is an array of one field");
  return parse_descr(reader.string());
}

std::uint64_t read_item_bytes(LiteralReader& reader, unsigned depth = 0);

/// (name, dtype[, shape]), or ((title, name), dtype[, shape]).
std::uint64_t read_field_bytes(LiteralReader& reader, unsigned depth) {
  reader.expect('(');
  if (reader.accept('(')) {
    reader.string();
    reader.expect(',');
    reader.string();
    reader.expect(')');
  } else {
    reader.string();
  }
  reader.expect(',');
  std::uint64_t bytes = read_item_bytes(reader, depth + 1);
  if (reader.accept(',') && !reader.sees(')'))
    for (const std::int64_t size : reader.integers())
      bytes = checked_mul(bytes, static_cast<std::uint64_t>(size)).value_or(UINT64_MAX);
  reader.expect(')');
  return bytes;
}

/// Of one element of whatever numpy writes, which need be none of a tensor's.
std::uint64_t read_item_bytes(LiteralReader& reader, unsigned depth) {
  if (depth > limits::nesting)
    throw Error(ErrorCode::limit_exceeded, "records within more than " + std::to_string(limits::nesting) + " others");
  if (!reader.accept('[')) return item_bytes(reader.string());
  std::uint64_t bytes = 0;
  while (!reader.accept(']')) {
    bytes = checked_add(bytes, read_field_bytes(reader, depth)).value_or(UINT64_MAX);
    if (!reader.sees(']')) reader.expect(',');
  }
  return bytes;
}

template <class Type>
Fields<Type> parse_fields(LiteralReader& reader, std::uint64_t at, Type read_type(LiteralReader&)) {
  Fields<Type> fields;
  const auto set = [&](auto& field, auto value, std::string_view key) {
    if (field) throw Error(ErrorCode::corrupt, "the array's header says '" + std::string(key) + "' twice").at(at);
    field = std::move(value);
  };
  reader.expect('{');
  while (!reader.accept('}')) {
    const std::string_view key = reader.string();
    reader.expect(':');
    if (key == "descr")
      set(fields.type, read_type(reader), key);
    else if (key == "fortran_order")
      set(fields.fortran_order, reader.boolean(), key);
    else if (key == "shape")
      set(fields.shape, reader.integers(), key);
    else
      throw Error(ErrorCode::corrupt, "the array's header has the key '" + std::string(key.substr(0, 40)) + "'")
          .expected("descr, fortran_order and shape")
          .at(at);
    if (!reader.sees('}')) reader.expect(',');
  }
  reader.finish();
  if (!fields.type || !fields.fortran_order || !fields.shape)
    throw Error(ErrorCode::corrupt, "the array's header lacks a key").expected("descr, fortran_order and shape").at(at);
  return fields;
}

std::uint64_t bytes_of(std::uint64_t item, const std::vector<std::int64_t>& shape, std::uint64_t at) {
  const auto bytes = array_bytes(item, shape);
  if (!bytes)
    throw Error(ErrorCode::corrupt, "the array's shape multiplies past 2^63 bytes")
        .expected("one that any machine could hold")
        .at(at);
  return *bytes;
}

std::string tuple_text(const std::vector<std::int64_t>& shape) {
  std::string text = "(";
  for (const std::int64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace

std::optional<std::uint64_t> array_bytes(std::uint64_t item, const std::vector<std::int64_t>& shape) {
  if (item > INT64_MAX) return std::nullopt;
  auto product = static_cast<std::int64_t>(item);
  bool overflows = false;
  for (const std::int64_t dimension : shape)
    overflows |= __builtin_mul_overflow(product, std::max<std::int64_t>(dimension, 1), &product);
  if (overflows) return std::nullopt;
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  return empty ? 0 : static_cast<std::uint64_t>(product);
}

Header read_header(const ByteSource& source) {
  const Line line = find_line(source);
  const std::vector<std::byte> bytes = read_line(source, line);
  LiteralReader reader(as_text(bytes), line.begin);
  Fields<ArrayType> fields = parse_fields<ArrayType>(reader, line.begin, read_descr);
  Header header;
  header.type = *fields.type;
  header.fortran_order = *fields.fortran_order;
  header.shape = std::move(*fields.shape);
  header.size = line.begin + line.size;
  header.crc32 = crc32(line.crc32, bytes);
  header.data_bytes = bytes_of(dtype_size(header.type.dtype), header.shape, line.begin);
  return header;
}

std::uint64_t find_end(const ByteSource& source) {
  const Line line = find_line(source);
  const std::vector<std::byte> bytes = read_line(source, line);
  LiteralReader reader(as_text(bytes), line.begin);
  const auto fields =
      parse_fields<std::uint64_t>(reader, line.begin, [](LiteralReader& type) { return read_item_bytes(type); });
  return line.begin + line.size + bytes_of(*fields.type, *fields.shape, line.begin);
}

std::string make_header(DType dtype, bool fortran_order, const std::vector<std::int64_t>& shape) {
  std::string line = "{'descr': '" + descr_of(dtype) + "', 'fortran_order': " + (fortran_order ? "True" : "False") +
                     ", 'shape': " + tuple_text(shape) + ", }";
  if (!shape.empty()) {
    const std::size_t digits = std::to_string(fortran_order ? shape.back() : shape.front()).size();
    line.append(growth_digits - std::min(digits, growth_digits), ' ');
  }
  // 64 dimensions of 19 digits stay far below what version 1.0 can say, 65,535 bytes.
  const std::size_t unpadded = before_length + 2 + line.size() + 1;
  line.append(alignment - unpadded % alignment, ' ');  // numpy adds 64 where none are needed
  line += '\n';
  std::string header(magic);
  header += {'\1', '\0'};
  append_le(header, static_cast<std::uint16_t>(line.size()));
  return header + line;
}

std::vector<std::int64_t> strides_of(const Header& header) {
  const std::size_t count = header.shape.size();
  std::vector<std::int64_t> strides(count, 1);
  std::int64_t step = 1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t axis = header.fortran_order ? i : count - 1 - i;
    strides[axis] = step;
    step *= std::max<std::int64_t>(header.shape[axis], 1);  // bytes_of() has seen that this fits
  }
  return strides;
}

}  // namespace ckpt::numpy
