#include <algorithm>

#include "caps/caps_testing.h"
#include "ckpt/formats.h"
#include "ckpt/gzip.h"
#include "ckpt/limits.h"
#include "container/tar_reader.h"
#include "container/zip_builder.h"
#include "container/zip_end.h"
#include "container/zip_reader.h"
#include "formats/gguf_files.h"
#include "formats/numpy_files.h"
#include "formats/tar_files.h"
#include "formats/torch_files.h"
#include "io/gzip_index.h"
#include "io/inflating_share.h"
#include "io/stream.h"
#include "opened.h"
#include "torchscript/model_json.h"

namespace ckpt {
namespace {

using caps_testing::expect_past;
using caps_testing::expect_within;
using io_testing::Bytes;
using torch_testing::source_of;
using zip_testing::build_zip;

/// Zeros, and `tail` at the end.
class MostlyZeros final : public ByteSource {
 public:
  MostlyZeros(std::uint64_t size, Bytes tail) : ByteSource("zeros.zip"), size_(size), tail_(std::move(tail)) {}
  [[nodiscard]] std::uint64_t size() const override { return size_; }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset >= size_) return 0;
    out = out.first(std::min<std::uint64_t>(out.size(), size_ - offset));
    const std::uint64_t tail_at = size_ - tail_.size();
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = offset + i < tail_at ? std::byte{0} : tail_[offset + i - tail_at];
    return out.size();
  }

 private:
  std::uint64_t size_;
  Bytes tail_;
};

/// The end record of an archive that is nothing but a directory of `size` bytes.
Bytes end_record(std::uint32_t size) {
  std::string record("PK\5\6");
  for (const int value : {0, 0, 1, 1}) append_le(record, static_cast<std::uint16_t>(value));
  append_le(record, size);
  append_le(record, std::uint32_t{0});
  append_le(record, std::uint16_t{0});
  return io_testing::bytes_of(record);
}

Bytes layers(int count) {
  Bytes bytes = bytes_of(torch_testing::ZipFile{.object = py::none()});
  for (int i = 0; i < count; ++i) bytes = io_testing::gzipped(bytes);
  return bytes;
}

TEST(Cap, gzip_depth) {
  expect_within([] { static_cast<void>(read(source_of(layers(limits::gzip_depth)))); });
  expect_past([] { static_cast<void>(read(source_of(layers(limits::gzip_depth + 1)))); });
}

// Inflating is given a small cap; which one it gets is a function of the file's size.
TEST(Cap, gzip_members) {
  for (const std::uint64_t more : {0, 1}) {
    const GzipIndex index{std::vector<GzipMember>(limits::gzip_members + more, {20, 1, 0}), 1};
    io_testing::MemorySink sink;
    write_gzip_index(index, sink);
    const MostlyZeros file(index.members.size() * 20 + sink.bytes().size(), sink.bytes());
    EXPECT_EQ(read_gzip_index(file).has_value(), more == 0);
  }
}

TEST(Cap, inflated_floor) {
  EXPECT_EQ(limits::inflated_cap(0), limits::inflated_floor);
  const Bytes packed = io_testing::gzipped(Bytes(1000));
  const auto inflate = [&](std::uint64_t most) {
    static_cast<void>(gunzip(memory_source(packed, "test.gz"), most)->size());
  };
  expect_within([&] { inflate(1000); });
  expect_past([&] { inflate(999); });
}

TEST(Cap, inflated_ratio) {
  EXPECT_EQ(limits::inflated_cap(1), limits::inflated_floor + limits::inflated_ratio);
  const std::uint64_t largest = (UINT64_MAX - limits::inflated_floor) / limits::inflated_ratio;
  EXPECT_EQ(limits::inflated_cap(largest), limits::inflated_floor + limits::inflated_ratio * largest);
  EXPECT_EQ(limits::inflated_cap(largest + 1), UINT64_MAX);
  const std::string archive = build_zip({{.name = "a", .data = "hello", .method = 8, .inflated_size = 1000},
                                         {.name = "b", .data = "stored"},
                                         {.name = "c", .data = "hello", .method = 8, .inflated_size = 500}});
  const auto open = [&](std::uint64_t cap) {
    static_cast<void>(ZipReader::open(zip_testing::source_of(archive), {.inflated_cap = cap}));
  };
  expect_within([&] { open(1500); });
  expect_past([&] { open(1499); });
}

// What counts is asked itself: to inflate so much takes seconds (tests/bad/inflate_attacks.py does).
void spend(std::uint64_t bytes, std::uint64_t fresh) {
  InflatingBudget budget;
  InflatingPlace farthest;
  budget.spend({}, {0, fresh}, farthest, "test.gz");
  farthest.inflated = bytes;
  budget.spend({0, fresh}, {0, bytes}, farthest, "test.gz");
}

/// Compressed bytes that stand for nothing, beside those that are free.
void spend_nothing(std::uint64_t bytes) {
  InflatingBudget budget;
  InflatingPlace farthest;
  bytes += InflatingBudget::taken_ahead + InflatingBudget::free_nothing;
  budget.spend({}, {bytes, 0}, farthest, "test.gz");
  budget.spend({}, {bytes, 0}, farthest, "test.gz");
}

TEST(Cap, reinflated_floor) {
  EXPECT_EQ(limits::reinflated_cap(0), limits::reinflated_floor);
  expect_within([] { spend(limits::reinflated_floor, 0); });
  expect_past([] { spend(limits::reinflated_floor + 1, 0); });
  expect_within([] { spend_nothing(limits::reinflated_floor / InflatingBudget::cost_of_nothing); });
  expect_past([] { spend_nothing(limits::reinflated_floor / InflatingBudget::cost_of_nothing + 1); });
}

TEST(Cap, reinflated_ratio) {
  const std::uint64_t largest = (UINT64_MAX - limits::reinflated_floor) / limits::reinflated_ratio;
  EXPECT_EQ(limits::reinflated_cap(largest), limits::reinflated_floor + limits::reinflated_ratio * largest);
  EXPECT_EQ(limits::reinflated_cap(largest + 1), UINT64_MAX);
  expect_within([] { spend(limits::reinflated_floor + limits::reinflated_ratio * limits::mib, limits::mib); });
  expect_past([] { spend(limits::reinflated_floor + limits::reinflated_ratio * limits::mib + 1, limits::mib); });
}

TEST(Cap, zip_members) {
  const auto find = [](std::uint64_t members) {
    static_cast<void>(
        zip::find_end(*zip_testing::source_of(build_zip({}, {.zip64 = true, .count = 0xffff, .count64 = members}))));
  };
  expect_within([&] { find(limits::zip_members); });
  expect_past([&] { find(limits::zip_members + 1); });
}

// The end record alone is read: the directory's GiB is nowhere.
TEST(Cap, zip_directory_bytes) {
  const auto find = [](std::uint32_t size) {
    static_cast<void>(zip::find_end(MostlyZeros(std::uint64_t{size} + 22, end_record(size))));
  };
  expect_within([&] { find(static_cast<std::uint32_t>(limits::zip_directory_bytes)); });
  expect_past([&] { find(static_cast<std::uint32_t>(limits::zip_directory_bytes) + 1); });
}

TEST(Cap, zip_ratio) {
  const auto open = [](std::uint64_t size) {
    static_cast<void>(ZipReader::open(
        zip_testing::source_of(build_zip({{.name = "a", .data = "hello", .method = 8, .inflated_size = size}}))));
  };
  expect_within([&] { open(5 * limits::zip_ratio); });
  expect_past([&] { open(5 * limits::zip_ratio + 1); });
}

TEST(Cap, zip_small_member) {
  const auto load = [](std::uint64_t size) {
    static_cast<void>(
        read(zip_testing::source_of(build_zip({{.name = "r/data.pkl", .data = "N."},
                                               {.name = "r/version", .data = "3\n"},
                                               {.name = "r/.storage_alignment", .data = std::string(size, '6')}}))));
  };
  expect_within([&] { load(limits::zip_small_member); });
  expect_past([&] { load(limits::zip_small_member + 1); });
}

TEST(Cap, digest_list_bytes) {
  const auto read = [](std::uint64_t size) {
    static_cast<void>(read_all(MostlyZeros(size, {}), limits::digest_list_bytes));
  };
  expect_within([&] { read(limits::digest_list_bytes); });
  expect_past([&] { read(limits::digest_list_bytes + 1); });
}

// No cap on a file, but on what is held at a time.
TEST(Cap, copy_chunk) {
  std::size_t largest = 0, pieces = 0;
  stream_all(MostlyZeros(3 * limits::copy_chunk + 1, {}), [&](std::span<const std::byte> bytes) {
    largest = std::max(largest, bytes.size());
    ++pieces;
  });
  EXPECT_EQ(largest, limits::copy_chunk);
  EXPECT_EQ(pieces, 4U);
}

TEST(Cap, tar_members) {
  std::string tar;
  for (std::uint64_t i = 0; i < limits::tar_members; ++i) tar += tar_testing::header_of({std::to_string(i), ""});
  expect_within([&] { static_cast<void>(read_tar(*tar_testing::source_of(tar))); });
  tar += tar_testing::header_of({"one more", ""});
  expect_past([&] { static_cast<void>(read_tar(*tar_testing::source_of(tar))); });
}

TEST(Cap, tar_header_bytes) {
  const auto read = [](std::uint64_t size) {
    std::string record = std::to_string(size) + " comment=";
    record += std::string(size - record.size() - 1, 'a') + "\n";
    static_cast<void>(read_tar(*tar_testing::source_of(tar_testing::tar_of({{"h", record, 'x'}, {"a", "x"}}))));
  };
  expect_within([&] { read(limits::tar_header_bytes); });
  expect_past([&] { read(limits::tar_header_bytes + 1); });
}

TEST(Cap, tar_name_bytes) {
  constexpr std::uint64_t longest = limits::tar_header_bytes - 1;
  const auto read = [&](std::uint64_t names) {
    std::vector<tar_testing::Entry> entries;
    for (std::uint64_t left = names; left > 0;) {
      const std::uint64_t size = std::min(left, longest);
      std::string name = std::to_string(entries.size());
      name.resize(size, 'n');
      entries.push_back({"long", name + '\0', 'L'});
      entries.push_back({"short", ""});
      left -= size;
    }
    static_cast<void>(read_tar(*tar_testing::source_of(tar_testing::tar_of(entries))));
  };
  expect_within([&] { read(limits::tar_name_bytes); });
  expect_past([&] { read(limits::tar_name_bytes + 8); });
}

TEST(Cap, archive_files) {
  const std::string safetensors("\x02\0\0\0\0\0\0\0{}", 10);
  std::vector<tar_testing::Entry> entries{{"w", safetensors}};
  for (std::size_t i = 1; i < limits::archive_files; ++i) entries.push_back({std::to_string(i), "text"});
  const auto look = [&] { static_cast<void>(read(tar_testing::source_of(tar_testing::tar_of(entries)))); };
  expect_within(look);
  entries.push_back({"one more", "text"});
  expect_past(look);
}

// What is past it is left out, with a warning: no fault of the file.
TEST(Cap, gguf_metadata_bytes) {
  const auto kept = [](std::uint64_t bytes) {
    using gguf_testing::number;
    const std::string text = number(bytes) + std::string(bytes, 'x');
    const std::string file = gguf_testing::gguf({.metadata = {gguf_testing::entry("a", 8, text)}, .data = ""});
    return torch_testing::read_bytes(io_testing::bytes_of(file)).metadata.size();
  };
  EXPECT_EQ(kept(limits::gguf_metadata_bytes - limits::kib), 1U);
  EXPECT_EQ(kept(limits::gguf_metadata_bytes + 1), 0U);
}

TEST(Cap, gguf_tensors) {
  const auto read = [](std::uint64_t count) {
    using gguf_testing::number;
    std::string file = "GGUF" + number(std::uint32_t{3}) + number(count) + number(std::uint64_t{0});
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string name = std::to_string(i);
      file += number(std::uint64_t{name.size()}) + name + number(std::uint32_t{1}) + number(std::uint64_t{0});
      file += number(std::uint32_t{0}) + number(std::uint64_t{0});
    }
    file.resize((file.size() + 31) / 32 * 32);
    torch_testing::read_bytes(io_testing::bytes_of(file));
  };
  expect_within([&] { read(limits::gguf_tensors); });
  expect_past([&] { read(limits::gguf_tensors + 1); });
}

TEST(Cap, gguf_nesting) {
  const auto arrays = [](std::size_t depth) {
    using gguf_testing::number;
    std::string value;
    for (std::size_t i = 1; i < depth; ++i) value += number(std::uint32_t{9}) + number(std::uint64_t{1});
    value += number(std::uint32_t{0}) + number(std::uint64_t{0});
    const std::string file = gguf_testing::gguf({.metadata = {gguf_testing::entry("a", 9, value)}, .data = ""});
    return [file] { torch_testing::read_bytes(io_testing::bytes_of(file)); };
  };
  expect_within(arrays(limits::gguf_nesting));
  expect_past(arrays(limits::gguf_nesting + 1));
}

TEST(Cap, numpy_header_bytes) {
  const auto of_size = [](std::uint64_t size) {
    std::string line = numpy_testing::line("|u1", "()");
    line.insert(line.size() - 1, size - line.size(), ' ');
    return [line] { static_cast<void>(read(source_of(io_testing::bytes_of(numpy_testing::npy(line, "x", 2))))); };
  };
  expect_within(of_size(limits::numpy_header_bytes));
  expect_past(of_size(limits::numpy_header_bytes + 1));
}

void parse_model(const std::string& json) {
  static_cast<void>(torchscript::parse_model(*zip_testing::source_of(json)));
}

TEST(Cap, script_model_bytes) {
  std::string json = R"({"mainModule":{}})";
  json.resize(limits::script_model_bytes, ' ');
  expect_within([&] { parse_model(json); });
  expect_past([&] { parse_model(json + ' '); });
}

TEST(Cap, script_model_fields) {
  const auto of_keys = [](std::size_t count) {
    std::string json = R"({"mainModule":{)";
    for (std::size_t i = 0; i < count; ++i) json += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":0";
    return json + "}}";
  };
  expect_within([&] { parse_model(of_keys(limits::script_model_fields)); });
  expect_past([&] { parse_model(of_keys(limits::script_model_fields + 1)); });
}

TEST(Cap, script_model_depth) {
  const auto nested = [](int depth) {
    const auto brackets = static_cast<std::size_t>(depth);
    return R"({"mainModule":{},"x":)" + std::string(brackets, '[') + std::string(brackets, ']') + "}";
  };
  expect_within([&] { parse_model(nested(limits::script_model_depth)); });
  expect_past([&] { parse_model(nested(limits::script_model_depth + 1)); });
}

}  // namespace
}  // namespace ckpt
