#include <gtest/gtest.h>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "ckpt/modules.h"
#include "ckpt/state_dict.h"
#include "formats/torch_files.h"

namespace ckpt {
namespace {

using Paths = std::vector<std::string>;
using torch_testing::checkpoint_of;
using torch_testing::weight;

Paths paths(const py::Code& code) {
  Paths found;
  for (const StateDict& dict : find_state_dicts(checkpoint_of(code))) found.push_back(dict.path);
  return found;
}

py::Code weights(const std::string& key = "w") { return py::dict({{py::str(key), weight()}}); }

TEST(StateDicts, OneMayBeTheRoot) { EXPECT_EQ(paths(weights()), (Paths{""})); }

TEST(StateDicts, AreFoundInMappingsListsAndTuplesInOrder) {
  const auto code = py::dict({{py::str("epoch"), py::integer(3)},
                              {py::str("z"), weights()},
                              {py::str("nets"), py::list({py::none(), weights(), py::tuple({weights()})})},
                              {py::integer(7), py::ordered_dict({{py::str("w"), weight()}})}});
  EXPECT_EQ(paths(code), (Paths{"z", "nets.1", "nets.2.0", "7"}));
}

TEST(StateDicts, APathMayBeginInAListAtTheRoot) { EXPECT_EQ(paths(py::list({weights()})), (Paths{"0"})); }

TEST(StateDicts, OneHeldTwiceIsFoundUnderBothPaths) {
  EXPECT_EQ(paths(py::dict({{py::str("a"), py::put(weights(), 9)}, {py::str("b"), py::get(9)}})), (Paths{"a", "b"}));
  const auto outer = py::dict({{py::str("x"), weights()}, {py::integer(1), py::list({weights()})}});
  EXPECT_EQ(paths(py::dict({{py::str("a"), py::put(outer, 9)}, {py::str("z"), weights()}, {py::str("b"), py::get(9)}})),
            (Paths{"a.x", "a.1.0", "z", "b.x", "b.1.0"}));
}

TEST(StateDicts, OneAmongOtherValuesIsMixedUnderBothPaths) {
  const auto mixed = py::dict({{py::str("fc.weight"), weight()}, {py::str("epoch"), py::integer(1)}});
  const Parts parts =
      find_parts(checkpoint_of(py::dict({{py::str("a"), py::put(mixed, 9)}, {py::str("b"), py::get(9)}})));
  ASSERT_EQ(parts.mixed.size(), 2U);
  EXPECT_EQ(parts.mixed[1].path, "b");
}

/// A list of it twice, and a list of that list twice, and so on.
py::Code doubled(const py::Code& code, int times) {
  py::Code all = py::put(code, 9);
  for (int i = 0; i < times; ++i) all = py::put(py::list({all, py::get(9)}), 9);
  return all;
}

/// {"model": {"pos_emb": tensor, "head": {"w": tensor}}}: the head alone is not the model.
TEST(FindParts, TakesTensorsWhereTrainersKeepAModelForItsOwn) {
  const auto nested =
      py::dict({{py::str("pos_emb"), weight()}, {py::str("head"), py::dict({{py::str("w"), weight()}})}});
  EXPECT_EQ(find_parts(checkpoint_of(py::dict({{py::str("model"), nested}}))).mixed.at(0).path, "model");
  EXPECT_TRUE(find_parts(checkpoint_of(py::dict({{py::str("other"), nested}}))).mixed.empty());
}

TEST(StateDicts, UnderMorePathsThanTensorsHaveNamesAreRefused) {
  EXPECT_EQ(paths(doubled(weights(), 3)).size(), 8U);
  const auto error = io_testing::error_of([] { paths(doubled(weights(), 64)); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::limit_exceeded);
}

TEST(StateDicts, AreNotLookedForAgainWhereNoTensorIs) {
  EXPECT_EQ(paths(doubled(py::list({py::none()}), 64)), Paths{});
}

TEST(OptimizerStates, AreFoundWithWhatTheyKeep) {
  const auto state = py::dict({{py::str("state"), py::dict({{py::integer(0), weights()}, {py::integer(1), weights()}})},
                               {py::str("param_groups"), py::list({py::dict({})})}});
  const auto found = find_optimizer_states(
      checkpoint_of(py::dict({{py::str("model"), weights()}, {py::str("optimizer_states"), py::list({state})}})));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].path, "optimizer_states.0");
  EXPECT_EQ(found[0].parameters, 2U);
  EXPECT_EQ(found[0].groups, 1U);
}

TEST(OptimizerStates, AreTheirEntriesAloneWhereAModelStandsBesideThem) {
  const auto code = py::dict({{py::str("state"), py::dict({{py::integer(0), weights("fc.weight")}})},
                              {py::str("param_groups"), py::list({weights("fc.weight")})},
                              {py::str("net"), weights("fc.weight")},
                              {py::str("epoch"), py::integer(3)}});
  EXPECT_EQ(paths(py::dict({{py::str("a"), py::put(code, 9)}, {py::str("b"), py::get(9)}})), (Paths{"a.net", "b.net"}));
  const auto found = find_optimizer_states(checkpoint_of(py::dict({{py::str("a"), code}})));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].path, "a");
  ASSERT_EQ(found[0].parts.size(), 2U);
  EXPECT_EQ(found[0].parts[0].path, "a.state");
  EXPECT_EQ(found[0].parts[1].path, "a.param_groups");
}

TEST(StateDicts, MayHoldNone) {
  EXPECT_EQ(paths(py::dict({{py::str("bias"), py::none()}, {py::str("w"), weight()}})), (Paths{""}));
}

TEST(StateDicts, MayHoldAnythingAsExtraState) {
  EXPECT_EQ(paths(py::dict({{py::str("w"), weight()}, {py::str("fc._extra_state"), py::list({py::integer(1)})}})),
            (Paths{""}));
}

TEST(StateDicts, HoldNothingElseUnderANameThatEndsSo) {
  const auto more = py::dict({{py::str("model"), weights()}});
  EXPECT_EQ(paths(py::dict({{py::str("a.w"), weight()}, {py::str("trainer_extra_state"), more}})),
            (Paths{"trainer_extra_state.model"}));
}

TEST(StateDicts, MayHoldWhatAQuantisedLayerPacks) {
  EXPECT_EQ(paths(py::dict({{py::str("fc.scale"), weight()},
                            {py::str("fc._packed_params.dtype"), py::global("torch", "qint8")},
                            {py::str("fc._packed_params._packed_params"), py::tuple({weight(), py::none()})}})),
            (Paths{""}));
}

TEST(StateDicts, HoldAtLeastOneTensor) {
  EXPECT_EQ(paths(py::dict({{py::str("bias"), py::none()}})), Paths{});
  EXPECT_EQ(paths(py::dict({})), Paths{});
}

TEST(StateDicts, HaveNoOtherValues) {
  EXPECT_EQ(paths(py::dict({{py::str("w"), weight()}, {py::str("epoch"), py::integer(1)}})), Paths{});
}

TEST(StateDicts, HaveStringsForKeys) {
  EXPECT_EQ(paths(py::dict({{py::str("w"), weight()}, {py::integer(1), weight()}})), Paths{});
  EXPECT_EQ(paths(py::dict({{py::py2_str("w"), weight()}})), (Paths{""}));
}

TEST(StateDicts, AreNotSearchedInOptimizers) {
  const auto optimizer = py::dict({{py::str("state"), py::dict({{py::integer(0), weights("exp_avg")}})},
                                   {py::str("param_groups"), py::list({weights()})}});
  EXPECT_EQ(paths(py::dict({{py::str("optimizer"), optimizer}, {py::str("model"), weights()}})), (Paths{"model"}));
}

TEST(StateDicts, ACycleEnds) {
  EXPECT_EQ(paths(py::put("}", 9) + "(" + py::str("me") + py::get(9) + py::str("model") + weights() + "u"),
            (Paths{"model"}));
}

ValueId metadata_of(const Checkpoint& checkpoint) { return state_dict_metadata(checkpoint.values, checkpoint.root); }

TEST(Metadata, IsTheAttributeOfThatName) {
  const auto checkpoint =
      checkpoint_of(py::build(py::ordered_dict({{py::str("w"), weight()}}),
                              py::dict({{py::str("_metadata"), py::ordered_dict({{py::str("fc"), py::dict({})}})}})));
  ASSERT_NE(metadata_of(checkpoint), no_value);
  EXPECT_EQ(checkpoint.values.text(mapping_entries(checkpoint.values, metadata_of(checkpoint))[0].key), "fc");
}

TEST(Metadata, MayBeMissingOrSomethingElse) {
  EXPECT_EQ(metadata_of(checkpoint_of(weights())), no_value);
  const auto state = [](const py::Code& value) {
    return py::build(py::ordered_dict({}), py::dict({{py::str("_metadata"), value}}));
  };
  EXPECT_EQ(metadata_of(checkpoint_of(state(py::integer(1)))), no_value);
  EXPECT_EQ(metadata_of(checkpoint_of(py::build(py::ordered_dict({}), py::none()))), no_value);
}

TEST(StateDicts, LongNamesSaidAgainAndAgainAreRefused) {
  const std::string name(limits::walked_name_bytes / 8, 'x');
  std::string code = "}" + py::put(py::str(name), 9) + "}";
  for (int i = 0; i < 8; ++i) code += py::get(9) + "}";
  const Checkpoint checkpoint = checkpoint_of(code + std::string(9, 's'));
  const auto error = io_testing::error_of([&] { static_cast<void>(find_state_dicts(checkpoint)); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::limit_exceeded);
  EXPECT_EQ(std::string(error->what()).find(checkpoint.file + ": "), 0U) << error->what();
}

}  // namespace
}  // namespace ckpt
