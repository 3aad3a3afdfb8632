#include <gtest/gtest.h>

#include <algorithm>

#include "ckpt/device.h"
#include "ckpt/error.h"
#include "ckpt/extract.h"
#include "ckpt/modules.h"
#include "ckpt/ops.h"
#include "formats/script_files.h"

namespace ckpt {
namespace {

using namespace script_testing;
using torch_testing::floats;
using torch_testing::storage;
using torch_testing::tensor;
using torch_testing::weight;
using Names = std::vector<std::string>;

Checkpoint read_script(const ScriptFile& file) { return torch_testing::read_bytes(bytes_of(file)); }

std::string refused(const ScriptFile& file) {
  const auto error = torch_testing::refusal(bytes_of(file));
  return error ? error->what() : "read";
}

std::string error_text(const std::function<void()>& act) {
  const auto error = io_testing::error_of(act);
  return error ? std::string(error->what()) + " | " + error->hint() : "done";
}

py::Code cuda(const std::string& key) { return tensor(storage({.key = key, .location = "cuda:0"}), {4}, {1}); }

/// A module in a module, an attribute that is neither parameter nor buffer, and a list.
ScriptFile nested() {
  const py::Code norm =
      object("__torch__.layers", "Norm",
             {{py::str("mean"), weight()}, {py::str("eps"), py::real(0.1)}, {py::str("w"), weight()}});
  return {.module = object("__torch__", "Net",
                           {{py::str("training"), py::boolean(true)},
                            {py::str("extra"), weight()},
                            {py::str("norm"), norm},
                            {py::str("bias"), weight()},
                            {py::str("some"), py::list({weight()})}}),
          .code = class_code("Net", "\"bias\", ", ""),
          .more = {text("code/__torch__/layers.py", class_code("Norm", "\"w\", ", "\"mean\", "))}};
}

TEST(TorchScript, IsReadByQualifiedNames) {
  const auto checkpoint = read_script(nested());
  EXPECT_EQ(checkpoint.format, "torchscript");
  EXPECT_EQ(torch_testing::names(checkpoint), (Names{"extra", "norm.mean", "norm.w", "bias", "some.0"}));
  EXPECT_EQ(torch_testing::values(checkpoint, 0), (std::vector<float>{0, 1, 2, 3}));
}

TEST(TorchScript, ConstantsAreNamedAsInTheCode) {
  const auto checkpoint = read_script({.constants = {py::integer(5), tensor(storage({.key = "0"}), {4}, {1})},
                                       .more = {{"constants/0", floats({4, 5, 6, 7})}}});
  EXPECT_EQ(torch_testing::names(checkpoint), (Names{"w", "CONSTANTS.c1"}));
  EXPECT_EQ(torch_testing::values(checkpoint, 1), (std::vector<float>{4, 5, 6, 7})) << "no storage of data.pkl";
}

TEST(TorchScript, NamesOfItsCodeAreKnown) {
  const auto checkpoint = read_script({});
  for (const GlobalUse& global : checkpoint.globals)
    EXPECT_EQ(global.verdict, Verdict::known) << global.module << "." << global.name;
}

TEST(TorchScript, NamesOfEveryPickleAreJudged) {
  const py::Code payload = py::call(py::global("os", "system"), {py::str("true")});
  for (const char* name : {"constants.pkl", "bytecode.pkl", "traced_inputs.pkl"}) {
    ScriptFile file;
    if (std::string(name) == "constants.pkl")
      file.constants = {payload};
    else
      file.more = {text(name, py::pickle(payload))};
    const auto checkpoint = read_script(file);
    EXPECT_NE(error_text([&] { torch_testing::written(checkpoint); }).find("the pickle calls for os.system"),
              std::string::npos)
        << name;
  }
}

TEST(TorchScript, ExtraFilesAreNoPickles) {
  EXPECT_EQ(refused({.more = {text("extra/data.pkl", "no pickle"), text("extra/x.pkl", "none")}}), "read");
}

TEST(TorchScript, AModuleThatIsGivenNoItemsHasNoAttributes) {
  for (const char* const effect : {"(e", "(u", "(\x90"}) {
    const ScriptFile file{.module = py::global("__torch__", "Net") + ")\x81" + effect, .data = {}};
    const auto error = io_testing::error_of([&] { take_root(read_script(file), "auto"); });
    ASSERT_TRUE(error) << effect;
    EXPECT_NE(std::string(error->what()).find("its state dict is empty"), std::string::npos) << error->what();
  }
}

TEST(TorchScript, ItsStateDictIsParametersAndBuffersInTheirOrder) {
  const auto dict = take_root(read_script(nested()), "auto");
  EXPECT_EQ(dict.format, "torch");
  EXPECT_EQ(torch_testing::names(dict), (Names{"bias", "norm.w", "norm.mean"}));
  const ValueId metadata = state_dict_metadata(dict.values, dict.root);
  Names modules;
  for (const MappingEntry& entry : mapping_entries(dict.values, metadata))
    modules.emplace_back(dict.values.text(entry.key));
  EXPECT_EQ(modules, (Names{"", "norm"}));
}

TEST(TorchScript, BuffersOfCodeThatNamesNoneAreAllTensors) {
  const auto dict = take_root(
      read_script({.module = object("__torch__", "Net", {{py::str("mean"), weight()}, {py::str("w"), weight()}}),
                   .code = "class Net(Module):\n  __parameters__ = [\"w\", ]\n"}),
      "auto");
  EXPECT_EQ(torch_testing::names(dict), (Names{"w", "mean"}));
}

TEST(TorchScript, OfNoParameterHasNoStateDict) {
  const auto checkpoint = read_script({.code = class_code("Net", "", "")});
  EXPECT_NE(error_text([&] { take_root(checkpoint, "auto"); }).find("no parameters and no buffers"), std::string::npos);
}

TEST(TorchScript, CodeThatNamesWithoutEndIsRefused) {
  std::string names;
  for (int i = 0; i < 300'000; ++i) names += "\"x\", ";
  const auto checkpoint = read_script({.code = class_code("Net", names, "")});
  const auto error = io_testing::error_of([&] { take_root(checkpoint, "auto"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::limit_exceeded);
  EXPECT_EQ(refused({.code = class_code("Other", names, "")}), "read") << "of a class that no object is of";
}

TEST(TorchScript, AModuleWithinItselfIsRefused) {
  const auto checkpoint = read_script({.module = py::build(py::put(py::global("__torch__", "Net") + ")\x81", 0),
                                                           py::dict({{py::str("sub"), py::get(0)}}))});
  EXPECT_NE(error_text([&] { take_root(checkpoint, "auto"); }).find("the module 'sub' stands within itself"),
            std::string::npos);
}

TEST(TorchScript, IsTakenWhole) {
  const auto checkpoint = read_script(nested());
  for (const std::string& said : {error_text([&] { take_root(checkpoint, "norm"); }), error_text([&] {
                                    select(checkpoint, {{"norm.*"}, {}});
                                  })}) {
    EXPECT_NE(said.find("is taken whole"), std::string::npos) << said;
    EXPECT_NE(said.find("--weights-only"), std::string::npos) << said;
  }
}

TEST(TorchScript, ATensorOfItIsAPlainOne) {
  const Checkpoint alone = extract(read_script(nested()), "norm.mean");
  EXPECT_EQ(alone.format, "torch");
  EXPECT_FALSE(whole_module(alone));
  const Checkpoint named = extract(read_script(nested()), "norm.mean", true);
  EXPECT_EQ(torch_testing::names(named), (Names{"norm.mean"}));
  EXPECT_EQ(torch_testing::values(named, 0), (std::vector<float>{0, 1, 2, 3}));
  const auto again = torch_testing::read_bytes(torch_testing::written(named));
  EXPECT_EQ(again.format, "torch") << "nothing of the module is left";
}

TEST(TorchScript, WhatOtherPicklesCallForIsNoPartOfATensor) {
  const py::Code payload = py::call(py::global("os", "system"), {py::str("true")});
  const auto checkpoint = read_script({.more = {text("bytecode.pkl", py::pickle(payload))}});
  EXPECT_EQ(error_text([&] { torch_testing::written(extract(checkpoint, "w")); }), "done");
}

TEST(TorchScript, OfNoParameterIsNotProposedAsAStateDict) {
  const auto options = [](const ScriptFile& file) {
    const auto checkpoint = read_script(file);
    return weights_only_options(checkpoint, find_parts(checkpoint));
  };
  EXPECT_EQ(options({}), "--weights-only");
  EXPECT_EQ(options({.code = class_code("Net", "", "")}), "");
  const auto checkpoint = read_script({.code = class_code("Net", "", "")});
  EXPECT_NE(error_text([&] { select(checkpoint, {{"w"}, {}}); }).find("| ckpt extract"), std::string::npos);
  EXPECT_EQ(torch_testing::names(extract(checkpoint, "w", true)), (Names{"w"}));
}

TEST(TorchScript, IsWrittenAgainByteForByte) {
  const ScriptFile file{.constants = {cuda("0")},
                        .more = {{"constants/0", floats({4, 5, 6, 7})}, text("extra/notes.txt", "hello")}};
  EXPECT_EQ(torch_testing::written(read_script(file)), bytes_of(file));
}

TEST(TorchScript, DevicesChangeInEachPickleAndNothingElseDoes) {
  const auto file = [](const std::string& location) {
    const auto on = [&](const std::string& key) {
      return tensor(storage({.key = key, .location = location}), {4}, {1});
    };
    return ScriptFile{
        .module = object("__torch__", "Net", {{py::str("w"), on("0")}, {py::str("d"), py::str("cuda:0")}}),
        .constants = {on("0")},
        .more = {{"constants/0", floats({4, 5, 6, 7})},
                 text("bytecode.pkl", py::pickle(py::tuple({py::integer(8), on("0")})))}};
  };
  const auto moved = remap(read_script(file("cuda:0")), DeviceMap::all_to("cpu"));
  EXPECT_EQ(torch_testing::written(moved), bytes_of(file("cpu")));
}

TEST(TorchScript, ALocationThatIsNoTextIsRefused) {
  Checkpoint checkpoint = read_script({});
  checkpoint.storages[0].location = "\xd5pu";
  const std::string said = error_text([&] { torch_testing::written(checkpoint); });
  EXPECT_NE(said.find("expected one location of a storage, in UTF-8"), std::string::npos) << said;
}

TEST(TorchScript, BytecodeOfBeforeHasAFolderOfItsOwn) {
  const ScriptFile file{.more = {{"bytecode/0", floats({4, 5, 6, 7})}, text("bytecode.pkl", py::pickle(weight()))}};
  const auto checkpoint = read_script(file);
  ASSERT_EQ(checkpoint.storages.size(), 2u);
  EXPECT_EQ(checkpoint.storages[1].key, "bytecode/0");
}

TEST(TorchScript, CodeThatNamesADeviceIsTold) {
  const auto checkpoint = read_script(
      {.code = class_code("Net", "\"w\", ", "",
                          "  def f(self):\n    return torch.ones([2], device=torch.device(\"cuda:0\"))\n")});
  const auto told = checkpoint.details->out_of_reach(DeviceMap::all_to("cpu"));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("member 'archive/code/__torch__.py' is code that names the device cuda:0"), std::string::npos);
  EXPECT_TRUE(checkpoint.details->out_of_reach(DeviceMap::all_to("cuda:0")).empty());
}

TEST(TorchScript, MetaTensorsHaveNoBytes) {
  const ScriptFile file{.module = object("__torch__", "Net",
                                         {{py::str("w"), weight()},
                                          {py::str("m"), tensor(storage({.key = "1", .location = "meta"}), {4}, {1})}}),
                        .data = {{"data/0", floats({0, 1, 2, 3})}, {"data/1", {}}}};
  const auto checkpoint = read_script(file);
  EXPECT_EQ(torch_testing::names(checkpoint), (Names{"w", "m"}));
  EXPECT_EQ(device_of(checkpoint, checkpoint.tensors[1]), "meta");
  EXPECT_EQ(torch_testing::written(remap(checkpoint, DeviceMap::all_to("cpu"))), bytes_of(file)) << "nor do they move";
}

TEST(TorchScript, OtherFormatsGetItsStateDict) {
  const auto checkpoint = read_script(nested());
  const auto again = torch_testing::read_bytes(torch_testing::written_as(checkpoint, "torch"));
  EXPECT_EQ(again.format, "torch");
  EXPECT_EQ(torch_testing::names(again), (Names{"bias", "norm.w", "norm.mean"}));
  for (const GlobalUse& global : again.globals) EXPECT_FALSE(global.module.starts_with("__torch__"));
}

TEST(TorchScript, WhatOnlyOtherPicklesNameIsNoMatterToItsStateDict) {
  const py::Code payload = py::call(py::global("os", "system"), {py::str("true")});
  const auto checkpoint =
      read_script({.constants = {payload}, .more = {text("traced_inputs.pkl", py::pickle(payload))}});
  EXPECT_FALSE(io_testing::error_of([&] { torch_testing::written_as(checkpoint, "torch"); }));
}

TEST(TorchScript, IsNotMadeOfWhatHasNoCode) {
  const auto plain = torch_testing::checkpoint_of(py::dict({{py::str("w"), weight()}}));
  EXPECT_NE(error_text([&] { torch_testing::written_as(plain, "torchscript"); }).find("holds a model's code"),
            std::string::npos);
}

TEST(TorchScript, IsWrittenInTheProtocolOfLibtorchAlone) {
  const auto checkpoint = read_script({});
  EXPECT_NE(error_text([&] { torch_testing::written_as(checkpoint, "torchscript", 4); }).find("expected 2"),
            std::string::npos);
}

TEST(TorchScript, FaultsAreRefusedByName) {
  EXPECT_NE(refused({.data = {}}).find("the pickle names storage 'data/0', which the archive does not hold"),
            std::string::npos);
  EXPECT_NE(refused({.data = {{"data/0", floats({1})}}}).find("member 'archive/data/0' holds 4 bytes, expected 16"),
            std::string::npos);
  EXPECT_NE(refused({.constants = {weight()}}).find("storage 'constants/0'"), std::string::npos);
  EXPECT_NE(refused({.module = py::dict({}), .data = {{"a", floats({1})}}}).find("constants.pkl"), std::string::npos);
  EXPECT_NE(refused({.more = {text("bytecode.pkl", "\x80\x02")}}).find("bytecode.pkl"), std::string::npos);
}

TEST(TorchScript, VerifyListsWhatIsWrongWithEachMember) {
  const ScriptFile file{.module = object("__torch__", "Net", {{py::str("w"), weight()}, {py::str("v"), cuda("9")}}),
                        .constants = {weight()}};
  const auto findings = verify(torch_testing::source_of(bytes_of(file)));
  const auto faults = std::count_if(findings.begin(), findings.end(), [](const Finding& each) { return each.fault; });
  EXPECT_EQ(faults, 2);
}

}  // namespace
}  // namespace ckpt
