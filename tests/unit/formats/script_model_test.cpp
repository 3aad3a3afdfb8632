#include <gtest/gtest.h>

#include "ckpt/device.h"
#include "ckpt/error.h"
#include "ckpt/ops.h"
#include "formats/script_files.h"

namespace ckpt {
namespace {

using namespace script_testing;
using Names = std::vector<std::string>;

/// A tensor of the table; `more` comes after.
std::string table_entry(const std::string& key = "tensors/0", const std::string& device = "cpu",
                        const std::string& more = R"("dims":["4"],"offset":"0","strides":["1"],"dataType":"FLOAT")") {
  return "{" + more + R"(,"requiresGrad":false,"data":{"key":")" + key + R"("},"device":")" + device + "\"}";
}

std::string model(const std::string& main, const std::string& tensors) {
  return R"({"protoVersion":"3","mainModule":{)" + main +
         R"(,"name":"net","optimize":true},"producerName":"pytorch",)" + R"("tensors":[)" + tensors + "]}";
}

const std::string weights =
    R"("parameters":[{"isBuffer":true,"tensorId":"1","name":"mean"},{"tensorId":"0","name":"w"}])";
const std::string attribute = R"("attributes":[{"type":"Tensor","name":"value","id":"0"}])";

py::Code by_id(std::int64_t id) {
  return py::call(py::global("torch.jit._pickle", "build_tensor_from_id"), {py::integer(id)});
}

std::string refused(const ModelFile& file) {
  const auto error = torch_testing::refusal(bytes_of(file));
  return error ? error->what() : "read";
}

TEST(ScriptModel, IsReadByQualifiedNames) {
  const std::string main = weights + R"(,"submodules":[{"name":"fc","parameters":[{"tensorId":"0","name":"w"}]}])";
  const ModelFile file{.model = model(main, table_entry() + "," + table_entry())};
  const auto checkpoint = torch_testing::read_bytes(bytes_of(file));
  EXPECT_EQ(checkpoint.format, "torchscript");
  EXPECT_EQ(torch_testing::names(checkpoint), (Names{"w", "mean", "fc.w"}));
  EXPECT_EQ(torch_testing::values(checkpoint, 0), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(checkpoint.storages.size(), 1u) << "both tensors are of one member";
  EXPECT_EQ(torch_testing::names(take_root(checkpoint, "auto")), (Names{"w", "mean", "fc.w"}));
}

TEST(ScriptModel, AttributesReferToTheTable) {
  const ModelFile file{.model = model(attribute, table_entry()), .attributes = py::tuple({py::list({by_id(0)})})};
  EXPECT_EQ(torch_testing::names(torch_testing::read_bytes(bytes_of(file))), (Names{"value.0"}));
}

TEST(ScriptModel, TensorsThatNoModuleNamesAreConstants) {
  const ModelFile file{.model = model(attribute, table_entry() + "," + table_entry()),
                       .attributes = py::tuple({by_id(1)})};
  EXPECT_EQ(torch_testing::names(torch_testing::read_bytes(bytes_of(file))), (Names{"value", "CONSTANTS.c0"}));
}

TEST(ScriptModel, IsWrittenAgainByteForByteAndOnAnotherDevice) {
  const auto file = [](const std::string& device) {
    return ModelFile{.model =
                         model(weights, table_entry("tensors/0", device) + "," + table_entry("tensors/0", device))};
  };
  const auto checkpoint = torch_testing::read_bytes(bytes_of(file("cuda:0")));
  EXPECT_EQ(torch_testing::written(checkpoint), bytes_of(file("cuda:0")));
  EXPECT_EQ(torch_testing::written(remap(checkpoint, DeviceMap::all_to("cpu"))), bytes_of(file("cpu")));
}

TEST(ScriptModel, LiesAreRefused) {
  const auto says = [](const std::string& said, const ModelFile& file) {
    EXPECT_NE(refused(file).find(said), std::string::npos) << refused(file);
  };
  says("is no JSON", {.model = "{"});
  says("expected an object", {.model = "[]"});
  says("nested deeper", {.model = std::string(100'000, '[')});
  says("its mainModule", {.model = "{}"});
  says("does not hold 'tensors/9'", {.model = model(weights, table_entry("tensors/9"))});
  says("'mean' is tensor 1, expected one of the file's 1", {.model = model(weights, table_entry())});
  says("'value' is attribute 0", {.model = model(attribute, table_entry())});
  says("an attribute is tensor 7", {.model = model(attribute, table_entry()), .attributes = py::tuple({by_id(7)})});
  says("its dataType is 'STRING'",
       {.model = model(weights, table_entry("tensors/0", "cpu", R"("dims":["4"],"dataType":"STRING")"))});
  says("its dims", {.model = model(weights, table_entry("tensors/0", "cpu", R"("dims":["x"],"dataType":"FLOAT")"))});
  says("reaches element",
       {.model = model(R"("parameters":[])", table_entry("tensors/0", "cpu", R"("dims":["5"],"dataType":"FLOAT")"))});
  says("once as float32 on cpu and once as float32 on cuda:0",
       {.model = model(weights, table_entry() + "," + table_entry("tensors/0", "cuda:0"))});
  says("it is quantised",
       {.model =
            model(weights, table_entry("tensors/0", "cpu", R"("isQuantized":true,"dims":["4"],"dataType":"UINT8")"))});
}

}  // namespace
}  // namespace ckpt
