#include <gtest/gtest.h>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "ckpt/ops.h"
#include "ckpt/state_dict.h"
#include "formats/torch_files.h"
#include "ops/entry_walk.h"

namespace ckpt {
namespace {

using Names = std::vector<std::string>;
using torch_testing::checkpoint_of;
using torch_testing::names;
using torch_testing::weight;

const Selection nothing{};

Selection keeping(const Names& globs) { return {.keep = globs, .drop = {}}; }
Selection dropping(const Names& globs) { return {.keep = {}, .drop = globs}; }

py::Code pairs_of(const Names& keys) {
  py::Pairs pairs;
  for (const std::string& key : keys) pairs.emplace_back(py::str(key), weight());
  return py::dict(pairs);
}

/// {"model": {"a", "b"}, "optimizer": {"state": {0: {"exp_avg"}}, "groups": [{"lr", "w"}]}, "epoch": 3}
py::Code trainer() {
  return py::dict({{py::str("model"), pairs_of({"a", "b"})},
                   {py::str("optimizer"),
                    py::dict({{py::str("state"), py::dict({{py::integer(0), pairs_of({"exp_avg"})}})},
                              {py::str("groups"),
                               py::list({py::dict({{py::str("lr"), py::real(0.1)}, {py::str("w"), weight()}})})}})},
                   {py::str("epoch"), py::integer(3)}});
}

Names keys_of(const Checkpoint& checkpoint, ValueId mapping) {
  Names keys;
  for (const MappingEntry& entry : mapping_entries(checkpoint.values, mapping))
    keys.emplace_back(checkpoint.values.text(entry.key));
  return keys;
}

Names keys_of(const Checkpoint& checkpoint) { return keys_of(checkpoint, checkpoint.root); }

Checkpoint selected(const py::Code& code, const Selection& selection) {
  return select(checkpoint_of(code), selection).first;
}

/// Read back, so that what is written counts.
Checkpoint rewritten(const Checkpoint& checkpoint) {
  return torch_testing::read_bytes(torch_testing::written(checkpoint));
}

std::string refusal_of(const py::Code& code, const Selection& selection) {
  const auto error = io_testing::error_of([&] { selected(code, selection); });
  if (!error) return "";
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  return error->what();
}

TEST(Keep, KeepsWhatMatchesAndTheMappingsOnTheWay) {
  const auto checkpoint = selected(trainer(), keeping({"model.a"}));
  EXPECT_EQ(names(checkpoint), (Names{"model.a"}));
  EXPECT_EQ(keys_of(checkpoint), (Names{"model"}));
}

TEST(Keep, KeepsAllBelowAnEntryThatMatches) {
  EXPECT_EQ(names(selected(trainer(), keeping({"optimizer"}))),
            (Names{"optimizer.state.0.exp_avg", "optimizer.groups.0.w"}));
}

TEST(Keep, TakesOtherValuesByNameToo) {
  EXPECT_EQ(keys_of(selected(trainer(), keeping({"epoch", "model.b"}))), (Names{"model", "epoch"}));
}

TEST(Keep, CrossesDots) {
  EXPECT_EQ(names(selected(trainer(), keeping({"*a*g"}))), (Names{"optimizer.state.0.exp_avg"}));
}

TEST(Keep, EmptiesMappingsInAListButKeepsItsElements) {
  const auto code = py::dict({{py::str("l"), py::list({pairs_of({"x", "y"}), weight(), pairs_of({"z"})})}});
  const auto checkpoint = selected(code, keeping({"l.0.y"}));
  EXPECT_EQ(names(checkpoint), (Names{"l.0.y", "l.1"}));
}

TEST(Keep, KeepsTheEntryAroundAnElementThatMatches) {
  const auto code = py::dict({{py::str("l"), py::tuple({weight(), weight()})}, {py::str("m"), weight()}});
  EXPECT_EQ(names(selected(code, keeping({"l.1"}))), (Names{"l.0", "l.1"}));
}

TEST(Keep, LeavesAStateDictsMetadata) {
  const auto metadata = py::ordered_dict({{py::str(""), py::dict({})}, {py::str("a"), py::dict({})}});
  const auto state = py::ordered_dict({{py::str("a.w"), weight()}, {py::str("b.w"), weight()}});
  const auto checkpoint = selected(py::build(state, py::dict({{py::str("_metadata"), metadata}})), keeping({"a*"}));
  EXPECT_EQ(keys_of(checkpoint), (Names{"a.w"}));
  EXPECT_EQ(keys_of(checkpoint, state_dict_metadata(checkpoint.values, checkpoint.root)), (Names{"", "a"}));
}

TEST(Keep, RefusesToLeaveNoTensor) {
  EXPECT_NE(refusal_of(trainer(), keeping({"epoch"})).find("--keep leaves no tensor"), std::string::npos);
  EXPECT_NE(refusal_of(trainer(), keeping({"nowhere"})), "");
}

TEST(Keep, OfASharedMappingIsByAnyOfItsNames) {
  const auto code = py::dict({{py::str("a"), py::put(pairs_of({"x", "y", "z"}), 9)}, {py::str("b"), py::get(9)}});
  EXPECT_EQ(names(selected(code, keeping({"a.x", "b.z"}))), (Names{"a.x", "a.z", "b.x", "b.z"}));
}

TEST(Drop, TakesEntriesAwayWithAllBelow) {
  const auto checkpoint = selected(trainer(), dropping({"optimizer", "*.b"}));
  EXPECT_EQ(names(checkpoint), (Names{"model.a"}));
  EXPECT_EQ(keys_of(checkpoint), (Names{"model", "epoch"}));
}

TEST(Drop, ComesAfterKeep) {
  EXPECT_EQ(names(selected(trainer(), {.keep = {"model"}, .drop = {"*.a"}})), (Names{"model.b"}));
}

TEST(Drop, TakesEntriesOfMappingsInLists) {
  EXPECT_EQ(names(selected(trainer(), dropping({"optimizer.groups.0.w", "model"}))),
            (Names{"optimizer.state.0.exp_avg"}));
}

TEST(Drop, NamesTheElementItCannotCut) {
  const auto list = refusal_of(py::dict({{py::str("l"), py::list({weight()})}}), dropping({"l.0"}));
  EXPECT_NE(list.find("'l.0' is an element of a list"), std::string::npos) << list;
  const auto object =
      py::build(py::call(py::global("argparse", "Namespace"), {}), py::dict({{py::str("lr"), weight()}}));
  const auto attribute = refusal_of(py::dict({{py::str("args"), object}}), dropping({"args.lr"}));
  EXPECT_NE(attribute.find("'args.lr' is an attribute of an object"), std::string::npos) << attribute;
}

TEST(Drop, DoesNotCareForElementsOfWhatGoesAnyway) {
  const auto code = py::dict({{py::str("l"), py::list({weight()})}, {py::str("m"), weight()}});
  EXPECT_EQ(names(selected(code, dropping({"l*"}))), (Names{"m"}));
}

TEST(Drop, RefusesToTakeOneOfTwoNames) {
  const auto code = py::dict({{py::str("a"), py::put(pairs_of({"x", "y"}), 9)}, {py::str("b"), py::get(9)}});
  EXPECT_NE(refusal_of(code, dropping({"b.x"})).find("'b.x' and 'a.x'"), std::string::npos);
  EXPECT_EQ(names(selected(code, dropping({"b"}))), (Names{"a.x", "a.y"}));
  EXPECT_EQ(names(selected(code, dropping({"*.x"}))), (Names{"a.y", "b.y"}));
}

TEST(Drop, TakesAKeySetTwiceInBothPlaces) {
  const auto checkpoint = selected(pairs_of({"a", "b", "a"}), dropping({"a"}));
  EXPECT_EQ(mapping_pairs(checkpoint.values, checkpoint.root).size(), 1U);
}

TEST(Drop, TakesThePairsOfPython2sOrderedDict) {
  const auto pairs = py::list({py::list({py::py2_str("a"), weight()}), py::list({py::py2_str("b"), weight()})});
  const auto checkpoint = selected(py::call(py::global("collections", "OrderedDict"), {pairs}), dropping({"a"}));
  EXPECT_EQ(names(rewritten(checkpoint)), (Names{"b"}));
}

TEST(Drop, TakesACountersEntries) {
  const auto counter = [](const py::Code& dict) { return py::call(py::global("collections", "Counter"), {dict}); };
  EXPECT_EQ(names(selected(py::dict({{py::str("c"), counter(pairs_of({"a", "b"}))}}), dropping({"c.a"}))),
            (Names{"c.b"}));
  const py::Code args = py::put(py::dict({{py::str("lr"), weight()}, {py::str("wd"), weight()}}), 7);
  const py::Code object = py::build(py::call(py::global("argparse", "Namespace"), {}), args);
  const py::Code both = py::dict({{py::str("c"), counter(py::dict({{py::str("o"), object}, {py::str("p"), weight()}}))},
                                  {py::str("args"), py::get(7)}});
  EXPECT_EQ(names(selected(both, dropping({"c.o", "args.lr"}))), (Names{"c.p", "args.wd"}));
  // One dict under two names.
  const py::Code shared =
      py::dict({{py::str("c"), counter(py::put(pairs_of({"a", "b"}), 7))}, {py::str("d"), py::get(7)}});
  EXPECT_TRUE(io_testing::error_of([&] { selected(shared, dropping({"c.a"})); }));
}

TEST(Drop, TakesPairsOfADictsSubclass) {
  const auto config =
      py::call(py::global("mylab", "Config"), {}) + py::set_items({{py::str("a"), weight()}, {py::str("b"), weight()}});
  EXPECT_EQ(names(selected(py::dict({{py::str("c"), config}}), dropping({"c.a"}))), (Names{"c.b"}));
}

TEST(Select, RefusesNamesThatMultiplyWithoutEnd) {
  py::Code code = weight();
  for (std::uint8_t level = 1; level < 60; ++level) code = py::list({py::put(code, level), py::get(level)});
  const auto checkpoint = checkpoint_of(py::dict({{py::str("w"), weight()}, {py::str("l"), code}}));
  const auto error = io_testing::error_of([&] { select(checkpoint, dropping({"x"})); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::limit_exceeded);
}

TEST(Select, SaysWhichGlobsMatchNothing) {
  const auto [checkpoint, report] =
      select(checkpoint_of(trainer()), {.keep = {"model*", "x"}, .drop = {"*.a", "model.a", "y"}});
  EXPECT_EQ(report.idle_keep, (Names{"x"}));
  EXPECT_EQ(report.idle_drop, (Names{"y"}));
}

TEST(Select, WithoutGlobsChangesNothing) {
  const auto checkpoint = checkpoint_of(trainer());
  EXPECT_EQ(torch_testing::written(select(checkpoint, nothing).first), torch_testing::written(checkpoint));
}

TEST(Select, LeavesTheInputAsItWas) {
  const auto checkpoint = checkpoint_of(trainer());
  const auto before = torch_testing::written(checkpoint);
  static_cast<void>(select(checkpoint, dropping({"model"})));
  EXPECT_EQ(torch_testing::written(checkpoint), before);
}

TEST(TakeRoot, MakesAValueTheObject) {
  EXPECT_EQ(names(take_root(checkpoint_of(trainer()), "optimizer.groups.0")), (Names{"w"}));
  const auto number = take_root(checkpoint_of(trainer()), "epoch");
  EXPECT_EQ(number.values.kind(number.root), ValueKind::integer);
  EXPECT_EQ(number.storages.size(), 0U);
  EXPECT_EQ(names(take_root(checkpoint_of(trainer()), "model.b")), (Names{""}));
}

TEST(TakeRoot, FindsKeysThatHoldDots) {
  const auto code = py::dict({{py::str("a"), py::dict({})}, {py::str("a.b"), pairs_of({"c"})}});
  EXPECT_EQ(names(take_root(checkpoint_of(code), "a.b")), (Names{"c"}));
  EXPECT_EQ(names(take_root(checkpoint_of(py::dict({{py::str(""), pairs_of({"c"})}})), ".c")), (Names{""}));
}

TEST(TakeRoot, TellsWhatAnUnusualStateDictLeavesBehind) {
  const py::Code w = torch_testing::weight();
  const auto warnings = [&](const py::Pairs& root) {
    return take_root(checkpoint_of(py::dict(root)), "auto").warnings;
  };
  const auto told = warnings({{py::str("cls"), w}, {py::str("head"), py::dict({{py::str("w"), w}})}});
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0], "the only state dict is at 'head', and is what is taken: 1 tensor is elsewhere, such as 'cls'");
  EXPECT_TRUE(warnings({{py::str("head"), py::dict({{py::str("w"), w}})}, {py::str("epoch"), py::integer(1)}}).empty());
}

TEST(TakeRoot, FindsTheStateDict) { EXPECT_EQ(names(take_root(checkpoint_of(trainer()), "auto")), (Names{"a", "b"})); }

TEST(TakeRoot, RefusesAPathThatLeadsNowhere) {
  for (const char* path : {"nope", "model.", "model.a.0", ".model"}) {
    const auto error = io_testing::error_of([&] { take_root(checkpoint_of(trainer()), path); });
    ASSERT_TRUE(error) << path;
    EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  }
}

// A mapping's keys are copied together, those that a later pair sets again too.
TEST(EntryWalk, LongNamesOfOneMappingAreRefusedBeforeAnyIsVisited) {
  const std::string name(limits::walked_name_bytes / 8, 'x');
  py::Code code = "}(" + py::put(py::str(name), 9) + py::none();
  for (int i = 0; i < 8; ++i) code += py::get(9) + py::none();
  const Checkpoint checkpoint = checkpoint_of(code + "u");
  std::size_t visited = 0;
  const auto error = io_testing::error_of([&] {
    EntryWalk(checkpoint).run([&](const EntryWalk::Place&) {
      ++visited;
      return false;
    });
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::limit_exceeded);
  EXPECT_EQ(visited, 0U);
}

}  // namespace
}  // namespace ckpt
