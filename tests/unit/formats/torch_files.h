#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/formats.h"
#include "formats/python.h"
#include "io/io_testing.h"

/// Small checkpoints in memory, in both of torch's formats, every part of which can be told to lie.
namespace ckpt::torch_testing {

using io_testing::Bytes;

/// The persistent id of a storage.
struct StorageSpec {
  std::string key = "0";
  std::string type = "FloatStorage";
  std::string location = "cpu";
  std::int64_t elements = 4;
  std::string module = "torch";
};

/// The storage itself, as zip files name it.
py::Code storage(const StorageSpec& spec = {});
/// As legacy files name it: with a view, None or (key, offset, size).
py::Code legacy_storage(const StorageSpec& spec = {}, const py::Code& view = py::none());
py::Code view(std::string_view key, std::int64_t offset, std::int64_t size);

py::Code sizes(const std::vector<std::int64_t>& sizes);
/// torch._utils._rebuild_tensor_v2(storage, offset, shape, stride, False, OrderedDict())
py::Code tensor(const py::Code& storage, const std::vector<std::int64_t>& shape,
                const std::vector<std::int64_t>& stride, std::int64_t offset = 0);
/// Four floats: all of storage "0".
py::Code weight();

Bytes floats(const std::vector<float>& values);

struct Member {
  std::string name;  ///< below the root folder
  Bytes bytes;
};

/// A zip as torch writes it, of `object` and the members of `data` ("0": four floats 0, 1, 2, 3, unless told).
struct ZipFile {
  py::Code object;
  std::vector<Member> data = {{"data/0", floats({0, 1, 2, 3})}};
  std::string root = "archive";
  std::optional<std::string> byteorder = "little";
  std::optional<std::string> version = "3\n";
  std::vector<Member> more = {};  ///< at the end
  std::uint8_t protocol = 2;
};
Bytes bytes_of(const ZipFile& file);

/// A legacy file.
struct LegacyFile {
  struct Data {
    std::string key;
    std::uint64_t count;
    Bytes bytes;
  };
  py::Code object;
  std::vector<Data> data = {{"0", 4, floats({0, 1, 2, 3})}};
  std::int64_t version = 1001;
  std::optional<py::Code> keys = {};  ///< those of `data` unless told
};
Bytes bytes_of(const LegacyFile& file);

ByteSourcePtr source_of(Bytes bytes, const std::string& name = "test.pt");
Checkpoint read_bytes(Bytes bytes);
/// A checkpoint of that object, read from a zip whose storage "0" holds four floats.
Checkpoint checkpoint_of(const py::Code& object);
Bytes written(const Checkpoint& checkpoint);
Bytes written_as(const Checkpoint& checkpoint, const std::string& format, std::optional<int> protocol = {});

std::vector<std::string> names(const Checkpoint& checkpoint, std::vector<std::string>* warnings = nullptr);
/// The tensor's elements in the order of its indices.
std::vector<float> values(const Checkpoint& checkpoint, std::size_t tensor);
/// Reads what every storage holds.
void read_storages(const Checkpoint& checkpoint);
/// What reading the file says, nothing where it is taken.
std::optional<Error> refusal(Bytes bytes);

}  // namespace ckpt::torch_testing
