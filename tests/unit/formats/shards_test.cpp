#include "shards/shards.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "ckpt/assemble.h"
#include "ckpt/ops.h"
#include "formats/torch_files.h"
#include "named_tensors/shard_names.h"
#include "shards/index.h"

namespace ckpt {
namespace {

using io_testing::Bytes;
using io_testing::error_of;
using io_testing::has;
using io_testing::put_file;
using io_testing::TemporaryFolder;
using torch_testing::floats;
using torch_testing::names;
using torch_testing::values;
using Names = std::vector<std::string>;

TensorSource source(const std::string& name, const std::vector<float>& numbers) {
  return {.name = name,
          .dtype = DType::float32,
          .shape = {static_cast<std::int64_t>(numbers.size())},
          .bytes = memory_source(floats(numbers), name)};
}

void put_checkpoint(const std::string& path, std::vector<TensorSource> tensors) {
  save(assemble(std::move(tensors)), path);
}

TEST(ShardsOfRanks, KeepWhatEachOfThemSaysBesideItsTensors) {
  const TemporaryFolder folder;
  for (const auto& [rank, key] : {std::pair("1", "one"), std::pair("2", "two")}) {
    Checkpoint part = assemble({source(key, {1})});
    part.metadata = {{"DCP_SHARDING_INFO", "{\"" + std::string(key) + "\":{\"saved_offsets\":[0]}}"},
                     {"format", "pt"},
                     {key, "said"}};
    save(part, folder / ("shard-0000" + std::string(rank) + "-model-00001-of-00001.safetensors"));
  }
  const Checkpoint read = load(folder.path());
  const std::vector<std::pair<std::string, std::string>> all{{"format", "pt"}, {"one", "said"}, {"two", "said"}};
  EXPECT_EQ(read.format, "dcp");
  EXPECT_EQ(read.metadata, all);
  EXPECT_EQ(read.warnings, Names());
}

/// "a" and "b" in the first of two files, "c" in the second, and this index.
class TwoShards {
 public:
  explicit TwoShards(std::string_view index) {
    put_checkpoint(folder / "model-00001-of-00002.safetensors", {source("a", {1}), source("b", {2, 3})});
    put_checkpoint(folder / "model-00002-of-00002.safetensors", {source("c", {4})});
    put_file(folder / "model.safetensors.index.json", index);
  }
  [[nodiscard]] std::string fault() const {
    const auto error = error_of([&] { static_cast<void>(load(folder.path())); });
    return error ? error->what() : "";
  }
  [[nodiscard]] std::string warning() const {
    const Checkpoint read = load(folder.path());
    return read.warnings.empty() ? "" : read.warnings.front();
  }
  TemporaryFolder folder;
};

std::string index_of(std::string_view a, std::string_view b, std::string_view c, std::string_view total = "16",
                     std::string_view more = "") {
  const auto file = [](std::string_view number) {
    return "\"model-0000" + std::string(number) + "-of-00002.safetensors\"";
  };
  return "{\"metadata\":{\"total_size\":" + std::string(total) + "},\"weight_map\":{\"a\":" + file(a) +
         ",\"b\":" + file(b) + ",\"c\":" + file(c) + std::string(more) + "}}";
}
const std::string good = index_of("1", "1", "2");

TEST(Shards, AreOneCheckpointFromTheFolderAndFromTheIndex) {
  const TwoShards two(good);
  for (const std::string& path : {two.folder.path(), two.folder / "model.safetensors.index.json"}) {
    const Checkpoint read = load(path);
    EXPECT_EQ(read.format, "safetensors-index");
    EXPECT_EQ(names(read), (Names{"a", "b", "c"}));
    EXPECT_EQ(values(read, 1), (std::vector<float>{2, 3}));
    EXPECT_EQ(values(read, 2), std::vector<float>{4});
    EXPECT_TRUE(read.warnings.empty()) << read.warnings.front();
    EXPECT_EQ(read.metadata, (std::vector<std::pair<std::string, std::string>>{{"format", "pt"}}));
  }
}

TEST(Shards, WithoutAnIndexAreCountedByTheirNames) {
  const TwoShards two(good);
  std::filesystem::remove(two.folder / "model.safetensors.index.json");
  EXPECT_EQ(names(load(two.folder.path())), (Names{"a", "b", "c"}));
  std::filesystem::remove(two.folder / "model-00001-of-00002.safetensors");
  EXPECT_TRUE(has(two.fault(), "shard 'model-00001-of-00002.safetensors' is missing"));
}

TEST(Shards, OfTwoSetsInOneFolderNoneIsGuessed) {
  const TwoShards two(good);
  put_file(two.folder / "other.safetensors.index.json", good);
  EXPECT_EQ(names(load(two.folder.path())).size(), 3U);  // the usual name comes first
  std::filesystem::rename(two.folder / "model.safetensors.index.json", two.folder / "x.safetensors.index.json");
  EXPECT_TRUE(has(two.fault(), "a folder of several indexes: other.safetensors.index.json, x.safetensors.index.json"));
  for (const char* name : {"other", "x"})
    std::filesystem::remove(two.folder / (name + std::string(".safetensors.index.json")));
  put_file(two.folder / "fp16-00001-of-00001.safetensors", "");
  EXPECT_TRUE(has(two.fault(), "a folder of several sets of shards"));
}

TEST(Shards, BesideThoseOfTorchAreReadFirst) {
  const TwoShards two(good);
  put_file(two.folder / "pytorch_model.bin.index.json",
           "{\"weight_map\":{\"x\":\"pytorch_model-00001-of-00001.bin\"}}");
  EXPECT_EQ(load(two.folder.path()).format, "safetensors-index");
}

TEST(Shards, AMissingOneIsNamed) {
  const TwoShards two(good);
  std::filesystem::remove(two.folder / "model-00002-of-00002.safetensors");
  EXPECT_TRUE(has(two.fault(), "shard 'model-00002-of-00002.safetensors' is missing"));
}

TEST(Shards, OneThatTheIndexDoesNotNameIsToldOf) {
  const TwoShards two(
      "{\"weight_map\":{\"a\":\"model-00001-of-00002.safetensors\",\"b\":\"model-00001-of-00002.safetensors\"}}");
  EXPECT_TRUE(
      has(two.warning(), "shard 'model-00002-of-00002.safetensors' lies there, and the index names nothing in it"));
}

TEST(Shards, TensorsThatAreNotWhereTheIndexSaysAreNamed) {
  EXPECT_TRUE(has(TwoShards(index_of("1", "1", "2", "16", ",\"d\":\"model-00002-of-00002.safetensors\"")).fault(),
                  "shard 'model-00002-of-00002.safetensors' has no tensor 'd'"));
  const std::string elsewhere = TwoShards(index_of("1", "2", "2")).fault();
  EXPECT_TRUE(has(elsewhere,
                  "shard 'model-00001-of-00002.safetensors': tensor 'b' is in it, expected it in shard "
                  "'model-00002-of-00002.safetensors' alone"))
      << elsewhere;
  EXPECT_EQ(elsewhere.find("shard 'model-00001"), elsewhere.rfind("shard 'model-00001")) << elsewhere;
}

TEST(Shards, TensorsThatTheIndexDoesNotNameAreReadAndToldOf) {
  const TwoShards two(
      "{\"weight_map\":{\"a\":\"model-00001-of-00002.safetensors\",\"c\":\"model-00002-of-00002.safetensors\"}}");
  EXPECT_TRUE(has(two.warning(), "has 'b', which the index does not name"));
  EXPECT_EQ(names(load(two.folder.path())), (Names{"a", "b", "c"}));
}

TEST(Shards, ATensorInTwoOfThemIsRefused) {
  const TwoShards two(good);
  std::filesystem::remove(two.folder / "model.safetensors.index.json");
  put_checkpoint(two.folder / "model-00002-of-00002.safetensors", {source("a", {9})});
  EXPECT_TRUE(has(two.fault(), "tensor 'a' is in it, expected it in shard 'model-00001-of-00002.safetensors' alone"));
  put_checkpoint(two.folder / "model-00001-of-00002.safetensors",
                 {source("a", {9}), source("b", {9}), source("c", {9})});
  put_checkpoint(two.folder / "model-00002-of-00002.safetensors",
                 {source("a", {9}), source("b", {9}), source("c", {9})});
  EXPECT_TRUE(has(two.fault(), "tensor 'a', and 2 more, is in it, expected it in shard"));
}

TEST(Shards, AnotherSizeThanTheIndexSaysIsToldOf) {
  EXPECT_EQ(TwoShards(good).warning(), "");
  EXPECT_EQ(TwoShards(index_of("1", "1", "2", "16.0")).warning(), "");  // some writers count in floats
  EXPECT_TRUE(has(TwoShards(index_of("1", "1", "2", "17")).warning(), "have 17 bytes; they have 16"));
}

TEST(Shards, VerifyFindsAllFaults) {
  const TwoShards two(index_of("1", "1", "2", "16",
                               ",\"d\":\"model-00001-of-00002.safetensors\",\"e\":\"model-00001-of-00002.safetensors\","
                               "\"f\":\"gone.safetensors\""));
  const std::string shard = two.folder / "model-00002-of-00002.safetensors";
  put_file(shard, io_testing::text_of(shard) + "x");
  std::string found;
  for (const Finding& finding : verify(open_checkpoint(two.folder.path())))
    if (finding.fault) found += finding.what + "\n";
  EXPECT_TRUE(has(found, "'model-00001-of-00002.safetensors' has no tensor 'd', nor 1 more")) << found;
  EXPECT_TRUE(has(found, "'gone.safetensors' is missing")) << found;
  EXPECT_TRUE(has(found, "1 bytes follow the last tensor")) << found;
}

TEST(Shards, NothingOutsideTheirFolderIsRead) {
  for (const char* name : {"../x.safetensors", "/etc/passwd.safetensors", "a/../../x.safetensors", ""})
    EXPECT_TRUE(has(TwoShards("{\"weight_map\":{\"a\":\"" + std::string(name) + "\"}}").fault(),
                    "expected a file in its own folder"))
        << name;
}

TEST(Shards, AnIndexWithinAnIndexIsRefused) {
  const TwoShards two("{\"weight_map\":{\"a\":\"model.safetensors.index.json.safetensors\"}}");
  put_file(two.folder / "model.safetensors.index.json.safetensors", good);
  EXPECT_TRUE(has(two.fault(), "an index of shards within another file"));
}

TEST(Shards, AnIndexIsReadStrictly) {
  for (const auto& [text, said] : std::initializer_list<std::pair<std::string, std::string>>{
           {R"({"weight_map":{"a":1}})", "expected a string"},
           {R"({"weight_map":{"a":"x.safetensors","a":"x.safetensors"}})", "tensor 'a' comes twice"},
           {R"({"weight_map":{"a":"x.safetensors"},"weight_map":{}})", "'weight_map' comes twice"},
           {R"({"weight_map":{"a":"x.safetensors"}} more)", "expected its end"}}) {
    const auto error =
        error_of([&text = text] { shards::read_index(*memory_source(io_testing::bytes_of(text), "index")); });
    EXPECT_TRUE(error && has(error->what(), said)) << text;
  }
}

TEST(Shards, AnIndexWithABrokenMapIsOne) {
  for (const auto& [map, said] : std::initializer_list<std::pair<std::string, std::string>>{
           {"[]", "expected '{'"}, {"null", "expected '{'"}, {R"({"a":1})", "expected a string"}}) {
    const std::string fault = TwoShards("{\"weight_map\":" + map + "}").fault();
    EXPECT_TRUE(has(fault, said)) << fault;
  }
}

TEST(Shards, OneThatIsAPipeIsRefused) {
  const TwoShards two(good);
  std::filesystem::remove(two.folder / "model-00002-of-00002.safetensors");
  ASSERT_EQ(::mkfifo((two.folder / "model-00002-of-00002.safetensors").c_str(), 0600), 0);
  EXPECT_TRUE(has(two.fault(), "model-00002-of-00002.safetensors: is a pipe")) << two.fault();
}

TEST(Shards, NoneOfThemIsReplacedByWhatIsMadeOfThem) {
  const TwoShards two(good);
  std::filesystem::create_symlink("model-00002-of-00002.safetensors", two.folder / "link");
  SaveOptions options;
  options.format = "safetensors";
  for (const char* name : {"model-00001-of-00002.safetensors", "model.safetensors.index.json", "link"}) {
    const auto error = error_of([&] { save(load(two.folder.path()), two.folder / name, options); });
    ASSERT_TRUE(error) << name;
    EXPECT_EQ(error->code(), ErrorCode::invalid_argument) << name;
  }
  EXPECT_EQ(names(load(two.folder.path())), (Names{"a", "b", "c"}));
}

TEST(Shards, OfTorchMayHoldTensorsAlone) {
  const TemporaryFolder folder;
  const auto put = [&](const py::Code& object) {
    put_file(folder / "pytorch_model-00001-of-00001.bin", bytes_of(torch_testing::ZipFile{.object = object}));
  };
  put(py::dict({{py::str("w"), torch_testing::weight()}}));
  const Checkpoint read = load(folder.path());
  EXPECT_EQ(read.format, "torch-index");
  EXPECT_EQ(names(read), Names{"w"});
  put(py::dict({{py::str("w"), torch_testing::weight()}, {py::str("step"), py::integer(3)}}));
  const auto error = error_of([&] { static_cast<void>(load(folder.path())); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsupported);
  EXPECT_TRUE(has(error->what(), "shard 'pytorch_model-00001-of-00001.bin': 'step' is no tensor")) << error->what();
}

TEST(ShardNames, AreParsedAndMade) {
  const auto name = shards::parse_shard_name("model.fp16-00002-of-00012.safetensors");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->stem, "model.fp16");
  EXPECT_EQ(name->number, 2U);
  EXPECT_EQ(name->count, 12U);
  EXPECT_EQ(shard_name(*name), "model.fp16-00002-of-00012.safetensors");
  for (const char* other :
       {"model.safetensors", "model-1-of-2.bin", "model-00003-of-00002.bin", "model-00000-of-00002.bin",
        "-of-00002.bin", "model-00001-of-00002", "model-0000x-of-00002.bin", "00001-of-00002.bin"})
    EXPECT_FALSE(shards::parse_shard_name(other)) << other;
}

// Written.

/// Ten floats each, "t0" … "t5"; t0 under another name too, and transposed.
Checkpoint six_tensors() {
  std::vector<TensorSource> tensors;
  for (int i = 0; i < 6; ++i)
    tensors.push_back(source("t" + std::to_string(i), std::vector<float>(10, static_cast<float>(i))));
  TensorSource tied = tensors.front(), view = tensors.front();
  tied.name = "tied";
  view.name = "view";
  view.shape = {5, 2};
  view.stride = {1, 5};
  tensors.push_back(tied);
  tensors.push_back(view);
  return assemble(std::move(tensors));
}

TEST(Shards, AreFilledInOrderAndReadBack) {
  for (const char* format : {"safetensors-index", "torch-index"}) {
    const TemporaryFolder folder;
    const Checkpoint made = six_tensors();
    SaveOptions options;
    options.format = format;
    options.shard_bytes = 100;
    options.read_back = ReadBack::full;
    save(made, folder / "out", options);
    const Checkpoint back = load(folder / "out");
    EXPECT_EQ(back.format, format);
    EXPECT_EQ(digest(back).total, digest(made).total);
    EXPECT_TRUE(back.warnings.empty()) << back.warnings.front();
    EXPECT_EQ(back.storages.size(), 6U);  // what shares memory is in one file, and does so again
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder / "out")) ++files;
    EXPECT_EQ(files, 4U) << format;  // two tensors a file, and the index
  }
}

TEST(Shards, NameInTheIndexWhatAFileHoldsUnderThatName) {
  const TemporaryFolder folder;
  SaveOptions options;
  options.format = "safetensors-index";
  save(six_tensors(), folder / "out", options);
  const auto index = shards::read_index(*open_file(folder / "out/model.safetensors.index.json"));
  EXPECT_EQ(index.total_size, 240U);
  ASSERT_TRUE(index.weight_map);
  EXPECT_EQ(index.weight_map->size(), 6U);
  EXPECT_EQ(index.shards, Names{"model-00001-of-00001.safetensors"});
}

TEST(Shards, ATensorLargerThanAShardHasOneOfItsOwn) {
  const TemporaryFolder folder;
  SaveOptions options;
  options.format = "safetensors-index";
  options.shard_bytes = 16;
  save(assemble({source("a", {1}), source("big", {1, 2, 3, 4, 5, 6}), source("b", {2})}), folder / "out", options);
  const auto index = shards::read_index(*open_file(folder / "out/model.safetensors.index.json"));
  // As huggingface_hub: the large one is done with at once, the others go on being collected.
  EXPECT_EQ(*index.weight_map, (std::vector<std::pair<std::string, std::uint32_t>>{{"a", 1}, {"b", 1}, {"big", 0}}));
}

TEST(Shards, HoldNamedTensorsAlone) {
  const TemporaryFolder folder;
  SaveOptions options;
  options.format = "torch-index";
  const auto fault = [&](const Checkpoint& checkpoint) -> std::string {
    const auto error = error_of([&] { save(checkpoint, folder / "out", options); });
    return error ? error->what() : "";
  };
  EXPECT_TRUE(has(fault(torch_testing::checkpoint_of(py::dict({{py::str("n"), py::integer(1)}}))), "'n' is no tensor"));
  EXPECT_TRUE(has(fault(assemble_one(source("", {1}))), "a tensor without a name"));
  const auto quantised = torch_testing::storage({.type = "QInt8Storage", .elements = 16});
  const py::Code object = py::dict({{py::str("q"), torch_testing::tensor(quantised, {2}, {1})}});
  EXPECT_TRUE(has(fault(torch_testing::checkpoint_of(object)), "tensor 'q' is quantised"));
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

}  // namespace
}  // namespace ckpt
