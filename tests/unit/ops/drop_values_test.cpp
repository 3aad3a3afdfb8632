#include <gtest/gtest.h>

#include "ckpt/state_dict.h"
#include "formats/torch_files.h"
#include "ops/drop_values.h"

namespace ckpt {
namespace {

using Names = std::vector<std::string>;
using torch_testing::checkpoint_of;
using torch_testing::weight;

/// Drops the tensors of these names.
Dropped dropped(const py::Code& code, const Names& names) {
  Checkpoint checkpoint = checkpoint_of(code);
  std::vector<bool> gone(checkpoint.values.size());
  for (const NamedTensor& named : tensor_names(checkpoint))
    for (const std::string& name : names)
      if (named.name == name) gone[named.tensor->value] = true;
  return drop_values(std::move(checkpoint), gone);
}

/// Read back, so that what is written counts.
Names names_left(const Dropped& dropped) {
  return torch_testing::names(torch_testing::read_bytes(torch_testing::written(dropped.checkpoint)));
}

std::size_t count(const std::vector<bool>& flags) {
  return static_cast<std::size_t>(std::count(flags.begin(), flags.end(), true));
}

TEST(DropValues, TakesEntriesOutOfMappings) {
  const auto code = py::dict({{py::str("a"), weight()}, {py::str("b"), weight()}});
  const Dropped result = dropped(code, {"a"});
  EXPECT_EQ(names_left(result), (Names{"b"}));
  EXPECT_EQ(count(result.replaced), 0U);
}

TEST(DropValues, BringsNoEarlierValueOfAKeyBack) {
  const auto code = py::dict({{py::str("a"), weight()}, {py::str("b"), weight()}, {py::str("a"), weight()}});
  EXPECT_EQ(names_left(dropped(code, {"a"})), (Names{"b"}));
  EXPECT_EQ(names_left(dropped(code, {"b"})), (Names{"a"}));
}

TEST(DropValues, PutsNoneIntoListsAndTuples) {
  const auto code = py::list({weight(), py::tuple({weight(), py::integer(1)}), weight()});
  const Dropped result = dropped(code, {"0", "1.0"});
  EXPECT_EQ(names_left(result), (Names{"2"}));
  EXPECT_EQ(count(result.replaced), 2U);
}

TEST(DropValues, DropsACallThatIsGivenWhatIsGone) {
  const auto parameter = py::call(py::global("torch._utils", "_rebuild_parameter"),
                                  {py::put(weight(), 9), py::boolean(true), py::ordered_dict({})});
  const auto code = py::dict({{py::str("p"), parameter}, {py::str("w"), weight()}, {py::str("same"), py::get(9)}});
  EXPECT_EQ(names_left(dropped(code, {"same"})), (Names{"w"}));
}

TEST(DropValues, DropsACallThatIsGivenItInATuple) {
  const auto call = py::call(py::global("m", "f"), {py::tuple({py::tuple({py::put(weight(), 9)})})});
  const auto code = py::dict({{py::str("c"), call}, {py::str("w"), weight()}, {py::str("same"), py::get(9)}});
  const Dropped result = dropped(code, {"same"});
  EXPECT_EQ(names_left(result), (Names{"w"}));
  EXPECT_EQ(mapping_entries(result.checkpoint.values, result.checkpoint.root).size(), 1U);
}

TEST(DropValues, DropsACallThatIsGivenItInADict) {
  const auto given = py::tuple({py::dict({{py::str("values"), py::put(weight(), 9)}})});
  const auto call = py::call(py::global("m", "f"), {given});
  const auto code = py::dict({{py::str("c"), call}, {py::str("w"), weight()}, {py::str("same"), py::get(9)}});
  EXPECT_EQ(names_left(dropped(code, {"same"})), (Names{"w"}));
}

TEST(DropValues, KeepsAParameterThatLosesAnAttribute) {
  const auto state = py::dict({{py::str("seen"), py::put(weight(), 9)}});
  const auto call = py::call(py::global("torch._utils", "_rebuild_parameter_with_state"),
                             {weight(), py::boolean(true), py::ordered_dict({}), state});
  const auto code = py::dict({{py::str("p"), call}, {py::str("same"), py::get(9)}});
  EXPECT_EQ(names_left(dropped(code, {"same"})), (Names{"p"}));
}

TEST(DropValues, DropsAnObjectWhoseStateLacksIt) {
  const auto made = [](const py::Code& state) { return py::call(py::global("m", "Class"), {}) + state + "b"; };
  const auto of = [&](const py::Code& state) {
    return py::dict({{py::str("object"), made(state)}, {py::str("w"), weight()}, {py::str("same"), py::get(9)}});
  };
  const auto state = py::tuple({py::integer(5), py::tuple({py::put(weight(), 9)})});
  const Dropped result = dropped(of(state), {"same"});
  EXPECT_EQ(names_left(result), (Names{"w"}));
  EXPECT_EQ(mapping_entries(result.checkpoint.values, result.checkpoint.root).size(), 1U);
  const Dropped bare = dropped(of(py::put(weight(), 9)), {"same"});
  EXPECT_EQ(mapping_entries(bare.checkpoint.values, bare.checkpoint.root).size(), 1U);
  const Dropped outer = dropped(of(py::tuple({made(state)})), {"same"});
  EXPECT_EQ(mapping_entries(outer.checkpoint.values, outer.checkpoint.root).size(), 1U);
  const Dropped attributes = dropped(of(py::dict({{py::str("a"), py::put(weight(), 9)}})), {"same"});
  EXPECT_EQ(mapping_entries(attributes.checkpoint.values, attributes.checkpoint.root).size(), 2U);
}

TEST(DropValues, SaysThatWhatLayInIsGoneToo) {
  const auto call = py::call(py::global("m", "f"), {py::tuple({weight(), weight()})});
  const auto code = py::dict({{py::str("c"), call}, {py::str("w"), weight()}});
  const Checkpoint before = checkpoint_of(code);
  const auto named = tensor_names(before);
  ASSERT_EQ(named.size(), 3U);
  const Dropped result = dropped(code, {named[0].name});
  EXPECT_EQ(names_left(result), (Names{"w"}));
  for (const NamedTensor& tensor : named)
    EXPECT_EQ(!result.names.contains(tensor.tensor->value), tensor.name != "w") << tensor.name;
}

TEST(DropValues, TellsOfNoneInATupleThatACallOnlySharedWithOthers) {
  const auto call = py::call(py::global("m", "f"), {py::put(py::tuple({weight(), py::integer(5)}), 9)});
  const auto one = py::dict({{py::str("c"), call}, {py::str("w"), weight()}});
  const auto shared = py::dict({{py::str("c"), call}, {py::str("b"), py::get(9)}, {py::str("w"), weight()}});
  const auto name = [](const py::Code& code) { return tensor_names(checkpoint_of(code)).front().name; };
  EXPECT_EQ(count(dropped(one, {name(one)}).replaced), 0U);
  EXPECT_EQ(count(dropped(shared, {name(shared)}).replaced), 1U);
}

/// All tensors but the one of that name; those that lie in no container have none.
std::vector<bool> all_but(const Checkpoint& checkpoint, const std::string& name) {
  std::vector<bool> gone(checkpoint.values.size());
  for (const Tensor& tensor : checkpoint.tensors) gone[tensor.value] = true;
  for (const NamedTensor& named : tensor_names(checkpoint))
    if (named.name == name) gone[named.tensor->value] = false;
  return gone;
}

TEST(DropValues, DropsAMappingThatIsMadeOfWhatIsGone) {
  const auto mapping = py::call(py::global("collections", "OrderedDict"), {weight()});
  Checkpoint checkpoint = checkpoint_of(py::dict({{py::str("w"), weight()}, {py::str("m"), mapping}}));
  ASSERT_EQ(checkpoint.tensors.size(), 2U);
  for (GlobalUse& global : checkpoint.globals) global.verdict = Verdict::known;  // for writing: no pickler does this
  const auto gone = all_but(checkpoint, "w");
  const Dropped result = drop_values(std::move(checkpoint), gone);
  EXPECT_EQ(names_left(result), (Names{"w"}));
  EXPECT_EQ(mapping_entries(result.checkpoint.values, result.checkpoint.root).size(), 1U);
}

TEST(DropValues, KeepsADefaultdictWhoseFactoryIsGone) {
  const auto mapping =
      py::call(py::global("collections", "defaultdict"), {weight()}) + py::set_items({{py::str("w"), weight()}});
  Checkpoint checkpoint = checkpoint_of(py::dict({{py::str("m"), mapping}}));
  ASSERT_EQ(checkpoint.tensors.size(), 2U);
  const auto gone = all_but(checkpoint, "m.w");
  EXPECT_EQ(names_left(drop_values(std::move(checkpoint), gone)), (Names{"m.w"}));
}

TEST(DropValues, LeavesNoRootThatIsMadeOfWhatIsGone) {
  Checkpoint checkpoint = checkpoint_of(py::call(py::global("m", "f"), {weight()}));
  const auto gone = all_but(checkpoint, "");
  const Dropped result = drop_values(std::move(checkpoint), gone);
  EXPECT_EQ(result.checkpoint.root, no_value);
  EXPECT_TRUE(result.names.empty());
}

TEST(DropValues, KeepsAnObjectWhoseAttributeIsGone) {
  const auto object = py::build(py::call(py::global("m", "C"), {}), py::list({weight(), weight()}));
  const auto code = py::dict({{py::str("o"), object}, {py::str("w"), weight()}});
  const auto before = torch_testing::names(checkpoint_of(code));
  const Dropped result = dropped(code, {before.front()});
  EXPECT_EQ(names_left(result).size(), before.size() - 1);
}

TEST(DropValues, PrunesWhatNothingHoldsAnyLonger) {
  const Dropped result = dropped(py::dict({{py::str("a"), weight()}, {py::str("n"), py::integer(1)}}), {"a"});
  EXPECT_TRUE(result.checkpoint.storages.empty());
  EXPECT_TRUE(result.checkpoint.globals.empty());
}

}  // namespace
}  // namespace ckpt
