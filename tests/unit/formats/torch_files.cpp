#include "formats/torch_files.h"

#include <cstring>

#include "container/zip_writer.h"
#include "io/stream.h"
#include "ops/tensor_bytes.h"

namespace ckpt::torch_testing {
namespace {

using io_testing::MemorySink;

std::vector<py::Code> id_parts(const StorageSpec& spec) {
  return {py::str("storage"), py::global(spec.module, spec.type), py::str(spec.key), py::str(spec.location),
          py::integer(spec.elements)};
}

}  // namespace

py::Code storage(const StorageSpec& spec) { return py::persistent(py::tuple(id_parts(spec))); }

py::Code legacy_storage(const StorageSpec& spec, const py::Code& view) {
  auto parts = id_parts(spec);
  parts.push_back(view);
  return py::persistent(py::tuple(parts));
}

py::Code view(std::string_view key, std::int64_t offset, std::int64_t size) {
  return py::tuple({py::str(key), py::integer(offset), py::integer(size)});
}

py::Code sizes(const std::vector<std::int64_t>& sizes) {
  std::vector<py::Code> items;
  for (const std::int64_t size : sizes) items.push_back(py::integer(size));
  return py::tuple(items);
}

py::Code tensor(const py::Code& storage, const std::vector<std::int64_t>& shape,
                const std::vector<std::int64_t>& stride, std::int64_t offset) {
  return py::call(
      py::global("torch._utils", "_rebuild_tensor_v2"),
      {storage, py::integer(offset), sizes(shape), sizes(stride), py::boolean(false), py::ordered_dict({})});
}

py::Code weight() { return tensor(storage(), {4}, {1}); }

Bytes floats(const std::vector<float>& values) {
  Bytes bytes(values.size() * sizeof(float));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Bytes bytes_of(const ZipFile& file) {
  MemorySink sink;
  ZipWriter zip(sink);
  const auto add = [&](const std::string& name, std::string_view text) {
    zip.add(file.root + "/" + name, as_bytes(text));
  };
  add("data.pkl", py::pickle(file.object, file.protocol));
  if (file.byteorder) add("byteorder", *file.byteorder);
  for (const Member& member : file.data) add(member.name, as_text(member.bytes));
  if (file.version) add("version", *file.version);
  for (const Member& member : file.more) add(member.name, as_text(member.bytes));
  zip.finish();
  return sink.bytes();
}

Bytes bytes_of(const LegacyFile& file) {
  using namespace std::string_view_literals;
  std::string out("\x80\2\x8a\n\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."sv);
  out += py::pickle(py::integer(file.version));
  out += py::pickle(py::dict({{py::str("protocol_version"), py::integer(1001)},
                              {py::str("little_endian"), py::boolean(true)},
                              {py::str("type_sizes"), py::dict({{py::str("int"), py::integer(4)}})}}));
  out += py::pickle(file.object);
  std::vector<py::Code> keys;
  for (const auto& data : file.data) keys.push_back(py::str(data.key));
  out += py::pickle(file.keys.value_or(py::list(keys)));
  for (const auto& data : file.data) {
    append_le(out, data.count);
    out += as_text(data.bytes);
  }
  return io_testing::bytes_of(out);
}

ByteSourcePtr source_of(Bytes bytes, const std::string& name) { return memory_source(std::move(bytes), name); }
Checkpoint read_bytes(Bytes bytes) { return read(source_of(std::move(bytes))); }
Checkpoint checkpoint_of(const py::Code& object) { return read_bytes(bytes_of(ZipFile{.object = object})); }

Bytes written(const Checkpoint& checkpoint) { return written_as(checkpoint, ""); }

Bytes written_as(const Checkpoint& checkpoint, const std::string& format, std::optional<int> protocol) {
  WriteOptions options;
  options.format = format;
  options.protocol = protocol;
  MemorySink sink;
  write(checkpoint, sink, options);
  return sink.bytes();
}

std::vector<std::string> names(const Checkpoint& checkpoint, std::vector<std::string>* warnings) {
  std::vector<std::string> out;
  for (const NamedTensor& named : tensor_names(checkpoint, warnings)) out.push_back(named.name);
  return out;
}

std::vector<float> values(const Checkpoint& checkpoint, std::size_t tensor) {
  const Tensor& read = checkpoint.tensors.at(tensor);
  Storage storage = checkpoint.storages.at(read.storage.value());
  const std::uint64_t begin = read.view_offset * sizeof(float);
  storage.nbytes -= begin;
  storage.bytes = slice(storage.bytes, begin, storage.nbytes, storage.bytes->name());
  Bytes bytes;
  stream_tensor(storage, read.info,
                [&](std::span<const std::byte> piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); });
  std::vector<float> out(bytes.size() / sizeof(float));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

void read_storages(const Checkpoint& checkpoint) {
  for (const Storage& storage : checkpoint.storages) check_all(*storage.bytes);
}

std::optional<Error> refusal(Bytes bytes) {
  return io_testing::error_of([&] { static_cast<void>(read_bytes(std::move(bytes))); });
}

}  // namespace ckpt::torch_testing
