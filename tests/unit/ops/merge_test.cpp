#include "ckpt/merge.h"

#include <gtest/gtest.h>

#include "ckpt/assemble.h"
#include "ckpt/error.h"
#include "ckpt/extract.h"
#include "ckpt/formats.h"
#include "ckpt/state_dict.h"
#include "formats/torch_files.h"
#include "pickle/opcodes.h"

namespace ckpt {
namespace {

TensorSource source(const std::string& name, std::size_t elements) {
  return {.name = name,
          .dtype = DType::float32,
          .shape = {static_cast<std::int64_t>(elements)},
          .bytes = memory_source(std::vector<std::byte>(4 * elements), name)};
}

std::string names(const Checkpoint& checkpoint) {
  std::string out;
  for (const NamedTensor& named : tensor_names(checkpoint)) out += named.name + " ";
  return out;
}

TEST(Merge, HasTheEntriesOfAllInOrder) {
  const Checkpoint merged = merge({assemble({source("b", 1), source("a", 2)}), assemble({source("c", 3)})});
  EXPECT_EQ(names(merged), "b a c ");
  EXPECT_EQ(merged.storages.size(), 3U);
  EXPECT_EQ(merged.storages[2].nbytes, 12U);
}

TEST(Merge, KeepsWhatTensorsShare) {
  TensorSource a = source("a", 1), b = a;
  b.name = "b";
  EXPECT_EQ(merge({assemble({source("c", 1)}), assemble({a, b})}).storages.size(), 2U);
}

TEST(Merge, GivesEachStorageAKeyOfItsOwn) {
  const Checkpoint merged = merge({assemble({source("a", 1)}), assemble({source("b", 1)})});
  EXPECT_NE(merged.storages[0].key, merged.storages[1].key);
}

TEST(Merge, JoinsWhatModulesSay) {
  const Checkpoint merged = merge({assemble_state_dict({source("a.w", 1)}, {{"", 1}, {"a", 1}}),
                                   assemble_state_dict({source("b.w", 1)}, {{"", 1}, {"b", 2}})});
  const ValueId metadata = state_dict_metadata(merged.values, merged.root);
  ASSERT_NE(metadata, no_value);
  std::string modules;
  for (const MappingEntry& entry : mapping_entries(merged.values, metadata))
    modules += "'" + std::string(merged.values.text(entry.key)) + "' ";
  EXPECT_EQ(modules, "'' 'a' 'b' ");
}

TEST(Merge, TakesNothingThatWasMovedFrom) {
  Checkpoint moved = assemble({source("a", 1)});
  const Checkpoint taken = std::move(moved);
  // NOLINTNEXTLINE(bugprone-use-after-move): that is what is tested
  const auto error = io_testing::error_of([&] { merge({taken, moved}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
}

TEST(Merge, TellsInWhichFileANameIsMet) {
  Checkpoint first = assemble({source("a", 1)}), second = assemble({source("b", 1)});
  first.file = "first.pt", second.file = "second.pt";
  second.globals.push_back({"os", "system", Verdict::dangerous, 7});
  const auto error = io_testing::error_of([&] {
    io_testing::MemorySink sink;
    write(merge({first, second}), sink, {});
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsafe);
  EXPECT_EQ(error->file(), "second.pt");
}

TEST(Merge, RefusesANameThatTwoHave) {
  Checkpoint first = assemble({source("a", 1)}), second = first;
  first.file = "first.pt", second.file = "second.pt";
  try {
    merge({first, second});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("'a' is in first.pt and in second.pt"), std::string::npos);
  }
}

TEST(Merge, TellsOfTextsThatDiffer) {
  Checkpoint first = assemble({source("a", 1)}), second = assemble({source("b", 1)});
  first.metadata = {{"by", "x"}, {"same", "s"}};
  second.metadata = {{"by", "y"}, {"same", "s"}, {"new", "n"}};
  const Checkpoint merged = merge({first, second});
  EXPECT_EQ(merged.metadata.size(), 3U);
  EXPECT_EQ(merged.warnings.size(), 1U);
}

TEST(Merge, KeepsDroppedCallsThatTouchWhatItTakes) {
  const auto call = py::call(py::global("mylab", "fill"), {py::put(torch_testing::weight(), 7)});
  const Checkpoint filled = torch_testing::checkpoint_of(call + std::string(1, static_cast<char>(pickle::POP)) +
                                                         py::dict({{py::str("w"), py::get(7)}}));
  ASSERT_EQ(filled.discarded.size(), 1U);
  const Checkpoint merged = merge({assemble({source("a", 1)}), filled, assemble({source("b", 1)})});
  EXPECT_EQ(merged.discarded.size(), 1U);
  EXPECT_EQ(names(merged), "a w b ");
}

/// A file that says the same in protocol 4, whose names are Python 3's and may have dots.
TEST(Merge, HasTheLatestProtocolOfAllAndItsNames) {
  const auto state = [](const char* name, const py::Code& extra) {
    return py::dict({{py::str(name), torch_testing::weight()}, {py::str("_extra_state"), py::call(extra, {})}});
  };
  const Checkpoint old = torch_testing::checkpoint_of(
      py::dict({{py::str("a"), torch_testing::weight()},
                {py::str("a._extra_state"), py::call(py::global("__builtin__", "set"), {})}}));
  Checkpoint late = torch_testing::checkpoint_of(state("b", py::global("lab", "Outer.Inner")));
  late.protocol = 4;
  for (const auto& parts : {std::vector{old, late}, std::vector{late, old}}) {
    const Checkpoint merged = merge(parts);
    EXPECT_EQ(merged.protocol, 4);
    const Checkpoint back = torch_testing::read_bytes(torch_testing::written_as(merged, "torch"));
    EXPECT_EQ(back.protocol, 4);
    std::string globals;
    for (const GlobalUse& global : back.globals)
      if (global.module != "torch._utils" && global.module != "torch" && global.module != "collections")
        globals += global.module + " " + global.name + ", ";
    EXPECT_NE(globals.find("builtins set"), std::string::npos) << globals;
    EXPECT_NE(globals.find("lab Outer.Inner"), std::string::npos) << globals;
  }
  EXPECT_EQ(merge({old}).protocol, 2);
}

TEST(Merge, OfNothingIsRefused) { EXPECT_THROW(merge({}), Error); }

TEST(Extract, LeavesOneTensorWithItsOwnBytes) {
  TensorSource part = source("part", 10);
  part.shape = {2}, part.stride = {1}, part.offset = 3;
  const Checkpoint alone = extract(assemble({source("other", 1), part}), "part");
  EXPECT_EQ(names(alone), " ");
  EXPECT_EQ(alone.storages.at(0).nbytes, 8U);
}

TEST(Extract, KeepsTheNameWhereAsked) {
  EXPECT_EQ(names(extract(assemble({source("a.b", 1), source("c", 1)}), "a.b", true)), "a.b ");
}

TEST(Extract, RefusesANameThatIsNotThere) { EXPECT_THROW(extract(assemble({source("a", 1)}), "b"), Error); }

}  // namespace
}  // namespace ckpt
