#include <gtest/gtest.h>

#include <cstdint>

#include "ckpt/error.h"
#include "ckpt/ops.h"
#include "formats/torch_files.h"

namespace ckpt {
namespace {

using io_testing::has;
using torch_testing::Bytes;
using torch_testing::floats;
using torch_testing::legacy_storage;
using torch_testing::LegacyFile;
using torch_testing::tensor;
using torch_testing::values;
using torch_testing::view;
using torch_testing::ZipFile;
using Floats = std::vector<float>;
using Names = std::vector<std::string>;

const py::Code object = py::dict({{py::str("w"), tensor(legacy_storage(), {4}, {1})}});

std::string refused(const LegacyFile& file) {
  const auto error = torch_testing::refusal(bytes_of(file));
  return error ? error->what() : "read";
}

TEST(TorchLegacy, IsRead) {
  const auto checkpoint = torch_testing::read_bytes(bytes_of(LegacyFile{.object = object}));
  EXPECT_EQ(checkpoint.format, "torch-legacy");
  EXPECT_EQ(torch_testing::names(checkpoint), (Names{"w"}));
  EXPECT_EQ(values(checkpoint, 0), (Floats{0, 1, 2, 3}));
}

TEST(TorchLegacy, ComesBackWithItsOwnHeader) {
  const Bytes bytes = bytes_of(LegacyFile{.object = object});
  const auto once = torch_testing::written(torch_testing::read_bytes(bytes));
  const auto header = as_text(bytes).substr(0, as_text(bytes).find("}(X\1\0\0\0w"));
  EXPECT_TRUE(as_text(once).starts_with(header));
  EXPECT_EQ(torch_testing::written(torch_testing::read_bytes(once)), once);
}

TEST(TorchLegacy, IsWrittenAndReadInEveryProtocol) {
  const auto source = torch_testing::checkpoint_of(py::dict({{py::str("w"), torch_testing::weight()}}));
  for (int protocol = 1; protocol <= 5; ++protocol) {
    const auto bytes = torch_testing::written_as(source, "torch-legacy", protocol);
    const auto back = torch_testing::read_bytes(bytes);
    EXPECT_EQ(back.format, "torch-legacy") << protocol;
    EXPECT_EQ(back.protocol, protocol);
    EXPECT_EQ(torch_testing::names(back), (Names{"w"})) << protocol;
    EXPECT_EQ(values(back, 0), (Floats{0, 1, 2, 3})) << protocol;
  }
}

/// Python writes what it cannot say in protocol 0, a tuple as a persistent id, as its text.
TEST(TorchLegacy, OfProtocol0HasTextForItsStorages) {
  std::string file = "L119547037146038801333356L\n.I1001\n.(dp0\nS'little_endian'\np1\nI01\ns.";
  file +=
      "ctorch._utils\n_rebuild_tensor_v2\n(P('storage', <class 'torch.FloatStorage'>, '5', 'cuda:0', 4)\n"
      "I1\n(I3\nt(I1\ntI00\nccollections\nOrderedDict\n(tRtR.";
  file += "(lp0\nV5\na.";
  append_le(file, std::uint64_t{4});
  file += as_text(floats({0, 1, 2, 3}));
  const auto checkpoint = torch_testing::read_bytes(io_testing::bytes_of(file));
  EXPECT_EQ(checkpoint.protocol, 0);
  ASSERT_EQ(checkpoint.tensors.size(), 1U);
  EXPECT_EQ(values(checkpoint, 0), (Floats{1, 2, 3}));
  EXPECT_EQ(checkpoint.storages[0].location, "cuda:0");
  const auto zip =
      torch_testing::read_bytes(torch_testing::written_as(remap(checkpoint, DeviceMap::all_to("cpu")), "torch", 2));
  EXPECT_EQ(values(zip, 0), (Floats{1, 2, 3}));
  EXPECT_EQ(zip.storages[0].location, "cpu");
}

LegacyFile with_views() {
  return {.object = py::list({tensor(legacy_storage({}, view("7", 1, 2)), {2}, {1}), tensor(legacy_storage(), {4}, {1}),
                              tensor(legacy_storage({}, view("8", 2, 2)), {1}, {1}, 1)})};
}

TEST(TorchLegacy, ViewsOfAStorageBeginWhereTheySay) {
  const auto checkpoint = torch_testing::read_bytes(bytes_of(with_views()));
  EXPECT_EQ(checkpoint.storages.size(), 1U);
  EXPECT_EQ(values(checkpoint, 0), (Floats{1, 2}));
  EXPECT_EQ(values(checkpoint, 2), (Floats{3}));
  EXPECT_EQ(checkpoint.tensors[2].info.offset, 1) << "as PyTorch counts, from the view's beginning";
}

TEST(TorchLegacy, ViewsReachNoFurtherThanTheySay) {
  EXPECT_EQ(refused({.object = tensor(legacy_storage({}, view("7", 1, 2)), {0}, {1}, 5)}), "read");
  EXPECT_NE(refused({.object = tensor(legacy_storage({}, view("7", 1, 2)), {0}, {1}, INT64_MAX)}), "read");
  EXPECT_NE(refused({.object = tensor(legacy_storage({}, view("7", 1, 2)), {3}, {1})}), "read");
}

TEST(TorchLegacy, ViewsStayViews) {
  const auto back =
      torch_testing::read_bytes(torch_testing::written(torch_testing::read_bytes(bytes_of(with_views()))));
  ASSERT_EQ(back.storages.size(), 1U);
  EXPECT_EQ(values(back, 0), (Floats{1, 2}));
  EXPECT_EQ(values(back, 2), (Floats{3}));
}

TEST(TorchLegacy, ViewsBecomeStoragesOfAZip) {
  const auto source = torch_testing::read_bytes(bytes_of(with_views()));
  const auto zip = torch_testing::read_bytes(torch_testing::written_as(source, "torch"));
  ASSERT_EQ(zip.storages.size(), 3U);
  EXPECT_EQ(values(zip, 0), (Floats{1, 2}));
  EXPECT_EQ(values(zip, 1), (Floats{0, 1, 2, 3}));
  EXPECT_EQ(values(zip, 2), (Floats{3}));
}

TEST(TorchLegacy, DigestIsThatOfTheZipMadeOfIt) {
  const auto source = torch_testing::read_bytes(bytes_of(with_views()));
  const auto zip = torch_testing::read_bytes(torch_testing::written_as(source, "torch"));
  EXPECT_EQ(digest(source).total, digest(zip).total);
}

py::Code module_class() {
  return py::persistent(
      py::tuple({py::str("module"), py::global("zoo", "Net"), py::str("zoo.py"), py::str("class Net: pass")}));
}

TEST(TorchLegacy, ModulesKeepTheirSource) {
  const LegacyFile file{.object = py::list({py::call(module_class(), {}), tensor(legacy_storage(), {4}, {1})})};
  const auto checkpoint = torch_testing::read_bytes(bytes_of(file));
  EXPECT_EQ(checkpoint.storages.size(), 1U);
  const auto legacy = torch_testing::written(checkpoint);
  EXPECT_TRUE(has(std::string(as_text(legacy)), "class Net: pass"));
}

TEST(TorchLegacy, ModulesAreTheirClassInAZip) {
  const LegacyFile file{.object = py::list({py::call(module_class(), {}), tensor(legacy_storage(), {4}, {1})})};
  const auto out = torch_testing::written_as(torch_testing::read_bytes(bytes_of(file)), "torch");
  EXPECT_FALSE(has(std::string(as_text(out)), "class Net: pass"));
  const auto zip = torch_testing::read_bytes(out);
  const ValueId call = zip.values.items(zip.values.effect(zip.values.first_effect(zip.root)))[0];
  EXPECT_EQ(zip.values.kind(zip.values.items(call)[0]), ValueKind::global);
  EXPECT_EQ(zip.values.name(zip.values.items(call)[0]), "Net");
}

TEST(TorchLegacy, AModulesClassAloneIsNotForAZip) {
  const auto checkpoint = torch_testing::read_bytes(bytes_of(LegacyFile{.object = module_class(), .data = {}}));
  EXPECT_TRUE(io_testing::error_of([&] { torch_testing::written_as(checkpoint, "torch"); }));
}

// An id of some other kind may hold a class in the same place, and is not that class.
TEST(TorchLegacy, WhatIsNoModuleIsNotForAZip) {
  const py::Code pair = py::persistent(py::tuple({py::global("zoo", "Net"), py::global("zoo", "Net")}));
  const py::Code class_as_arguments = py::global("zoo", "Net") + module_class() + "R";
  const py::Code filled = module_class() + "(" + py::str("a") + "e";
  for (const py::Code& code : {pair, class_as_arguments, filled}) {
    const auto checkpoint = torch_testing::read_bytes(bytes_of(LegacyFile{.object = py::list({code}), .data = {}}));
    const auto error = io_testing::error_of([&] { torch_testing::written_as(checkpoint, "torch"); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->hint(), "--format torch-legacy can say it");
  }
}

TEST(TorchLegacy, WhoseCountIsAnotherIsRefusedWhenItIsRead) {
  const LegacyFile file{.object = object, .data = {{"0", 5, floats({0, 1, 2, 3})}}};
  const auto checkpoint = torch_testing::read_bytes(bytes_of(file));
  const auto error = io_testing::error_of([&] { torch_testing::read_storages(checkpoint); });
  ASSERT_TRUE(error);
  EXPECT_TRUE(has(error->what(), "the file counts 5 elements, expected 4, as the pickle says")) << error->what();
  EXPECT_TRUE(io_testing::error_of([&] { torch_testing::written(checkpoint); }));
}

TEST(TorchLegacy, ListsEachStorageOnce) {
  EXPECT_TRUE(has(refused({.object = object, .keys = py::list({})}),
                  "the object uses storage '0', which the list of keys lacks"));
  EXPECT_NE(refused({.object = object, .keys = py::list({py::str("0"), py::str("1")})}), "read");
  EXPECT_NE(refused({.object = object, .keys = py::list({py::str("0"), py::str("0")})}), "read");
  EXPECT_NE(refused({.object = object, .keys = py::list({py::none()})}), "read");
  EXPECT_NE(refused({.object = object, .keys = py::str("0")}), "read");
}

TEST(TorchLegacy, KeysMayBeNumbers) {
  EXPECT_EQ(refused({.object = object, .keys = py::list({py::integer(0)})}), "read");
}

/// Torch looks for storages by their texts.
TEST(TorchLegacy, KeysOfAnotherKindBecomeText) {
  for (const py::Code& key : {py::integer(7), py::py2_str("7")}) {
    const py::Code code = object;
    const py::Code spelt = py::str("0");
    const std::size_t at = code.find(spelt);
    ASSERT_NE(at, std::string::npos);
    LegacyFile file{.object = py::Code(code).replace(at, spelt.size(), key)};
    file.data.front().key = "7";
    const Bytes written = torch_testing::written(torch_testing::read_bytes(bytes_of(file)));
    EXPECT_EQ(as_text(written).find(key), std::string_view::npos);
  }
}

TEST(TorchLegacy, KeysAreInTheOrderThatTorchGivesThem) {
  py::Pairs pairs;
  ZipFile file;
  file.data.clear();
  for (int i = 0; i < 11; ++i) {
    const std::string key = std::to_string(i);
    pairs.emplace_back(py::str("t" + key), tensor(torch_testing::storage({.key = key}), {4}, {1}));
    file.data.push_back({"data/" + key, floats({0, 1, 2, static_cast<float>(i)})});
  }
  file.object = py::dict(pairs);
  const Checkpoint legacy =
      torch_testing::read_bytes(torch_testing::written_as(torch_testing::read_bytes(bytes_of(file)), "torch-legacy"));
  for (std::size_t i = 0; i < legacy.storages.size(); ++i)
    EXPECT_EQ(legacy.storages[i].key, (i < 10 ? "0" : "") + std::to_string(i));
}

TEST(TorchLegacy, StoragesFollowInTheOrderOfTheKeys) {
  const auto on = [](const std::string& key) { return tensor(legacy_storage({.key = key}), {4}, {1}); };
  const LegacyFile file{.object = py::list({on("a"), on("b")}),
                        .data = {{"b", 4, floats({4, 5, 6, 7})}, {"a", 4, floats({0, 1, 2, 3})}}};
  const auto checkpoint = torch_testing::read_bytes(bytes_of(file));
  EXPECT_EQ(checkpoint.storages[0].key, "b");
  EXPECT_EQ(values(checkpoint, 0), (Floats{0, 1, 2, 3}));
  EXPECT_EQ(values(torch_testing::read_bytes(torch_testing::written(checkpoint)), 1), (Floats{4, 5, 6, 7}));
}

TEST(TorchLegacy, OfAnotherVersionIsRefused) {
  EXPECT_TRUE(has(refused({.object = object, .version = 1002}), "another protocol version, expected 1001"));
}

TEST(TorchLegacy, CutAnywhereIsRefused) {
  const Bytes whole = bytes_of(LegacyFile{.object = object});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    ASSERT_TRUE(torch_testing::refusal(cut)) << size;
  }
}

TEST(TorchLegacy, CutInsideGzipIsRefusedWhenItIsRead) {
  const Bytes whole = bytes_of(LegacyFile{.object = object});
  for (std::size_t size = whole.size() - 24; size < whole.size(); ++size) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const auto error = io_testing::error_of(
        [&] { torch_testing::read_storages(torch_testing::read_bytes(io_testing::gzipped(cut))); });
    ASSERT_TRUE(error) << size;
    EXPECT_EQ(error->code(), ErrorCode::truncated);
  }
}

TEST(TorchLegacy, BytesAfterTheLastStorageAreLeftOutWithAWarning) {
  Bytes bytes = bytes_of(LegacyFile{.object = object});
  bytes.resize(bytes.size() + 3);
  const auto checkpoint = torch_testing::read_bytes(bytes);
  ASSERT_EQ(checkpoint.warnings.size(), 1U);
  EXPECT_EQ(checkpoint.warnings[0], "3 bytes follow the last storage and are left out");
}

TEST(TorchLegacy, BytesAfterTheLastStorageAreFoundInGzipWhenItIsRead) {
  constexpr std::int64_t count = 1 << 21;
  Bytes bytes = bytes_of(
      LegacyFile{.object = py::dict({{py::str("w"), tensor(legacy_storage({.elements = count}), {count}, {1})}}),
                 .data = {{"0", count, io_testing::random_bytes(4 * count)}}});
  bytes.resize(bytes.size() + 3);
  // An empty member behind those of ckpt's hides their index, which would tell the size.
  const auto checkpoint =
      torch_testing::read_bytes(io_testing::joined({io_testing::gzipped(bytes), io_testing::gzipped({})}));
  EXPECT_TRUE(checkpoint.warnings.empty());
  EXPECT_EQ(finish_reading(checkpoint), std::vector<std::string>{"3 bytes follow the last storage and are left out"});
}

TEST(TorchLegacy, CannotSayUntypedStoragesAndNamesTheTensor) {
  const auto bytes = torch_testing::storage({.type = "UntypedStorage", .elements = 16, .module = "torch.storage"});
  const auto code = py::call(py::global("torch._utils", "_rebuild_tensor_v3"),
                             {bytes, py::integer(0), torch_testing::sizes({8}), torch_testing::sizes({1}),
                              py::boolean(false), py::ordered_dict({}), py::global("torch", "uint16")});
  const auto checkpoint = torch_testing::checkpoint_of(py::dict({{py::str("net.w"), code}}));
  const auto error = io_testing::error_of([&] { torch_testing::written_as(checkpoint, "torch-legacy"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsupported);
  EXPECT_TRUE(has(error->what(), "tensor 'net.w' is uint16")) << error->what();
}

TEST(TorchLegacy, CannotSayAnUntypedStorageBesideATypedOneOfTheSameBytes) {
  const auto typed = torch_testing::storage({.type = "ByteStorage", .elements = 16});
  const auto untyped = torch_testing::storage({.type = "UntypedStorage", .elements = 16, .module = "torch.storage"});
  const auto checkpoint = torch_testing::checkpoint_of(py::list({typed, untyped}));
  const auto error = io_testing::error_of([&] { torch_testing::written_as(checkpoint, "torch-legacy"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsupported);
  EXPECT_TRUE(has(error->what(), "an untyped storage, '0'")) << error->what();
}

TEST(TorchLegacy, MadeFromAZipKeepsTheKeys) {
  const auto zip = torch_testing::checkpoint_of(py::list({torch_testing::weight(), torch_testing::weight()}));
  const auto legacy = torch_testing::read_bytes(torch_testing::written_as(zip, "torch-legacy"));
  ASSERT_EQ(legacy.storages.size(), 1U);
  EXPECT_EQ(legacy.storages[0].key, "0");
  EXPECT_EQ(legacy.values.items(legacy.values.items(legacy.storage_uses.begin()->first)[0]).size(), 6U);
}

TEST(TorchLegacy, GlobalsOfEveryPickleCount) {
  const LegacyFile file{.object = object, .keys = py::list({py::str("0")}) + py::global("os", "system") + "0"};
  const auto checkpoint = torch_testing::read_bytes(bytes_of(file));
  EXPECT_TRUE(std::any_of(checkpoint.globals.begin(), checkpoint.globals.end(), [](const GlobalUse& use) {
    return use.name == "system" && use.verdict == Verdict::dangerous;
  }));
}

/// Storages are filled after all objects have been made.
TEST(TorchLegacy, RefusesObjectsThatReadTensorsAsTheyAreMade) {
  const py::Code conv = py::call(py::global("torch.ao.nn.quantized.modules.conv", "Conv2d"), {});
  const auto error = [](const py::Code& code) {
    const io_testing::TemporaryFolder folder;
    SaveOptions options;
    options.format = "torch-legacy";
    options.allow_unsafe = true;
    return io_testing::error_of([&] { save(torch_testing::checkpoint_of(code), folder / "x.pt", options); });
  };
  const auto failure = error(py::build(conv, py::tuple({py::integer(1), torch_testing::weight()})));
  ASSERT_TRUE(failure);
  EXPECT_TRUE(has(failure->what(), "Conv2d is made of its tensors")) << failure->what();
  EXPECT_FALSE(error(py::build(conv, py::dict({{py::str("weight"), torch_testing::weight()}}))));
  EXPECT_FALSE(error(py::list({py::build(conv, py::tuple({py::integer(1)})), torch_testing::weight()})));
}

/// torch.load() maps torch.tensor to torch._tensor in zip files only.
TEST(TorchLegacy, NamesTheModuleOfTensorsAsItIsCalledNow) {
  const py::Code arguments = py::tuple({torch_testing::storage(), py::integer(0), py::tuple({py::integer(4)}),
                                        py::tuple({py::integer(1)}), py::boolean(false), py::dict({})});
  const py::Code own = py::call(py::global("torch.tensor", "_rebuild_from_type"),
                                {py::global("torch._utils", "_rebuild_tensor_v2"),
                                 py::global("zoo.torch.tensor", "Own"), arguments, py::dict({})});
  const auto legacy = torch_testing::written_as(torch_testing::checkpoint_of(own), "torch-legacy");
  EXPECT_TRUE(has(std::string(as_text(legacy)), "torch._tensor\n_rebuild_from_type"));
  EXPECT_TRUE(has(std::string(as_text(legacy)), "zoo.torch.tensor\nOwn"));
}

}  // namespace
}  // namespace ckpt
