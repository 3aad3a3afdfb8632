#include "dcp/dcp.h"

#include <gtest/gtest.h>

#include "ckpt/diff.h"
#include "ckpt/folder_sink.h"
#include "ckpt/ops.h"
#include "ckpt/state_dict.h"
#include "formats/dcp_files.h"
#include "model/calls.h"
#include "ops/tensor_bytes.h"

namespace ckpt {
namespace {

using dcp_testing::Folder;
using dcp_testing::Shape;
using io_testing::error_of;
using io_testing::has;
using io_testing::put_file;
using torch_testing::names;
using torch_testing::values;

std::string refusal(const Folder& folder) {
  const auto error = error_of([&] { torch_testing::read_storages(load(folder.path())); });
  return error ? error->what() : "";
}

std::vector<std::string> faults(const Folder& folder) {
  std::vector<std::string> found;
  for (const Finding& finding : verify(open_checkpoint(folder.path())))
    if (finding.fault) found.push_back(finding.what);
  return found;
}

/// Two shards of rows in two files.
Folder two_ranks() { return {{3, 2}, {{{0, 0}, {2, 2}, {0, 1, 2, 3}}, {{2, 0}, {1, 2}, {4, 5}, "__1_0.distcp"}}}; }

TEST(Dcp, ShardsOfSeveralFilesAreOneTensor) {
  const Folder folder = two_ranks();
  const Checkpoint read = load(folder.path());
  EXPECT_EQ(read.format, "dcp");
  EXPECT_EQ(names(read), std::vector<std::string>{"w"});
  EXPECT_EQ(values(read, 0), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_TRUE(faults(folder).empty());
}

TEST(Dcp, TheMetadataFileStandsForItsFolder) {
  const Folder folder = two_ranks();
  EXPECT_EQ(names(load(folder / ".metadata")), std::vector<std::string>{"w"});
}

TEST(Dcp, WhatTrainersKeepBesideIsNamed) {
  const Folder folder = two_ranks();
  put_file(folder / "meta.pt", "");
  const std::vector<std::string> warnings = load(folder.path()).warnings;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(has(warnings[0], "meta.pt")) << warnings[0];
}

/// Megatron's, which derives from torch's.
TEST(Dcp, MetadataOfAnotherClassIsNamed) {
  const Folder folder = two_ranks();
  put_file(folder / ".metadata", py::pickle(py::call(py::global("megatron.core.x", "MCoreMetadata"), {})));
  EXPECT_TRUE(has(refusal(folder), "its .metadata is of another class than torch.distributed.checkpoint's"));
}

TEST(Dcp, AMissingFileIsNamedWithWhatItHolds) {
  const Folder folder = two_ranks();
  std::filesystem::remove(folder / "__1_0.distcp");
  EXPECT_TRUE(has(refusal(folder), "the file '__1_0.distcp' is missing, expected it beside .metadata: it has 'w'"));
  ASSERT_EQ(faults(folder).size(), 1u);
  EXPECT_TRUE(has(faults(folder)[0], "'__1_0.distcp' is missing"));
}

TEST(Dcp, AFileThatIsCutIsNamed) {
  const Folder folder = two_ranks();
  std::filesystem::resize_file(folder / "__1_0.distcp", 100);
  EXPECT_TRUE(has(refusal(folder), "__1_0.distcp: 'w' has "));
  EXPECT_EQ(faults(folder).size(), 1u);
}

TEST(Dcp, AFlippedBitOfAChunkIsFoundByWhoReadsTheWholeTensor) {
  const Folder folder = two_ranks();
  std::string bytes = io_testing::text_of(folder / "__1_0.distcp");
  const std::string five("\0\0\xa0\x40", 4);  // 5.0
  bytes[bytes.find(five)] ^= 1;
  put_file(folder / "__1_0.distcp", bytes);
  EXPECT_NO_THROW((void)load(folder.path()));
  EXPECT_TRUE(has(refusal(folder), "CRC"));
  EXPECT_EQ(faults(folder).size(), 1u);
}

TEST(Dcp, FilesThatNothingNamesAreRemarkedOn) {
  const Folder folder = two_ranks();
  put_file(folder / "__7_0.distcp", "");
  put_file(folder / "notes.txt", "");
  const std::vector<std::string> warnings = load(folder.path()).warnings;
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(has(warnings[0], "'__7_0.distcp'"));
}

TEST(Dcp, PathsMakeDictsAndLists) {
  const std::string tensor = dcp_testing::saved({1, 2}, {2}), value = dcp_testing::saved_value(py::integer(7));
  const auto size = [](const std::string& item) { return static_cast<std::int64_t>(item.size()); };
  const py::Code origin = py::call(py::global("torch", "Size"), {py::tuple({py::integer(0)})});
  const Folder folder(
      dcp_testing::metadata(
          {{py::str("m.l.1"), dcp_testing::tensor({2}, {dcp_testing::chunk({0}, {2})})},
           {py::str("m.step"), dcp_testing::value()}},
          {{dcp_testing::index("m.l.1", origin), dcp_testing::place({.length = size(tensor)})},
           {dcp_testing::index("m.step"), dcp_testing::place({.offset = size(tensor), .length = size(value)})}},
          py::dict({{py::str("m.l.1"), py::tuple({py::str("m"), py::str("l"), py::integer(1)})},
                    {py::str("m.step"), py::tuple({py::str("m"), py::str("step")})}})),
      tensor + value);
  const Checkpoint read = load(folder.path());
  EXPECT_EQ(names(read), std::vector<std::string>{"m.l.1"});
  const auto entries = mapping_entries(read.values, mapping_entries(read.values, read.root).at(0).value);
  ASSERT_EQ(entries.size(), 2u);
  const ValueId list = entries[0].value;
  ASSERT_EQ(read.values.kind(list), ValueKind::list);
  std::vector<ValueKind> kinds;
  read.values.each_operand(list, [&](ValueId item) { kinds.push_back(read.values.kind(item)); });
  EXPECT_EQ(kinds, (std::vector<ValueKind>{ValueKind::none, ValueKind::object}));
  EXPECT_EQ(read.values.integer(entries[1].value), 7);
  ASSERT_EQ(read.warnings.size(), 1u) << "of the hole before what is second in the list";
  EXPECT_TRUE(has(read.warnings[0], "1 place in lists, for which .metadata names nothing, is read as None"));
}

/// Names and places that lie: what reading says of a folder with an item that is sound.
std::string lying(const py::Code& entry, const py::Code& place, const py::Code& paths = py::none()) {
  const std::string item = dcp_testing::saved({1, 2}, {2});
  const py::Code origin = py::call(py::global("torch", "Size"), {py::tuple({py::integer(0)})});
  const Folder folder(dcp_testing::metadata({{py::str("w"), entry}}, {{dcp_testing::index("w", origin), place}}, paths),
                      item);
  return refusal(folder);
}
const py::Code honest = dcp_testing::tensor({2}, {dcp_testing::chunk({0}, {2})});
py::Code whole() {
  return dcp_testing::place({.length = static_cast<std::int64_t>(dcp_testing::saved({1, 2}, {2}).size())});
}

TEST(Dcp, TheHonestControlReads) { EXPECT_EQ(lying(honest, whole()), ""); }

TEST(Dcp, NoFileOutsideTheFolderIsOpened) {
  for (const std::string file : {"../__0_0.distcp", "/etc/passwd", "a/../../b", ""})
    EXPECT_TRUE(has(lying(honest, dcp_testing::place({.file = file, .length = 10})), "as a part of itself")) << file;
}

TEST(Dcp, PlacesThatOverflowAreRefused) {
  EXPECT_TRUE(has(lying(honest, dcp_testing::place({.offset = INT64_MAX, .length = INT64_MAX})), "bytes from byte"));
  EXPECT_TRUE(has(lying(honest, dcp_testing::place({.offset = -1, .length = 10})), "a bad 'offset'"));
}

TEST(Dcp, AChunkOfAnotherShapeOrDtypeThanItsItemIsRefused) {
  EXPECT_TRUE(has(lying(dcp_testing::tensor({3}, {dcp_testing::chunk({0}, {3})}), whole()),
                  "a chunk is float32 of shape [2], expected float32 of shape [3]"));
  EXPECT_TRUE(has(lying(dcp_testing::tensor({2}, {dcp_testing::chunk({0}, {2})}, "int32"), whole()), "expected int32"));
}

TEST(Dcp, AShapeThatOverflowsIsRefused) {
  const Shape huge{INT64_MAX, INT64_MAX};
  EXPECT_NE(lying(dcp_testing::tensor(huge, {dcp_testing::chunk({0, 0}, huge)}), whole()), "");
}

TEST(Dcp, AnItemThatNothingPlacesIsRefused) {
  EXPECT_TRUE(has(lying(dcp_testing::value(), whole()), "does not say where the value lies"));
}

TEST(Dcp, QuantisedAndSparseTensorsAreUnsupportedByName) {
  EXPECT_TRUE(has(lying(dcp_testing::tensor({2}, {dcp_testing::chunk({0}, {2})}, "qint8"), whole()), "quantised"));
}

TEST(Dcp, TransformedItemsAreUnsupportedByName) {
  const py::Code place = dcp_testing::object("_StorageInfo",
                                             {{py::str("relative_path"), py::str("__0_0.distcp")},
                                              {py::str("offset"), py::integer(0)},
                                              {py::str("length"), py::integer(10)},
                                              {py::str("transform_descriptors"), py::list({py::str("stream.zstd/1")})}},
                                             "torch.distributed.checkpoint.filesystem");
  EXPECT_TRUE(has(lying(honest, place), "transformed by extensions (stream.zstd/1)"));
}

TEST(Dcp, PathsThatCannotBeAreRefused) {
  const auto at = [&](const py::Code& path) { return lying(honest, whole(), py::dict({{py::str("w"), path}})); };
  EXPECT_TRUE(has(at(py::tuple({})), "its path is empty"));
  EXPECT_TRUE(has(at(py::tuple({py::integer(0)})), "another kind of container"));
  EXPECT_TRUE(has(at(py::tuple({py::str("a"), py::integer(-1)})), "neither a string nor a position"));
  EXPECT_TRUE(has(at(py::tuple({py::str("a"), py::integer(INT64_MAX)})), "steps"));
  EXPECT_TRUE(has(at(py::integer(3)), "no tuple"));
}

TEST(Dcp, ItemsThatShareBytesAreRefused) {
  const std::string item = dcp_testing::saved({1, 2}, {2});
  const py::Code origin = py::call(py::global("torch", "Size"), {py::tuple({py::integer(0)})});
  const Folder folder(
      dcp_testing::metadata({{py::str("a"), honest}, {py::str("b"), honest}},
                            {{dcp_testing::index("a", origin), whole()}, {dcp_testing::index("b", origin), whole()}}),
      item);
  EXPECT_TRUE(has(refusal(folder), "'b' begins within what holds another item"));
}

TEST(Dcp, NamesThatRunCodeAreShownFromMetadataAndFromItems) {
  const std::string item = dcp_testing::saved_value(py::call(py::global("posix", "system"), {py::str("true")}));
  std::string text = dcp_testing::metadata(
      {{py::str("v"), dcp_testing::value()}},
      {{dcp_testing::index("v"), dcp_testing::place({.length = static_cast<std::int64_t>(item.size())})}},
      py::call(py::global("builtins", "eval"), {py::str("1")}));
  const Folder folder(text, item);
  const Checkpoint read = load(folder.path());
  std::vector<std::string> dangerous;
  for (const GlobalUse& global : read.globals)
    if (global.verdict == Verdict::dangerous) dangerous.push_back(global.module + "." + global.name);
  EXPECT_EQ(dangerous, (std::vector<std::string>{"builtins.eval", "posix.system"}));
  const io_testing::TemporaryFolder out;
  const auto error = error_of([&] { save(read, out / "x.pt", {{.format = "torch"}}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsafe);
}

TEST(Dcp, GetattrIsKnownForMemoryFormatsAlone) {
  const std::string module = "torch.distributed.checkpoint.metadata";
  const auto verdict = [&](const py::Code& from) {
    const py::Code fetch = py::call(py::global("builtins", "getattr"), {from, py::str("TORCH_CONTIGUOUS_FORMAT")});
    const Folder folder(dcp_testing::metadata({}, {}, fetch), "");
    for (const GlobalUse& global : load(folder.path()).globals)
      if (global.name == "getattr") return global.verdict;
    return Verdict::unknown;
  };
  EXPECT_EQ(verdict(py::global(module, "_MEM_FORMAT_ENCODING")), Verdict::known);
  EXPECT_EQ(verdict(py::global("os", "_MEM_FORMAT_ENCODING")), Verdict::dangerous);
  EXPECT_EQ(verdict(py::global(module, "Metadata")), Verdict::dangerous);
}

TEST(Dcp, MoreFilesThanMayBeOpenAreReadInAnyOrder) {
  std::vector<dcp_testing::Shard> shards;
  for (std::int64_t i = 0; i < 100; ++i)
    shards.push_back({{i}, {1}, {static_cast<float>(i)}, "__" + std::to_string(i) + "_0.distcp"});
  const Folder folder({100}, shards);
  const Checkpoint read = load(folder.path());
  std::vector<float> expected(100);
  for (std::size_t i = 0; i < 100; ++i) expected[i] = static_cast<float>(i);
  EXPECT_EQ(values(read, 0), expected);
  EXPECT_EQ(values(read, 0), expected);
}

/// Written as dcp, and read again.
Checkpoint written(const Checkpoint& checkpoint, std::vector<std::string>* left_out = nullptr) {
  const io_testing::TemporaryFolder out;
  const SaveReport report = save(checkpoint, out / "dcp", {{.format = "dcp"}, {}, {}, ReadBack::full});
  if (left_out != nullptr) *left_out = report.left_out;
  Checkpoint back = load(out / "dcp");
  for (Storage& storage : back.storages)
    storage.bytes = memory_source(read_all(*storage.bytes, UINT64_MAX), storage.bytes->name());
  return back;
}

TEST(DcpWriting, TensorsAndValuesComeBackInTheirPlaces) {
  const py::Code object =
      py::dict({{py::str("m"), py::ordered_dict({{py::str("w"), torch_testing::weight()}})},
                {py::str("l"), py::list({py::integer(1), py::dict({{py::str("a"), py::str("x")}})})},
                {py::str("t"), py::tuple({torch_testing::weight(), py::real(0.5)})}});
  const Checkpoint before = torch_testing::checkpoint_of(object);
  const Checkpoint after = written(before);
  EXPECT_EQ(names(after), names(before));
  EXPECT_EQ(digest(after).total, digest(before).total);
}

TEST(DcpWriting, ViewsAreWrittenAloneAndTold) {
  const auto view = [](const Shape& shape, const Shape& stride, std::int64_t offset) {
    return torch_testing::tensor(torch_testing::storage(), shape, stride, offset);
  };
  const Checkpoint before = torch_testing::checkpoint_of(py::dict({{py::str("part"), view({2}, {1}, 1)},
                                                                   {py::str("turned"), view({2, 2}, {1, 2}, 0)},
                                                                   {py::str("every other"), view({2}, {2}, 0)},
                                                                   {py::str("expanded"), view({3, 2}, {0, 1}, 2)}}));
  std::vector<std::string> left_out;
  const Checkpoint after = written(before, &left_out);
  EXPECT_EQ(digest(after).total, digest(before).total);
  EXPECT_EQ(after.storages.size(), 4u);
  ASSERT_FALSE(left_out.empty());
  EXPECT_TRUE(has(left_out[0], "'part' and 'turned'"));
}

std::string unsupported(const py::Code& object) {
  const io_testing::TemporaryFolder out;
  const auto error = error_of([&] { save(torch_testing::checkpoint_of(object), out / "dcp", {{.format = "dcp"}}); });
  EXPECT_TRUE(out.entries().empty());
  return error ? error->what() : "";
}

TEST(DcpWriting, WhatHasNoPlaceInAFlatDictIsRefused) {
  const py::Code w = torch_testing::weight();
  EXPECT_TRUE(has(unsupported(py::list({w})), "the object is no dict"));
  EXPECT_TRUE(has(unsupported(py::dict({{py::str("a.b"), w}, {py::str("a"), py::dict({{py::str("b"), w}})}})),
                  "two values would be called 'a.b'"));
  EXPECT_TRUE(has(unsupported(py::dict({{py::str("1"), w}, {py::integer(1), w}})), "two keys would be '1'"));
  EXPECT_TRUE(has(unsupported(py::dict({{py::py2_str("\xFFw"), w}})), "is not UTF-8"));
  EXPECT_TRUE(has(unsupported(py::dict({{py::tuple({py::py2_str("\xFF")}), w}})), "is not UTF-8"));
  for (const py::Code& hole : {py::dict({}), py::dict({{py::str("x"), py::dict({})}}), py::list({py::dict({})})})
    EXPECT_TRUE(has(unsupported(py::dict({{py::str("l"), py::list({w, hole})}})), "is an empty dict in a list"));
  const py::Code itself = py::put(py::dict({{py::str("w"), w}}), 0) + py::set_items({{py::str("me"), py::get(0)}});
  EXPECT_TRUE(has(unsupported(itself), "holds itself"));
}

TEST(DcpWriting, KeysThatAreNoStringsAndEmptyDictsAreTold) {
  std::vector<std::string> left_out;
  written(
      torch_testing::checkpoint_of(py::dict({{py::integer(3), torch_testing::weight()}, {py::str("e"), py::dict({})}})),
      &left_out);
  EXPECT_EQ(left_out,
            (std::vector<std::string>{"keys that are no strings become strings", "empty dicts are left out"}));
}

/// MultiStepLR's milestones are one.
TEST(DcpWriting, ACountersEntriesAreADicts) {
  const py::Code counter =
      py::call(py::global("collections", "Counter"), {py::dict({{py::integer(30), py::integer(1)}})});
  std::vector<std::string> left_out;
  const Checkpoint after = written(
      torch_testing::checkpoint_of(py::dict({{py::str("w"), torch_testing::weight()}, {py::str("m"), counter}})),
      &left_out);
  EXPECT_EQ(left_out, (std::vector<std::string>{"keys that are no strings become strings",
                                                "mappings of other types, such as OrderedDict, become dicts"}));
  const auto entries = mapping_entries(after.values, after.root);
  ASSERT_EQ(entries.size(), 2U);
  const auto counted = mapping_entries(after.values, entries[1].value);
  ASSERT_EQ(counted.size(), 1U);
  EXPECT_EQ(after.values.text(counted[0].key), "30");
  EXPECT_EQ(after.values.integer(counted[0].value), 1);
}

/// What a class's reduce gives as its sixth item is called with the object and its state, and its result dropped.
TEST(DcpWriting, CallsThatSetAnObjectsStateGoWithIt) {
  const auto with = [](std::int64_t width) {
    const py::Code object = py::put(py::call(py::global("lab", "Layer"), {}), 7);
    const py::Code setter =
        py::call(py::global("lab", "fill"), {py::get(7), py::dict({{py::str("width"), py::integer(width)}})});
    return torch_testing::checkpoint_of(
        object + "0" + setter + "0" +
        py::dict(
            {{py::str("w"), torch_testing::weight()}, {py::str("a"), py::get(7)}, {py::str("e"), py::integer(3)}}));
  };
  const Checkpoint before = with(1), after = written(before);
  EXPECT_EQ(before.discarded.size(), 1U);
  EXPECT_EQ(after.discarded.size(), 1U);
  EXPECT_TRUE(diff(before, after, {.ignore_devices = true}).other.empty());
  EXPECT_EQ(diff(with(2), after, {.ignore_devices = true}).other.size(), 1U);
}

/// Numpy's scalars of one dtype share that; a call that is given one of them has nothing to do with the others.
TEST(DcpWriting, CallsThatSetAnObjectsStateGoWithNothingElse) {
  const py::Code number = py::call(py::global("numpy.core.multiarray", "scalar"), {py::get(8), py::bytes("12345678")});
  const py::Code dtype = py::put(py::call(py::global("numpy", "dtype"), {py::str("f8")}), 8);
  const py::Code object = py::put(py::call(py::global("lab", "Layer"), {}), 7);
  const py::Code setter = py::call(py::global("lab", "fill"), {py::get(7), number});
  const Checkpoint after = written(torch_testing::checkpoint_of(
      dtype + "0" + object + "0" + setter + "0" +
      py::dict({{py::str("w"), torch_testing::weight()}, {py::str("a"), py::get(7)}, {py::str("n"), number}})));
  std::size_t calls = 0;
  for (ValueId id = 0; id < after.values.size(); ++id)
    calls += after.values.kind(id) == ValueKind::object && callable(after.values, id).second == "fill" ? 1U : 0U;
  EXPECT_EQ(calls, 1U);
}

}  // namespace
}  // namespace ckpt
