#include "ckpt/modules.h"

#include <gtest/gtest.h>

#include "ckpt/check.h"
#include "ckpt/error.h"
#include "ckpt/ops.h"
#include "ckpt/state_dict.h"
#include "formats/torch_files.h"

namespace ckpt {
namespace {

using Names = std::vector<std::string>;
using torch_testing::checkpoint_of;
using torch_testing::names;
using torch_testing::weight;

/// A module of net.Net, which nobody has the source of.
py::Code module(const py::Pairs& parameters, const py::Pairs& buffers = {}, const py::Pairs& modules = {},
                const py::Pairs& more = {}, const py::Code& type = py::global("net", "Net")) {
  py::Pairs state{{py::str("training"), py::boolean(true)},
                  {py::str("_parameters"), py::dict(parameters)},
                  {py::str("_buffers"), py::ordered_dict(buffers)},
                  {py::str("_modules"), py::dict(modules)}};
  state.insert(state.end(), more.begin(), more.end());
  return py::build(py::call(type, {}), py::dict(state));
}

py::Code parameter(const py::Code& tensor = weight()) {
  return py::call(py::global("torch._utils", "_rebuild_parameter"), {tensor, py::boolean(true), py::ordered_dict({})});
}

py::Code set(const std::vector<py::Code>& items) {
  return py::call(py::global("__builtin__", "set"), {py::list(items)});
}

py::Code linear() { return module({{py::str("weight"), parameter()}, {py::str("bias"), py::none()}}); }

/// Read back, so that what is written counts.
Checkpoint unpacked(const py::Code& code) {
  return torch_testing::read_bytes(torch_testing::written(unpack_modules(checkpoint_of(code))));
}

Names warnings(const py::Code& code) { return unpack_modules(checkpoint_of(code)).warnings; }

/// "net: 2", as `_metadata` says.
Names versions(const Checkpoint& checkpoint) {
  Names out;
  const ValueGraph& values = checkpoint.values;
  const ValueId metadata = state_dict_metadata(values, checkpoint.root);
  if (metadata == no_value) return out;
  for (const MappingEntry& entry : mapping_entries(values, metadata)) {
    const auto local = mapping_entries(values, entry.value);
    EXPECT_EQ(local.size(), 1U);
    out.push_back(std::string(values.text(entry.key)) + ": " + std::to_string(values.integer(local[0].value)));
  }
  return out;
}

TEST(FindModules, GoesByWhatAnObjectHolds) {
  const auto found = find_modules(
      checkpoint_of(py::dict({{py::str("a"), py::build(py::call(py::global("net", "Net"), {}), py::dict({}))},
                              {py::str("b"), linear()},
                              {py::str("c"), py::list({py::integer(1), py::tuple({linear()})})}})));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].path, "b");
  EXPECT_EQ(found[0].class_name, "net.Net");
  EXPECT_EQ(found[1].path, "c.1.0");
}

TEST(FindModules, FindsTheOutermostOnceEach) {
  const auto outer = module({}, {}, {{py::str("inner"), linear()}});
  const auto found = find_modules(checkpoint_of(py::list({py::put(outer, 9), py::get(9)})));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].path, "0");
}

TEST(FindModules, ReadsSlotsAndProtocolZero) {
  const auto state = py::dict(
      {{py::str("_parameters"), py::dict({{py::str("w"), parameter()}})}, {py::str("_buffers"), py::dict({})}});
  const auto reconstructed = py::call(py::global("copy_reg", "_reconstructor"),
                                      {py::global("net", "Net"), py::global("__builtin__", "object"), py::none()});
  const auto found = find_modules(
      checkpoint_of(py::build(reconstructed, py::tuple({state, py::dict({{py::str("_modules"), py::dict({})}})}))));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].class_name, "net.Net");
}

TEST(WeightsOnlyOptions, NameTheModuleWhereItIsNotAlone) {
  const auto options = [](const py::Code& code) {
    const Checkpoint checkpoint = checkpoint_of(code);
    return weights_only_options(checkpoint, find_parts(checkpoint));
  };
  EXPECT_EQ(options(py::dict({{py::str("a"), linear()}, {py::str("epoch"), py::integer(1)}})), "--weights-only");
  EXPECT_EQ(options(py::dict({{py::str("a b"), linear()}, {py::str("c"), linear()}})), "--root 'a b' --weights-only");
  EXPECT_EQ(options(py::dict({{py::str("loss"), module({}, {}, {})}, {py::str("c"), linear()}})),
            "--root c --weights-only");
  EXPECT_EQ(options(module({}, {}, {})), "") << "it holds no tensor";
}

TEST(Submodules, AreNamedOnceAPlaceInTheirOrder) {
  const auto holder = module({}, {}, {{py::str("c"), py::get(9)}, {py::str("none"), py::none()}});
  const auto outer =
      module({}, {}, {{py::str("a"), py::put(linear(), 9)}, {py::str("b"), holder}}, {{py::str("eps"), py::real(0.5)}});
  const Checkpoint made = checkpoint_of(py::dict({{py::str("model"), outer}}));
  const auto found = submodules(made, find_modules(made).at(0));
  Names places;
  for (const Submodule& module : found) places.push_back(std::to_string(module.depth) + " " + module.path);
  EXPECT_EQ(places, (Names{"0 ", "1 a", "1 b", "2 b.c"}));
  EXPECT_EQ(found[3].value, found[1].value);
  EXPECT_EQ(found[1].class_name, "net.Net");
  EXPECT_EQ(made.values.real(module_attribute(made, found[0].value, "eps")), 0.5);
  EXPECT_EQ(module_attribute(made, found[1].value, "eps"), no_value);
}

TEST(Submodules, OfACompiledModuleAreTheModule) {
  const auto compiled = py::call(py::global("torch._dynamo.eval_frame", "OptimizedModule"), {linear(), py::none()});
  const Checkpoint made = checkpoint_of(compiled);
  const auto found = submodules(made, find_modules(made).at(0));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].path, "_orig_mod");
}

TEST(Submodules, AreRefusedWithinThemselvesAndWithoutEnd) {
  const auto inner = py::put(py::call(py::global("net", "Net"), {}), 9);
  const Checkpoint looped =
      checkpoint_of(py::build(inner, py::dict({{py::str("_parameters"), py::dict({{py::str("w"), parameter()}})},
                                               {py::str("_buffers"), py::dict({})},
                                               {py::str("_modules"), py::dict({{py::str("me"), py::get(9)}})}})));
  const auto loop = io_testing::error_of([&] { submodules(looped, find_modules(looped).at(0)); });
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop->code(), ErrorCode::corrupt);
  py::Code code = module({{py::str("w"), parameter()}});
  for (std::uint8_t level = 0; level < 60; ++level)
    code = module({}, {}, {{py::str("a"), py::put(code, level)}, {py::str("b"), py::get(level)}});
  const Checkpoint shared = checkpoint_of(code);
  const auto endless = io_testing::error_of([&] { submodules(shared, find_modules(shared).at(0)); });
  ASSERT_TRUE(endless);
  EXPECT_EQ(endless->code(), ErrorCode::limit_exceeded);
}

TEST(UnpackModules, GivesParametersThenBuffersThenModules) {
  const auto code = module({{py::str("w"), parameter()}, {py::str("none"), py::none()}},
                           {{py::str("mean"), weight()}, {py::str("no"), py::none()}},
                           {{py::str("b"), linear()}, {py::str("gone"), py::none()}, {py::str("a"), linear()}});
  const Checkpoint out = unpacked(code);
  EXPECT_EQ(names(out), (Names{"w", "mean", "b.weight", "a.weight"}));
  EXPECT_EQ(versions(out), (Names{": 1", "b: 1", "a: 1"}));
  EXPECT_EQ(out.storages.size(), 1U);
  EXPECT_TRUE(out.warnings.empty());
}

TEST(UnpackModules, LeavesNoGlobalButThoseOfAStateDict) {
  Names left;
  for (const GlobalUse& use : unpacked(linear()).globals) left.push_back(use.name);
  std::sort(left.begin(), left.end());
  EXPECT_EQ(left, (Names{"FloatStorage", "OrderedDict", "_rebuild_tensor_v2"}));
}

TEST(UnpackModules, LeavesOutBuffersThatDoNotPersist) {
  const auto code = module({{py::str("w"), parameter()}}, {{py::str("a"), weight()}, {py::str("b"), weight()}}, {},
                           {{py::str("_non_persistent_buffers_set"), set({py::str("a")})}});
  EXPECT_EQ(names(unpacked(code)), (Names{"w", "b"}));
}

TEST(UnpackModules, TellsNormsByTheirBuffers) {
  const auto norm = [](const py::Pairs& buffers) {
    return module({{py::str("weight"), parameter()}}, buffers, {}, {},
                  py::global("torch.nn.modules.batchnorm", "BatchNorm2d"));
  };
  EXPECT_EQ(versions(unpacked(norm({{py::str("num_batches_tracked"), py::none()}}))), (Names{": 2"}));
  EXPECT_EQ(versions(unpacked(norm({{py::str("running_mean"), weight()}}))), (Names{": 1"}))
      << "torch before 0.4.1, whose norms load only as version 1";
}

TEST(UnpackModules, TakesTensorsOfEveryAge) {
  const auto size = py::tuple({py::integer(4)}), stride = py::tuple({py::integer(1)});
  const auto storage = torch_testing::storage();
  const auto first = py::call(py::global("torch._utils", "_rebuild_tensor"), {storage, py::integer(0), size, stride});
  const auto oldest =
      py::build(py::call(py::global("torch", "FloatTensor"), {}), py::tuple({storage, py::integer(0), size, stride}));
  const auto wrapped = py::build(py::call(py::global("torch.nn.parameter", "Parameter"), {oldest, py::boolean(true)}),
                                 py::tuple({py::boolean(true), py::boolean(false), py::ordered_dict({})}));
  const Checkpoint out =
      unpacked(module({{py::str("a"), wrapped}, {py::str("b"), parameter(first)}}, {{py::str("c"), oldest}}));
  EXPECT_EQ(names(out), (Names{"a", "b", "c"}));
  for (const GlobalUse& use : out.globals)
    EXPECT_TRUE(use.name == "OrderedDict" || use.name == "FloatStorage" || use.name == "_rebuild_tensor_v2")
        << use.name;
}

/// torch.compile(): made by a call with the module, which no state repeats; in legacy files the class is a persistent
/// id.
TEST(UnpackModules, TakesCompiledModules) {
  const auto compiled = py::global("torch._dynamo.eval_frame", "OptimizedModule");
  const auto with_source =
      py::persistent(py::tuple({py::str("module"), compiled, py::str("a.py"), py::str("class A: 1")}));
  for (const auto& type : {compiled, with_source}) {
    const auto found = find_modules(checkpoint_of(py::call(type, {linear(), py::none()})));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].class_name, "torch._dynamo.eval_frame.OptimizedModule");
  }
  const Checkpoint out = unpacked(py::call(compiled, {linear(), py::none()}));
  EXPECT_EQ(names(out), (Names{"_orig_mod.weight"}));
  EXPECT_EQ(versions(out), (Names{": 1", "_orig_mod: 1"}));
}

TEST(UnpackModules, GivesTiedParametersOneStorageAndTwoTensors) {
  const auto code =
      module({{py::str("a"), py::put(parameter(), 9)}}, {}, {{py::str("m"), module({{py::str("b"), py::get(9)}})}});
  const Checkpoint out = unpacked(code);
  EXPECT_EQ(names(out), (Names{"a", "m.b"}));
  EXPECT_EQ(out.tensors.size(), 2U);
  EXPECT_EQ(out.storages.size(), 1U);
}

TEST(UnpackModules, NamesASharedModuleOnEachPath) {
  const auto code = module({}, {}, {{py::str("a"), py::put(linear(), 9)}, {py::str("b"), py::get(9)}});
  EXPECT_EQ(names(unpacked(code)), (Names{"a.weight", "b.weight"}));
}

TEST(UnpackModules, KeepsPython2sNamesThatAreNoText) {
  const auto code = module({}, {}, {{py::str("a"), module({}, {}, {{py::py2_str("caf\xe9"), linear()}})}});
  const Checkpoint out = unpacked(code);
  EXPECT_EQ(names(out), (Names{"a.caf\xe9.weight"}));
  EXPECT_EQ(versions(out), (Names{": 1", "a: 1", "a.caf\xe9: 1"}));
}

TEST(UnpackModules, LeavesTheRestAsItIs) {
  const auto code = py::dict({{py::str("model"), linear()},
                              {py::str("epoch"), py::integer(3)},
                              {py::str("ema"), py::dict({{py::str("w"), weight()}})}});
  const Checkpoint out = unpacked(code);
  EXPECT_EQ(names(out), (Names{"model.weight", "ema.w"}));
  EXPECT_EQ(mapping_entries(out.values, out.root).size(), 3U);
}

TEST(UnpackModules, ChangesNothingWithoutModules) {
  const Checkpoint before = checkpoint_of(py::dict({{py::str("w"), weight()}}));
  EXPECT_EQ(torch_testing::written(before), torch_testing::written(unpack_modules(before)));
}

TEST(UnpackModules, WarnsOfHooks) {
  const auto hook = py::build(py::call(py::global("net", "Hook"), {}), py::dict({}));
  const auto code =
      module({}, {},
             {{py::str("fc"), module({{py::str("w"), parameter()}}, {}, {},
                                     {{py::str("_state_dict_hooks"), py::dict({{py::integer(1), hook}})}})}});
  EXPECT_EQ(warnings(code),
            (Names{"'fc' has a hook of state_dict(), net.Hook, which may change what Python would give"}));
}

TEST(UnpackModules, WarnsOfClassesWithAStateOfTheirOwn) {
  const auto code =
      module({{py::str("w"), parameter()}}, {}, {}, {}, py::global("torch.ao.nn.quantized.modules.linear", "Linear"));
  ASSERT_EQ(warnings(code).size(), 1U);
  EXPECT_NE(warnings(code)[0].find("a way of its own"), std::string::npos);
}

TEST(UnpackModules, RefusesAModuleWhoseTensorsAreAllInAStateOfItsOwn) {
  const auto linear = module({}, {}, {}, {}, py::global("torch.ao.nn.quantized.modules.linear", "Linear"));
  const auto error = io_testing::error_of([&] {
    unpack_modules(torch_testing::checkpoint_of(module({}, {}, {{py::str("fc"), linear}})));
  });
  ASSERT_TRUE(error);
  EXPECT_NE(std::string(error->what()).find("'fc' is a torch.ao.nn.quantized.modules.linear.Linear, which writes"),
            std::string::npos)
      << error->what();
}

TEST(UnpackModules, WarnsOfWhatIsNoTensorAndNoModule) {
  const auto code = module({{py::str("w"), parameter()}, {py::str("odd"), py::integer(1)}}, {},
                           {{py::str("script"), py::call(py::global("net", "load"), {})}});
  EXPECT_EQ(warnings(code), (Names{"'odd' is no tensor, and is left out",
                                   "'script' is no module that could be read, and is left out"}));
}

TEST(UnpackModules, RefusesAModuleWithinItself) {
  const auto inner = py::put(py::call(py::global("net", "Net"), {}), 9);
  const auto code = py::build(inner, py::dict({{py::str("_parameters"), py::dict({{py::str("w"), parameter()}})},
                                               {py::str("_buffers"), py::dict({})},
                                               {py::str("_modules"), py::dict({{py::str("me"), py::get(9)}})}}));
  const auto error = io_testing::error_of([&] { unpack_modules(checkpoint_of(code)); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::corrupt);
  EXPECT_NE(std::string(error->what()).find("the module 'me' stands within itself"), std::string::npos);
}

/// Each level holds the one below twice: 2^60 paths.
TEST(UnpackModules, RefusesModulesThatAreSharedWithoutEnd) {
  py::Code code = module({{py::str("w"), parameter()}});
  for (std::uint8_t level = 0; level < 60; ++level)
    code = module({}, {}, {{py::str("a"), py::put(code, level)}, {py::str("b"), py::get(level)}});
  const auto error = io_testing::error_of([&] { unpack_modules(checkpoint_of(code)); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::limit_exceeded);
}

/// 2^14 paths, each of a module whose class has a name of a megabyte.
TEST(UnpackModules, ChargesTheNamesOfClassesWithoutEnd) {
  constexpr std::uint8_t levels = 14, type = 100;
  py::Code code = module({{py::str("w"), parameter()}}, {}, {}, {}, py::get(type));
  for (std::uint8_t level = 0; level < levels; ++level) {
    // An object's class is made before what it holds.
    const bool is_first = level + 1 == levels;
    code = module({}, {}, {{py::str("a"), py::put(code, level)}, {py::str("b"), py::get(level)}}, {},
                  is_first ? py::put(py::global("net", std::string(1 << 20, 'N')), type) : py::get(type));
  }
  const auto error = io_testing::error_of([&] { unpack_modules(checkpoint_of(code)); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::limit_exceeded) << error->what();
}

TEST(Modules, AreFoundWhereAStateDictWouldBe) {
  const auto trainer = py::dict({{py::str("epoch"), py::integer(1)}, {py::str("model"), linear()}});
  EXPECT_EQ(names(take_root(checkpoint_of(trainer), "auto")), (Names{"weight"}));
  const auto digest_of = [](const py::Code& code) { return digest(checkpoint_of(code), "auto").total; };
  EXPECT_EQ(digest_of(trainer), digest_of(py::ordered_dict({{py::str("weight"), weight()}})));
  EXPECT_TRUE(check(checkpoint_of(trainer), checkpoint_of(linear()), {}).loads());
  const ModelTensor own{"weight", {4}}, renamed{"fc.weight", {4}};
  EXPECT_TRUE(check(checkpoint_of(trainer), std::vector{own}).loads());
  EXPECT_EQ(fix_command(check(checkpoint_of(trainer), std::vector{renamed}), "m.pt"),
            "ckpt convert m.pt OUT --weights-only --add-prefix=fc.");
}

TEST(Modules, StayWhatTheyAreUnderANamedRoot) {
  const auto trainer = py::dict({{py::str("model"), linear()}});
  EXPECT_EQ(names(take_root(checkpoint_of(trainer), "model")), (Names{"_parameters.weight"}));
}

}  // namespace
}  // namespace ckpt
