#include "safetensors/header.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "container/json_reader.h"
#include "io/byte_cursor.h"
#include "io/bytes.h"
#include "io/keyed_hash.h"
#include "safetensors/dtypes.h"

namespace ckpt::safetensors {
namespace {

/// What the header says of one tensor, each once, in any order.
struct Fields {
  std::optional<std::string> dtype;
  std::optional<std::vector<std::uint64_t>> shape;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> offsets;
};

Error corrupt(std::string what, std::uint64_t position) {
  return Error(ErrorCode::corrupt, std::move(what)).at(position);
}

template <class Value>
void set_once(std::optional<Value>& field, Value value, const std::string& key, std::uint64_t position) {
  if (field) throw corrupt("'" + key + "' comes twice", position).expected("each key once");
  field = std::move(value);
}

std::vector<std::uint64_t> read_shape(JsonReader& json) {
  std::vector<std::uint64_t> shape;
  json.enter_array();
  while (json.next_item()) {
    if (shape.size() == limits::tensor_dimensions)
      throw Error(ErrorCode::limit_exceeded, "more than " + std::to_string(limits::tensor_dimensions) + " dimensions")
          .at(json.position());
    shape.push_back(json.integer());
  }
  return shape;
}

std::pair<std::uint64_t, std::uint64_t> read_offsets(JsonReader& json) {
  std::array<std::uint64_t, 2> offsets{};
  json.enter_array();
  for (std::uint64_t& offset : offsets) {
    if (!json.next_item()) json.fail("a begin and an end");
    offset = json.integer();
  }
  if (json.next_item()) json.fail("']' after a begin and an end");
  return {offsets[0], offsets[1]};
}

/// Keys that the format has not are passed over, as the library does.
Fields read_fields(JsonReader& json) {
  Fields fields;
  json.enter_object();
  for (;;) {
    const std::uint64_t position = json.position();
    const std::optional<std::string> key = json.next_key();
    if (!key) return fields;
    if (*key == "dtype")
      set_once(fields.dtype, json.string(), *key, position);
    else if (*key == "shape")
      set_once(fields.shape, read_shape(json), *key, position);
    else if (*key == "data_offsets")
      set_once(fields.offsets, read_offsets(json), *key, position);
    else
      json.skip();
  }
}

/// Bytes of the tensor, as its shape says.
std::uint64_t size_of(const ElementType& type, const std::vector<std::uint64_t>& shape, std::uint64_t position) {
  std::optional<std::uint64_t> bits = 1;
  for (const std::uint64_t size : shape)
    if (bits) bits = checked_mul(*bits, size);
  if (bits) bits = checked_mul<std::uint64_t>(*bits, type.bits);
  if (!bits) throw corrupt("its shape overflows 64 bits", position).expected("sizes that any machine could hold");
  if (*bits % 8 != 0)
    throw corrupt("its elements take " + std::to_string(*bits) + " bits", position).expected("whole bytes");
  return *bits / 8;
}

/// Throws Error (unsupported) where torch has no such tensor.
std::vector<std::int64_t> shape_in_torch(const ElementType& type, const std::vector<std::uint64_t>& shape,
                                         std::uint64_t position) {
  std::vector<std::int64_t> out;
  for (const std::uint64_t size : shape) {
    if (size > INT64_MAX) throw corrupt("a size of " + std::to_string(size), position).expected("less than 2^63");
    out.push_back(static_cast<std::int64_t>(size));
  }
  if (!is_packed(type)) return out;
  if (out.empty() || out.back() % 2 != 0)
    throw Error(ErrorCode::unsupported, "an odd number of F4 in the last dimension")
        .expected("an even one: torch packs them by two (float4_e2m1fn_x2)")
        .at(position);
  out.back() /= 2;
  return out;
}

/// Fills in what is beside its place.
void read_geometry(const Fields& fields, Entry& entry) {
  const auto missing = [&](std::string_view key) {
    return corrupt("no '" + std::string(key) + "'", entry.position).expected("dtype, shape and data_offsets");
  };
  if (!fields.offsets) throw missing("data_offsets");
  if (!fields.dtype) throw missing("dtype");
  if (!fields.shape) throw missing("shape");
  if (entry.end < entry.begin)
    throw corrupt("it ends at " + std::to_string(entry.end) + " and begins at " + std::to_string(entry.begin),
                  entry.position);
  const ElementType* const type = find_type(*fields.dtype);
  if (type == nullptr)
    throw corrupt("dtype '" + fields.dtype->substr(0, 40) + "'", entry.position)
        .expected("one of safetensors', such as F32");
  const std::uint64_t size = size_of(*type, *fields.shape, entry.position);
  if (entry.end - entry.begin != size)
    throw corrupt("it has " + std::to_string(entry.end - entry.begin) + " bytes", entry.position)
        .expected(std::to_string(size) + ", as its shape and dtype say");
  if (!type->in_torch)
    throw Error(ErrorCode::unsupported, "dtype " + std::string(type->name) + ", which torch has not")
        .expected("a dtype of torch's")
        .at(entry.position)
        .hint("in Python: safetensors.deserialize(data) gives its bytes");
  entry.dtype = type->dtype;
  entry.shape = shape_in_torch(*type, *fields.shape, entry.position);
}

void add_entry(std::string name, const Fields& fields, std::uint64_t position, Header& header,
               const ReadContext& context) {
  Entry entry{.name = std::move(name), .position = position};
  if (fields.offsets) std::tie(entry.begin, entry.end) = *fields.offsets;
  try {
    read_geometry(fields, entry);
  } catch (Error& error) {
    error.within(tensor_called(entry.name));
    if (error.code() == ErrorCode::unsupported) throw;
    context.report(error, "");
    entry.sound = false;
  }
  header.entries.push_back(std::move(entry));
}

Metadata read_metadata(JsonReader& json) {
  Metadata metadata;
  if (json.accept_null()) return metadata;
  json.enter_object();
  NameSet keys;
  while (auto key = json.next_key()) {
    const std::uint64_t position = json.position();
    if (!keys.insert(*key).second)
      throw corrupt("'" + *key + "' comes twice in __metadata__", position).expected("each key once");
    if (metadata.size() == limits::safetensors_metadata)
      throw Error(ErrorCode::limit_exceeded,
                  "more than " + std::to_string(limits::safetensors_metadata) + " entries of metadata")
          .at(position);
    metadata.emplace_back(*std::move(key), json.string());
  }
  return metadata;
}

/// Each tensor begins where the one before it ends.
void check_places(std::vector<Entry>& entries, const ReadContext& context) {
  std::uint64_t end = 0, sound_end = 0;
  for (Entry& entry : entries) {
    if (entry.begin != end) {
      Error error = corrupt(
          entry.begin > end
              ? "bytes " + std::to_string(end) + " to " + std::to_string(entry.begin) + " before it belong to no tensor"
              : "it begins at " + std::to_string(entry.begin) + ", within what lies before it",
          entry.position);
      context.report(error.expected("a begin at " + std::to_string(end)).within(tensor_called(entry.name)), "");
    }
    end = std::max(end, entry.end);
    // Bytes are one tensor's; else few of them could be read again and again.
    entry.sound = entry.sound && entry.begin >= sound_end;
    if (entry.sound) sound_end = entry.end;
  }
}

std::uint64_t read_length(const ByteSource& source, const ReadContext& context) {
  std::array<std::byte, length_size> bytes{};
  source.read_exactly(0, bytes);
  const auto length = load_le<std::uint64_t>(bytes.data());
  const std::uint64_t most = std::min(limits::safetensors_header_bytes, context.pickle_cap);
  if (length > most)
    throw Error(ErrorCode::limit_exceeded, "a header of " + std::to_string(length) + " bytes")
        .expected("at most " + std::to_string(most) +
                  (most < limits::safetensors_header_bytes ? " in a compressed file of this size"
                                                           : ", as safetensors itself takes"))
        .at(0);
  return length;
}

Header parse(std::string_view text, const ReadContext& context) {
  Header header;
  std::optional<Metadata> metadata;
  std::uint64_t dimensions = 0;
  JsonReader json(text, length_size, "the header");
  json.enter_object();
  for (;;) {
    const std::uint64_t position = json.position();
    std::optional<std::string> name = json.next_key();
    if (!name) break;
    if (*name == metadata_key) {
      set_once(metadata, read_metadata(json), *name, position);
      continue;
    }
    const Fields fields = read_fields(json);
    dimensions += fields.shape ? fields.shape->size() : 0;
    if (dimensions > limits::safetensors_dimensions)
      throw Error(ErrorCode::limit_exceeded,
                  "more than " + std::to_string(limits::safetensors_dimensions) + " dimensions of all tensors")
          .at(position);
    if (header.entries.size() == limits::safetensors_tensors)
      throw Error(ErrorCode::limit_exceeded, "more than " + std::to_string(limits::safetensors_tensors) + " tensors");
    add_entry(*std::move(name), fields, position, header, context);
  }
  try {
    json.finish();
  } catch (const Error& error) {
    context.report(error, "");
  }
  if (metadata) header.metadata = *std::move(metadata);
  return header;
}

/// In the order of their bytes, and held against each other.
void place(Header& header, const ReadContext& context) {
  {
    NameViewMap<Entry*> names;
    for (Entry& entry : header.entries) {
      const auto [first, is_first] = names.try_emplace(entry.name, &entry);
      if (is_first) continue;
      context.report(corrupt(tensor_called(entry.name) + " comes twice", entry.position).expected("each name once"),
                     "");
      entry.sound = first->second->sound = false;
    }
  }
  std::stable_sort(header.entries.begin(), header.entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  check_places(header.entries, context);
  std::erase_if(header.entries, [](const Entry& entry) { return !entry.sound; });
}

}  // namespace

bool begins_with_header(const ByteSource& source) {
  std::array<std::byte, 64> start{};
  const std::string_view head = as_text(std::span<const std::byte>(start).first(source.read_at(0, start)));
  if (head.size() <= length_size) return false;
  if (load_le<std::uint64_t>(start.data()) > UINT32_MAX) return false;
  const std::size_t first = head.find_first_not_of(" \t\n\r", length_size);
  return first != std::string_view::npos && head[first] == '{';
}

std::string tensor_called(std::string_view name) { return "tensor '" + std::string(name) + "'"; }

Header read_header(const ByteSource& source, const ReadContext& context) {
  const std::uint64_t length = read_length(source, context);
  Header header;
  {
    ByteCursor cursor(source, length_size, length, "the header");
    header = parse(as_text(cursor.take(length)), context);
  }
  header.data_begin = header.data_end = length_size + length;
  for (const Entry& entry : header.entries) {
    const auto end = checked_add(header.data_begin, entry.end);
    if (!end) throw corrupt(tensor_called(entry.name) + " ends past 64 bits", entry.position);
    header.data_end = std::max(header.data_end, *end);
  }
  place(header, context);
  return header;
}

}  // namespace ckpt::safetensors
