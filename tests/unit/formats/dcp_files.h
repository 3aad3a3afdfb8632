#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/python.h"
#include "formats/torch_files.h"
#include "io/io_testing.h"

/// Distributed checkpoints in a folder that goes away, every part of which can lie.
namespace ckpt::dcp_testing {

using Shape = std::vector<std::int64_t>;

/// An object of torch.distributed.checkpoint.metadata (or of `module`) with these attributes.
py::Code object(const std::string& name, const py::Pairs& attributes,
                const std::string& module = "torch.distributed.checkpoint.metadata");

struct Place {
  std::string file = "__0_0.distcp";
  std::int64_t offset = 0, length = 0;
};
py::Code place(const Place& place);
/// Of a chunk, or of a value where there are no offsets.
py::Code index(const std::string& name, const py::Code& offsets = py::none());
py::Code chunk(const Shape& offsets, const Shape& sizes);
py::Code tensor(const Shape& shape, const std::vector<py::Code>& chunks, const std::string& dtype = "float32");
py::Code value();
/// What `.metadata` holds.
std::string metadata(const py::Pairs& contents, const py::Pairs& places, const py::Code& paths = py::none());

/// A torch.save of floats, or of any value.
std::string saved(const std::vector<float>& numbers, const Shape& shape);
std::string saved_value(const py::Code& value);

/// A chunk of floats, and the file that it lies in.
struct Shard {
  Shape offsets, sizes;
  std::vector<float> numbers;
  std::string file = "__0_0.distcp";
};

/// A folder with a tensor "w" of these shards, and nothing amiss.
class Folder {
 public:
  Folder(const Shape& shape, const std::vector<Shard>& shards);
  /// A folder of one file of items and this `.metadata`.
  Folder(const std::string& metadata, const std::string& items);

  [[nodiscard]] std::string path() const { return folder_.path(); }
  std::string operator/(const std::string& name) const { return folder_ / name; }

 private:
  io_testing::TemporaryFolder folder_;
};

}  // namespace ckpt::dcp_testing
