#include <gtest/gtest.h>

#include "ckpt/assemble.h"
#include "ckpt/error.h"
#include "ckpt/ops.h"
#include "formats/torch_files.h"

namespace ckpt {
namespace {

using Names = std::vector<std::string>;

Checkpoint state_dict(const Names& keys, const Names& modules = {}) {
  std::vector<TensorSource> tensors;
  for (const std::string& key : keys)
    tensors.push_back({.name = key,
                       .dtype = DType::float32,
                       .shape = {1},
                       .stride = {},
                       .bytes = memory_source(torch_testing::floats({1}), key)});
  std::vector<ModuleVersion> versions;
  for (const std::string& module : modules) versions.push_back({module, static_cast<std::int64_t>(module.size() + 1)});
  return assemble_state_dict(std::move(tensors), versions);
}

/// Read back, so that what is written counts.
Checkpoint renamed(Checkpoint checkpoint, const std::vector<RenameRule>& rules) {
  return torch_testing::read_bytes(torch_testing::written(rename(std::move(checkpoint), rules).first));
}

/// "name:version", in order.
Names modules_of(const Checkpoint& checkpoint) {
  Names modules;
  const ValueGraph& values = checkpoint.values;
  const ValueId metadata = state_dict_metadata(values, checkpoint.root);
  for (const MappingEntry& entry : mapping_entries(values, metadata))
    modules.push_back(std::string(values.text(entry.key)) + ":" +
                      std::to_string(values.integer(mapping_entries(values, entry.value)[0].value)));
  return modules;
}

TEST(Rename, ReplacesEveryMatchOfEachRuleInTurn) {
  const auto checkpoint =
      renamed(state_dict({"enc.0.w", "enc.1.w", "head.w"}), {{R"(^enc\.(\d+))", R"(blocks.\1.enc)"}, {"w$", "weight"}});
  EXPECT_EQ(torch_testing::names(checkpoint), (Names{"blocks.0.enc.weight", "blocks.1.enc.weight", "head.weight"}));
}

TEST(Rename, CountsAndNamesRulesThatMatchNothing) {
  const auto [checkpoint, report] = rename(state_dict({"a", "b"}), {{"^a$", "x"}, {"nowhere", "y"}});
  EXPECT_EQ(report.changed, 1U);
  EXPECT_EQ(report.unchanged, 1U);
  EXPECT_EQ(report.idle, std::vector<std::size_t>{1});
}

TEST(Rename, RefusesTwoKeysThatBecomeOne) {
  const auto error = io_testing::error_of([] { rename(state_dict({"a.w", "b.w"}), {{"^[ab]", "c"}}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  EXPECT_NE(std::string(error->what()).find("'a.w' and 'b.w' would both be named 'c.w'"), std::string::npos);
}

TEST(Rename, SwapsTwoNames) {
  const auto checkpoint = renamed(state_dict({"a", "b"}), {{"^a$", "tmp"}, {"^b$", "a"}, {"^tmp$", "b"}});
  EXPECT_EQ(torch_testing::names(checkpoint), (Names{"b", "a"}));
}

TEST(Rename, RefusesWhatIsNoExpression) {
  for (const RenameRule& rule : {RenameRule{"(", "x"}, RenameRule{"a", R"(\1)"}}) {
    const auto error = io_testing::error_of([&] { rename(state_dict({"a"}), {rule}); });
    ASSERT_TRUE(error) << rule.pattern;
    EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  }
}

TEST(Rename, NamesModulesAsTheirTensors) {
  const auto checkpoint =
      renamed(state_dict({"net.0.weight", "net.2.weight"}, {"", "net", "net.0", "net.1", "net.2"}), {{"^net", "body"}});
  EXPECT_EQ(modules_of(checkpoint), (Names{":1", "body:4", "body.0:6", "body.1:6", "body.2:6"}));
}

TEST(Rename, NamesNoModuleThatNoTensorCouldBeIn) {
  const auto checkpoint = renamed(state_dict({"bn.w"}, {"bn", "relu"}), {{"$", ".x"}});
  EXPECT_EQ(torch_testing::names(checkpoint), Names{"bn.w.x"});
  EXPECT_EQ(modules_of(checkpoint), (Names{"bn:3", "relu:5"}));
}

TEST(Rename, GivesAWrappersNameToWhatItWraps) {
  const auto checkpoint =
      renamed(state_dict({"module.fc.weight"}, {"", "module", "module.fc"}), {{R"(^module\.)", ""}});
  EXPECT_EQ(modules_of(checkpoint), (Names{":7", "fc:10"}));
}

py::Code optimizer() {
  return py::dict(
      {{py::str("state"), py::dict({{py::integer(0), py::dict({{py::str("m"), torch_testing::weight()}})}})},
       {py::str("param_groups"), py::list({})}});
}
py::Code model() { return py::dict({{py::str("w"), torch_testing::weight()}}); }

TEST(StripOptimizer, TakesTheKeyThatHoldsTheState) {
  const auto [checkpoint, report] = strip_optimizer(torch_testing::checkpoint_of(py::dict(
      {{py::str("model"), model()}, {py::str("optimizer"), optimizer()}, {py::str("epoch"), py::integer(3)}})));
  EXPECT_EQ(report.removed, (Names{"optimizer"}));
  EXPECT_EQ(mapping_entries(checkpoint.values, checkpoint.root).size(), 2U);
  EXPECT_EQ(torch_testing::names(checkpoint), (Names{"model.w"}));
}

TEST(StripOptimizer, BringsBackNothingThatTheKeyHadBefore) {
  const auto [checkpoint, report] = strip_optimizer(torch_testing::checkpoint_of(
      py::dict({{py::str("model"), model()}, {py::str("opt"), py::integer(5)}, {py::str("opt"), optimizer()}})));
  EXPECT_EQ(report.removed, (Names{"opt"}));
  EXPECT_EQ(mapping_entries(checkpoint.values, checkpoint.root).size(), 1U);
}

TEST(StripOptimizer, TakesAListOfStates) {
  const auto [checkpoint, report] = strip_optimizer(torch_testing::checkpoint_of(py::dict(
      {{py::str("state_dict"), model()}, {py::str("optimizer_states"), py::list({optimizer(), optimizer()})}})));
  EXPECT_EQ(report.removed.size(), 2U);
  EXPECT_EQ(mapping_entries(checkpoint.values, checkpoint.root).size(), 1U);
}

TEST(StripOptimizer, NamesAStateThatStaysAmongOtherThings) {
  const auto [checkpoint, report] = strip_optimizer(torch_testing::checkpoint_of(py::list({model(), optimizer()})));
  EXPECT_EQ(report.left, (Names{"1"}));
  EXPECT_TRUE(report.removed.empty());
}

TEST(StripOptimizer, LeavesAnObjectItsAttributes) {
  const py::Code trainer =
      py::build(py::call(py::global("lab", "Trainer"), {}), py::dict({{py::str("optimizer"), py::get(7)}}));
  const auto [checkpoint, report] = strip_optimizer(torch_testing::checkpoint_of(
      py::dict({{py::str("model"), model()}, {py::str("opt"), py::put(optimizer(), 7)}, {py::str("t"), trainer}})));
  EXPECT_EQ(report.left, (Names{"opt"}));
  EXPECT_TRUE(report.removed.empty());
  const auto entries = mapping_entries(checkpoint.values, checkpoint.root);
  ASSERT_EQ(entries.size(), 2U);
  const ValueId state =
      checkpoint.values.items(checkpoint.values.effect(checkpoint.values.first_effect(entries[1].value)))[0];
  EXPECT_EQ(mapping_entries(checkpoint.values, state).size(), 1U);
}

TEST(StripOptimizer, NamesAStateThatADroppedCallGivesAnObject) {
  const py::Code trainer = py::put(py::call(py::global("lab", "Trainer"), {}), 7);
  const py::Code setter = py::call(py::global("lab", "fill"), {py::get(7), py::tuple({py::put(optimizer(), 8)})});
  const auto report =
      strip_optimizer(
          torch_testing::checkpoint_of(
              trainer + "0" + setter + "0" +
              py::dict({{py::str("model"), model()}, {py::str("opt"), py::get(8)}, {py::str("t"), py::get(7)}})))
          .second;
  EXPECT_EQ(report.left, (Names{"opt"}));
  EXPECT_TRUE(report.removed.empty());
}

/// {**optimizer.state_dict(), KEY: VALUE}
py::Code optimizer_beside(const std::string& key, const py::Code& value) {
  return py::dict(
      {{py::str("state"), py::dict({{py::integer(0), py::dict({{py::str("m"), torch_testing::weight()}})}})},
       {py::str(key), value},
       {py::str("param_groups"), py::list({})}});
}

TEST(StripOptimizer, LeavesAModelThatStandsInTheSameDict) {
  const auto layer = py::dict({{py::str("fc.weight"), torch_testing::weight()}});
  for (const auto& [key, value] : {std::pair("anything", layer), std::pair("model", model()),
                                   std::pair("deeper", py::dict({{py::str("nets"), py::list({layer})}})),
                                   std::pair("fc.weight", torch_testing::weight())}) {
    for (const bool is_root : {true, false}) {
      const auto code = optimizer_beside(key, value);
      const auto [checkpoint, report] = strip_optimizer(
          torch_testing::checkpoint_of(is_root ? code : py::dict({{py::str("agents"), py::list({code})}})));
      EXPECT_EQ(report.removed, (Names{is_root ? "" : "agents.0"})) << key;
      const Names names = torch_testing::names(checkpoint);
      ASSERT_EQ(names.size(), 1U) << key;
      EXPECT_NE(names[0].find(key), std::string::npos) << names[0];
    }
  }
}

TEST(StripOptimizer, TakesWhatAnOptimizerKeepsBesideItsState) {
  const auto slow = py::dict({{py::integer(0), py::dict({{py::str("slow_buffer"), torch_testing::weight()}})}});
  const auto [checkpoint, report] = strip_optimizer(torch_testing::checkpoint_of(
      py::dict({{py::str("model"), model()}, {py::str("opt"), optimizer_beside("slow_state", slow)}})));
  EXPECT_EQ(torch_testing::names(checkpoint), (Names{"model.w"}));
}

TEST(StripOptimizer, RefusesAFileOfNothingElse) {
  EXPECT_TRUE(io_testing::error_of([] { strip_optimizer(torch_testing::checkpoint_of(optimizer())); }));
}

}  // namespace
}  // namespace ckpt
