#include <gtest/gtest.h>

#include "ckpt/error.h"
#include "formats/torch_files.h"
#include "pickled_tensors/storage_ids.h"
#include "pickled_tensors/text_ids.h"

namespace ckpt {
namespace {

using torch_testing::legacy_storage;
using torch_testing::LegacyFile;
using torch_testing::refusal;
using torch_testing::storage;
using torch_testing::tensor;
using torch_testing::view;
using torch_testing::ZipFile;

std::string refused(const py::Code& object) {
  const auto error = refusal(bytes_of(ZipFile{.object = object}));
  return error ? error->what() : "read";
}

py::Code id(const std::vector<py::Code>& parts) { return py::persistent(py::tuple(parts)); }
const py::Code text = py::str("storage"), type = py::global("torch", "FloatStorage"), key = py::str("0"),
               cpu = py::str("cpu"), four = py::integer(4);

TEST(StorageIds, GiveAStorageItsTypeKeyDeviceAndSize) {
  const auto checkpoint =
      torch_testing::checkpoint_of(storage({.type = "DoubleStorage", .location = "mps", .elements = 2}));
  ASSERT_EQ(checkpoint.storages.size(), 1U);
  const Storage& read = checkpoint.storages[0];
  EXPECT_EQ(read.key, "0");
  EXPECT_EQ(read.dtype, DType::float64);
  EXPECT_TRUE(read.typed);
  EXPECT_EQ(read.location, "mps");
  EXPECT_EQ(read.nbytes, 16U);
}

TEST(StorageIds, MayNameCudasOwnClasses) {
  const auto checkpoint =
      torch_testing::checkpoint_of(storage({.type = "HalfStorage", .elements = 8, .module = "torch.cuda"}));
  EXPECT_EQ(checkpoint.storages[0].dtype, DType::float16);
}

TEST(StorageIds, MayNameUntypedStorages) {
  const auto checkpoint =
      torch_testing::checkpoint_of(storage({.type = "UntypedStorage", .elements = 16, .module = "torch.storage"}));
  EXPECT_FALSE(checkpoint.storages[0].typed);
  EXPECT_EQ(checkpoint.storages[0].nbytes, 16U);
}

TEST(StorageIds, NameOneStorageAsOftenAsTheyLike) {
  const auto checkpoint = torch_testing::checkpoint_of(py::list({storage(), storage()}));
  EXPECT_EQ(checkpoint.storages.size(), 1U);
  EXPECT_EQ(checkpoint.storage_uses.size(), 2U);
}

TEST(StorageIds, OfOneStorageAgreeOnItsDtypeAndSize) {
  EXPECT_EQ(
      refused(py::list({storage(), storage({.type = "IntStorage"})})),
      "test.pt: storage '0' is named once as 16 bytes of float32 and once as 4 elements of int32, expected one size "
      "and one dtype a storage");
  EXPECT_NE(refused(py::list({storage(), storage({.elements = 3})})), "read");
}

TEST(StorageIds, HaveFiveOrSixParts) {
  EXPECT_EQ(refused(id({text, type, key, cpu, four, py::none()})), "read");
  EXPECT_EQ(refused(id({text, type, key, cpu})), "test.pt: a storage's persistent id has 4 parts, expected 5 or 6");
  EXPECT_NE(refused(id({text, type, key, cpu, four, py::none(), py::none()})), "read");
}

TEST(StorageIds, WithAWrongPartAreRefused) {
  EXPECT_NE(refused(id({text, py::str("FloatStorage"), key, cpu, four})), "read");
  EXPECT_NE(refused(id({text, type, py::none(), cpu, four})), "read");
  EXPECT_NE(refused(id({text, type, key, py::list({}), four})), "read");
  EXPECT_NE(refused(id({text, type, key, cpu, py::integer(-1)})), "read");
  EXPECT_NE(refused(id({text, type, key, cpu, py::real(4)})), "read");
  EXPECT_NE(refused(id({text, type, key, cpu, four, py::integer(1)})), "read");
}

TEST(StorageIds, OfAnUnknownClassAreUnsupportedByName) {
  EXPECT_EQ(refused(storage({.type = "Storage", .module = "zoo"})),
            "test.pt: storage class 'zoo.Storage', expected a storage class of torch");
}

TEST(StorageIds, WhoseBytesOverflowAreRefused) {
  EXPECT_NE(refused(storage({.type = "DoubleStorage", .elements = INT64_MAX})), "read");
}

TEST(StorageIds, OfTheOldestFilesHaveNumbersForKeys) {
  EXPECT_EQ(refused(id({text, type, py::integer(0), cpu, four})), "read");
}

TEST(StorageViews, HaveTheirOwnKeyAndRange) {
  const auto code = tensor(legacy_storage({}, view("7", 1, 2)), {2}, {1});
  const auto checkpoint = torch_testing::read_bytes(bytes_of(LegacyFile{.object = code}));
  const StorageUse use = checkpoint.storage_uses.begin()->second;
  ASSERT_TRUE(use.view);
  EXPECT_EQ(use.view->key, "7");
  EXPECT_EQ(use.view->offset, 1U);
  EXPECT_EQ(use.view->size, 2U);
}

TEST(StorageIds, ThatSomethingElseHoldsAreEditedInACopy) {
  const auto id_tuple = py::put(py::tuple({text, type, key, cpu, four}), 1);
  auto checkpoint = torch_testing::checkpoint_of(py::list({py::persistent(id_tuple), py::get(1)}));
  checkpoint.storages[0].location = "cuda:1";
  const auto back = torch_testing::read_bytes(torch_testing::written(checkpoint));
  EXPECT_EQ(back.storages[0].location, "cuda:1");
  const ValueGraph& graph = back.values;
  const auto held = graph.items(graph.effect(graph.first_effect(back.root)))[1];
  EXPECT_EQ(graph.text(graph.items(held)[3]), "cpu");
}

std::string refused_view(const py::Code& first, const py::Code& second = legacy_storage()) {
  const auto error = refusal(bytes_of(LegacyFile{.object = py::list({first, second})}));
  return error ? error->what() : "read";
}

TEST(StorageViews, LieWithinTheirStorage) {
  EXPECT_EQ(refused_view(legacy_storage({}, view("7", 2, 2))), "read");
  EXPECT_EQ(refused_view(legacy_storage({}, view("7", 3, 2))),
            "test.pt: a storage's persistent id has a view of [3, +2), expected a range within 4 elements");
  EXPECT_NE(refused_view(legacy_storage({}, view("7", INT64_MAX, INT64_MAX))), "read");
  EXPECT_NE(refused_view(legacy_storage({}, view("7", -1, 2))), "read");
}

TEST(StorageViews, HaveAKeyOfTheirOwn) {
  const auto one = legacy_storage({}, view("7", 0, 2));
  EXPECT_EQ(refused_view(one, one), "read");
  EXPECT_EQ(refused_view(one, legacy_storage({}, view("7", 2, 2))),
            "test.pt: a storage's persistent id has the key '7' for two views, expected one range a key");
  EXPECT_EQ(refused_view(legacy_storage({}, view("0", 0, 2))),
            "test.pt: a storage's persistent id has the key '0' for a storage and for a view, expected two keys");
}

TEST(StorageViews, AreNotInZipFiles) {
  EXPECT_NE(refused(tensor(legacy_storage({}, view("7", 1, 2)), {2}, {1})), "read");
}

// --- The text that protocol 0 has for a persistent id.

std::optional<std::string> parsed(std::string_view id) {
  ValueGraph values;
  const auto tuple = torch::parse_text_id(values, id);
  if (!tuple) return std::nullopt;
  const auto storage = torch::decode_storage_id(values, *tuple);
  if (!storage) return "no storage";
  return storage->key + " " + storage->location + " " + std::to_string(storage->nbytes) +
         (storage->view ? " view " + storage->view->key + " " + std::to_string(storage->view->offset) : "");
}

TEST(TextIds, SayWhatTheTupleSays) {
  EXPECT_EQ(parsed("('storage', <class 'torch.FloatStorage'>, '12', 'cuda:0', 4)"), "12 cuda:0 16");
  EXPECT_EQ(parsed("('storage', <class 'torch.storage.UntypedStorage'>, '0', 'cpu', 4)"), "0 cpu 4");
  EXPECT_EQ(parsed("('storage', <class 'torch.FloatStorage'>, '12', 'cpu', 4, None)"), "12 cpu 16");
  EXPECT_EQ(parsed("('storage', <class 'torch.FloatStorage'>, '12', 'cpu', 4, ('13', 1, 2))"), "12 cpu 16 view 13 1");
}

TEST(TextIds, CutAnywhereAreNotTaken) {
  const std::string whole = "('storage', <class 'torch.FloatStorage'>, '12', 'cpu', 4, ('13', 1, 2))";
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(parsed(whole.substr(0, i)), std::nullopt) << i;
  EXPECT_EQ(parsed(whole + " "), std::nullopt);
}

TEST(TextIds, OfOtherTextsAreNotTaken) {
  for (const char* id : {"", "(", "()", "storage", "('a', 'b')", "('storage', <class 'x'>, '0', 'cpu', 4)",
                         "('storage', <class 'torch.FloatStorage'>, '0', 'cpu', four)",
                         "('storage', <class 'torch.FloatStorage'>, '0', 'cpu', 99999999999999999999)",
                         "('a', 'b', 'c', 'd', 'e', 'f', 'g')", "(1 2 3 4 5)"})
    EXPECT_EQ(parsed(id), std::nullopt) << id;
}

/// A text names classes without the pickle's importing them, so that nothing but a storage may stand in one.
TEST(TextIds, OfAnythingButAStorageAreRefused) {
  const auto error = refusal(bytes_of(LegacyFile{.object = "P('module', <class 'os.system'>, 'a', 'b', 5)\n"}));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsupported);
}

}  // namespace
}  // namespace ckpt
