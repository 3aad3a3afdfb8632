#include <algorithm>
#include <string>

#include "caps/caps_testing.h"
#include "ckpt/formats.h"
#include "ckpt/limits.h"
#include "container/json_reader.h"
#include "formats/safetensors_files.h"
#include "formats/torch_files.h"
#include "io/file_pool.h"
#include "named_tensors/shard_names.h"
#include "shards/index.h"

namespace ckpt {
namespace {

using caps_testing::expect_past;
using caps_testing::expect_within;
using safetensors_testing::file;
using torch_testing::read_bytes;

TEST(Cap, safetensors_header_bytes) {
  const auto header_of = [](std::uint64_t size) {
    std::string header = "{}";
    header.resize(size, ' ');
    return io_testing::bytes_of(file(header));
  };
  expect_within([&] { read_bytes(header_of(limits::safetensors_header_bytes)); });
  expect_past([&] { read_bytes(header_of(limits::safetensors_header_bytes + 1)); });
}

/// Of tensors of no bytes.
TEST(Cap, safetensors_tensors) {
  const auto tensors = [](std::uint64_t count) {
    std::string header = "{";
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i > 0) header += ',';
      header += '"' + std::to_string(i) + "\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}";
    }
    return io_testing::bytes_of(file(header + "}"));
  };
  expect_past([&] { read_bytes(tensors(limits::safetensors_tensors + 1)); });
}

TEST(Cap, safetensors_metadata) {
  const auto entries = [](std::uint64_t count) {
    std::string header = "{\"__metadata__\":{";
    for (std::uint64_t i = 0; i < count; ++i) header += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":\"\"";
    return io_testing::bytes_of(file(header + "}}"));
  };
  expect_within([&] { read_bytes(entries(limits::safetensors_metadata)); });
  expect_past([&] { read_bytes(entries(limits::safetensors_metadata + 1)); });
}

/// Of tensors of 64 dimensions, and one of few.
TEST(Cap, safetensors_dimensions) {
  const auto tensors = [](std::uint64_t dimensions) {
    std::string header = "{", ones;
    for (std::size_t i = 1; i < limits::tensor_dimensions; ++i) ones += ",1";
    for (std::uint64_t left = dimensions; left > 0;) {
      const std::uint64_t its = std::min<std::uint64_t>(left, limits::tensor_dimensions);
      header += (left < dimensions ? ",\"" : "\"") + std::to_string(left) +
                R"(":{"dtype":"U8","data_offsets":[0,0],"shape":[0)" + ones.substr(0, 2 * (its - 1)) + "]}";
      left -= its;
    }
    return io_testing::bytes_of(file(header + "}"));
  };
  expect_within([&] { read_bytes(tensors(limits::safetensors_dimensions)); });
  expect_past([&] { read_bytes(tensors(limits::safetensors_dimensions + 1)); });
}

TEST(Cap, json_depth) {
  const auto nested = [](std::size_t depth) {
    const std::string text = std::string(depth, '[') + std::string(depth, ']');
    static_cast<void>(JsonReader(text, 0, "text").skip());
  };
  expect_within([&] { nested(limits::json_depth); });
  expect_past([&] { nested(limits::json_depth + 1); });
}

TEST(Cap, index_bytes) {
  const auto index_of = [](std::uint64_t size) {
    std::string text = "{\"weight_map\":{}}";
    text.resize(size, ' ');
    static_cast<void>(shards::read_index(*memory_source(io_testing::bytes_of(text), "index")));
  };
  expect_within([&] { index_of(limits::index_bytes); });
  expect_past([&] { index_of(limits::index_bytes + 1); });
}

/// An index of so many tensors, which lie in so many shards.
void read_index_of(std::size_t tensors, std::size_t shards) {
  std::string text = "{\"weight_map\":{";
  for (std::size_t i = 0; i < tensors; ++i)
    text += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":\"" + std::to_string(i % shards) + ".safetensors\"";
  static_cast<void>(shards::read_index(*memory_source(io_testing::bytes_of(text + "}}"), "index")));
}

TEST(Cap, index_tensors) {
  expect_within([] { read_index_of(limits::index_tensors, 9); });
  expect_past([] { read_index_of(limits::index_tensors + 1, 9); });
}

TEST(Cap, shard_files) {
  const auto shards_named = [](std::size_t count) { read_index_of(count, count); };
  expect_within([&] { shards_named(limits::shard_files); });
  expect_past([&] { shards_named(limits::shard_files + 1); });
  EXPECT_TRUE(shards::parse_shard_name("m-00001-of-" + std::to_string(limits::shard_files) + ".bin"));
}

/// Past it, the file that was read least lately is closed: see FilePoolTest.
TEST(Cap, open_files) {
  const io_testing::TemporaryFolder folder;
  FilePool pool;
  std::vector<ByteSourcePtr> sources;
  for (std::size_t i = 0; i <= limits::open_files; ++i) {
    io_testing::put_file(folder / std::to_string(i), "x");
    sources.push_back(pool.open(folder / std::to_string(i)));
    EXPECT_EQ(read_all(*sources.back(), 10).size(), 1U);
  }
  EXPECT_EQ(read_all(*sources.front(), 10).size(), 1U);
}

}  // namespace
}  // namespace ckpt
