#include "formats/dcp_files.h"

#include <map>

namespace ckpt::dcp_testing {

using torch_testing::sizes;

py::Code object(const std::string& name, const py::Pairs& attributes, const std::string& module) {
  // cls.__new__(cls): NEWOBJ.
  return py::build(py::global(module, name) + py::tuple({}) + "\x81", py::dict(attributes));
}

py::Code place(const Place& place) {
  return object("_StorageInfo",
                {{py::str("relative_path"), py::str(place.file)},
                 {py::str("offset"), py::integer(place.offset)},
                 {py::str("length"), py::integer(place.length)}},
                "torch.distributed.checkpoint.filesystem");
}

py::Code index(const std::string& name, const py::Code& offsets) {
  return object("MetadataIndex", {{py::str("fqn"), py::str(name)}, {py::str("offset"), offsets}});
}

py::Code size(const Shape& numbers) { return py::call(py::global("torch", "Size"), {sizes(numbers)}); }

py::Code chunk(const Shape& offsets, const Shape& extents) {
  return object("ChunkStorageMetadata", {{py::str("offsets"), size(offsets)}, {py::str("sizes"), size(extents)}});
}

py::Code tensor(const Shape& shape, const std::vector<py::Code>& chunks, const std::string& dtype) {
  const std::string module = "torch.distributed.checkpoint.metadata";
  const py::Code layout = py::call(py::global("torch.serialization", "_get_layout"), {py::str("torch.strided")});
  const py::Code format = py::call(py::global(module, "_MEM_FORMAT_ENCODING"), {py::integer(0)});
  const py::Code properties =
      py::build(py::global(module, "TensorProperties") + py::tuple({}) + "\x81",
                py::tuple({py::global("torch", dtype), layout, py::boolean(false), format, py::boolean(false)}));
  return object(
      "TensorStorageMetadata",
      {{py::str("properties"), properties}, {py::str("size"), size(shape)}, {py::str("chunks"), py::list(chunks)}});
}

py::Code value() {
  return py::global("torch.distributed.checkpoint.metadata", "BytesStorageMetadata") + py::tuple({}) + "\x81";
}

std::string metadata(const py::Pairs& contents, const py::Pairs& places, const py::Code& paths) {
  return py::pickle(object("Metadata", {{py::str("state_dict_metadata"), py::dict(contents)},
                                        {py::str("planner_data"), paths},
                                        {py::str("storage_data"), py::dict(places)}}));
}

std::string text_of(const io_testing::Bytes& bytes) { return std::string(as_text(bytes)); }

std::string saved(const std::vector<float>& numbers, const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<std::int64_t>(shape[i], 1);
  const auto storage = torch_testing::storage({.elements = static_cast<std::int64_t>(numbers.size())});
  return text_of(bytes_of(torch_testing::ZipFile{.object = torch_testing::tensor(storage, shape, strides),
                                                 .data = {{"data/0", torch_testing::floats(numbers)}}}));
}

std::string saved_value(const py::Code& value) {
  return text_of(bytes_of(torch_testing::ZipFile{.object = value, .data = {}}));
}

Folder::Folder(const Shape& shape, const std::vector<Shard>& shards) {
  std::map<std::string, std::string> files;
  std::vector<py::Code> chunks;
  py::Pairs places;
  for (const Shard& shard : shards) {
    const std::string item = saved(shard.numbers, shard.sizes);
    std::string& file = files[shard.file];
    places.emplace_back(index("w", size(shard.offsets)), place({shard.file, static_cast<std::int64_t>(file.size()),
                                                                static_cast<std::int64_t>(item.size())}));
    file += item;
    chunks.push_back(chunk(shard.offsets, shard.sizes));
  }
  for (const auto& [name, items] : files) io_testing::put_file(folder_ / name, items);
  io_testing::put_file(folder_ / ".metadata", metadata({{py::str("w"), tensor(shape, chunks)}}, places));
}

Folder::Folder(const std::string& metadata, const std::string& items) {
  io_testing::put_file(folder_ / "__0_0.distcp", items);
  io_testing::put_file(folder_ / ".metadata", metadata);
}

}  // namespace ckpt::dcp_testing
