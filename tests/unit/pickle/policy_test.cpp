#include "pickle/policy.h"

#include <gtest/gtest.h>

#include "pickle/dangerous_modules.h"

namespace ckpt {
namespace {

struct Name {
  std::string_view module, name;
};

void expect_all(Verdict verdict, std::initializer_list<Name> names) {
  for (const Name& n : names) {
    EXPECT_EQ(static_cast<int>(judge_global(n.module, n.name)), static_cast<int>(verdict)) << n.module << "." << n.name;
  }
}

TEST(Policy, KnowsWhatStateDictsHold) {
  expect_all(Verdict::known, {{"collections", "OrderedDict"},
                              {"torch._utils", "_rebuild_tensor_v2"},
                              {"torch._utils", "_rebuild_parameter"},
                              {"torch", "FloatStorage"},
                              {"torch.cuda", "HalfStorage"},
                              {"torch.storage", "UntypedStorage"},
                              {"torch", "float8_e4m3fn"},
                              {"torch", "per_tensor_affine"},
                              {"torch", "Size"},
                              {"torch", "device"},
                              {"torch.nn.parameter", "Parameter"}});
}

TEST(Policy, KnowsContainersAndPlainValues) {
  expect_all(Verdict::known, {{"builtins", "set"},
                              {"builtins", "complex"},
                              {"collections", "defaultdict"},
                              {"_codecs", "encode"},
                              {"copyreg", "_reconstructor"},
                              {"datetime", "datetime"},
                              {"pathlib", "PosixPath"},
                              {"argparse", "Namespace"}});
}

TEST(Policy, KnowsNumpysArraysAndScalars) {
  expect_all(Verdict::known, {{"numpy", "ndarray"},
                              {"numpy", "float64"},
                              {"numpy.core.multiarray", "_reconstruct"},
                              {"numpy._core.multiarray", "scalar"},
                              {"numpy.dtypes", "Float64DType"},
                              {"numpy.random._pickle", "__randomstate_ctor"}});
}

TEST(Policy, KnowsWholeModulesAndOptimizers) {
  expect_all(Verdict::known, {{"torch.nn.modules.conv", "Conv2d"},
                              {"torch.nn.modules.rnn", "GRU"},
                              {"torch.nn.modules.batchnorm", "_BatchNorm"},
                              {"torch.nn.parallel.data_parallel", "DataParallel"},
                              {"torch.optim.adam", "Adam"},
                              {"torch.optim.lr_scheduler", "StepLR"},
                              {"torch.ao.nn.quantized.modules.linear", "Linear"}});
}

TEST(Policy, KnowsPython2Names) {
  expect_all(Verdict::known, {{"__builtin__", "set"},
                              {"__builtin__", "xrange"},
                              {"__builtin__", "long"},
                              {"__builtin__", "unicode"},
                              {"copy_reg", "_reconstructor"},
                              {"UserList", "OrderedDict"}});
}

TEST(Policy, StandardLibraryIsDangerous) {
  expect_all(Verdict::dangerous, {{"os", "system"},
                                  {"posix", "system"},
                                  {"nt", "system"},
                                  {"builtins", "eval"},
                                  {"builtins", "getattr"},
                                  {"builtins", "type"},
                                  {"subprocess", "Popen"},
                                  {"functools", "partial"},
                                  {"operator", "attrgetter"},
                                  {"idlelib.run", "Executive.runcode"},
                                  {"uuid", "_get_command_stdout"},
                                  {"collections", "namedtuple"}});
}

TEST(Policy, StandardLibraryOfPython2IsDangerous) {
  expect_all(Verdict::dangerous, {{"__builtin__", "eval"},
                                  {"__builtin__", "apply"},
                                  {"commands", "getoutput"},
                                  {"httplib", "HTTPSConnection"},
                                  {"cPickle", "loads"},
                                  {"popen2", "popen3"}});
}

TEST(Policy, OtherTorchAndNumpyNamesAreDangerous) {
  expect_all(Verdict::dangerous, {{"torch", "load"},
                                  {"torch.hub", "load"},
                                  {"torch.serialization", "load"},
                                  {"torch._inductor.codecache", "compile_file"},
                                  {"torch.nn", "Conv2d"},
                                  {"torch.nn.modules.activation", "F"},
                                  {"torch.nn.modules.module", "warnings"},
                                  {"torch.ao.quantization.observer", "ABCMeta"},
                                  {"torch.nn.modules.loss", "_Reduction"},
                                  {"torch.jit", "load"},
                                  {"numpy", "load"},
                                  {"numpy.testing._private.utils", "runstring"}});
}

TEST(Policy, CodeRunnersAndNetworkPackagesAreDangerous) {
  expect_all(Verdict::dangerous, {{"pip", "main"},
                                  {"cloudpickle.cloudpickle", "_make_function"},
                                  {"dill._dill", "_create_function"},
                                  {"aiohttp.client", "ClientSession"},
                                  {"requests.api", "get"}});
}

TEST(Policy, ThirdPartiesAndMainAreUnknown) {
  expect_all(Verdict::unknown, {{"__main__", "Net"},
                                {"sklearn.linear_model._logistic", "LogisticRegression"},
                                {"torchvision.models.resnet", "ResNet"},
                                {"torch_geometric.nn.dense.linear", "Linear"},
                                {"__torch__.Foo", "Bar"},
                                {"osmnx", "system_of_roads"},
                                {"models", "Outer.Inner"}});
}

// What it loads is a whole file of its own, which no reader here has judged.
TEST(Policy, NestedPickleIsDangerous) { expect_all(Verdict::dangerous, {{"torch.storage", "_load_from_bytes"}}); }

TEST(Policy, DottedNameThatReachesThroughAKnownOneIsDangerous) {
  expect_all(Verdict::dangerous, {{"collections", "OrderedDict.__init__.__globals__"},
                                  {"torch.nn.modules.conv", "Conv2d.forward"},
                                  {"torch", "UntypedStorage.from_file"},
                                  {"builtins", "set.__class__"}});
}

TEST(Policy, NameThatReachesOutOfAThirdPartyIsDangerous) {
  expect_all(Verdict::dangerous, {{"sklearn.utils", "os.system"},
                                  {"models", "Net.__init__.__globals__"},
                                  {"models", "shutil.rmtree"},
                                  {"__main__", "os"},
                                  {"__main__", "__builtins__"}});
}

TEST(Policy, ExtensionCodesAreDangerous) { expect_all(Verdict::dangerous, {{extension_module, "240"}}); }

TEST(Policy, NamesThatPythonCannotSpellAreDangerous) {
  using namespace std::string_view_literals;
  expect_all(Verdict::dangerous, {{"", ""},
                                  {"models", ""},
                                  {"", "Net"},
                                  {".models", "Net"},
                                  {"models", "Net."},
                                  {"mod els", "Net"},
                                  {"models\n", "Net"},
                                  {"models\0"sv, "Net"},
                                  {"models", "\x1b[2J"},
                                  {"1models", "Net"}});
}

TEST(Policy, AlmostKnownNamesAreNotKnown) {
  using namespace std::string_view_literals;
  expect_all(Verdict::dangerous, {{"collections", "OrderedDict "},
                                  {"collections", "OrderedDict\0"sv},
                                  {"collections", "OrderedDict defaultdict"},
                                  {"collections", "ordereddict"},
                                  {"collections ", "OrderedDict"},
                                  {"torch", "floatstorage"},
                                  {"torch", ""}});
}

TEST(Policy, TopLevelModuleIsComparedWhole) {
  EXPECT_TRUE(in_standard_library("os"));
  EXPECT_FALSE(in_standard_library("osx"));
  EXPECT_FALSE(in_standard_library("os.path"));
  EXPECT_FALSE(is_dangerous_package("torchvision"));
}

}  // namespace
}  // namespace ckpt
