#include <gtest/gtest.h>

#include "ckpt/ops.h"
#include "formats/torch_files.h"

namespace ckpt {
namespace {

using torch_testing::storage;
using torch_testing::tensor;

/// Tensors on cuda:0, cuda:1 and cpu, and a string that looks like a device.
Checkpoint mixed() {
  const auto on = [](const std::string& key, const std::string& location) {
    return tensor(storage({.key = key, .location = location}), {4}, {1});
  };
  const torch_testing::ZipFile file{.object = py::dict({{py::str("a"), on("0", "cuda:0")},
                                                        {py::str("b"), on("1", "cuda:1")},
                                                        {py::str("c"), on("2", "cpu")},
                                                        {py::str("device"), py::str("cuda:0")}}),
                                    .data = {{"data/0", torch_testing::floats({0, 1, 2, 3})},
                                             {"data/1", torch_testing::floats({4, 5, 6, 7})},
                                             {"data/2", torch_testing::floats({8, 9, 10, 11})}}};
  return torch_testing::read_bytes(bytes_of(file));
}

std::string locations(const Checkpoint& checkpoint) {
  std::string out;
  for (const Storage& storage : checkpoint.storages) out += storage.location + " ";
  return out;
}

std::string text_of(const Checkpoint& checkpoint) { return std::string(as_text(torch_testing::written(checkpoint))); }

TEST(Remap, ChangesEveryStorage) { EXPECT_EQ(locations(remap(mixed(), DeviceMap::all_to("mps"))), "mps mps mps "); }

TEST(Remap, LeavesWhatNoRuleNames) {
  DeviceMap map;
  map.add("cuda:0=cuda:1");
  map.add("cuda:1=cuda:0");
  EXPECT_EQ(locations(remap(mixed(), map)), "cuda:1 cuda:0 cpu ");
}

TEST(Remap, TouchesNoOtherString) {
  const auto back = torch_testing::read_bytes(torch_testing::written(remap(mixed(), DeviceMap::all_to("cpu"))));
  EXPECT_EQ(locations(back), "cpu cpu cpu ");
  const std::string text = text_of(back);
  const auto first = text.find("cuda:0");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find("cuda", first + 1), std::string::npos);
}

TEST(Remap, TwiceIsAsOnce) {
  const auto once = remap(mixed(), DeviceMap::all_to("cpu"));
  EXPECT_EQ(text_of(remap(once, DeviceMap::all_to("cpu"))), text_of(once));
}

TEST(Remap, ChangesDevicesThatNoStorageNames) {
  const auto code =
      py::call(py::global("torch._utils", "_rebuild_device_tensor_from_cpu_tensor"),
               {torch_testing::weight(), py::global("torch", "float32"), py::str("xla:0"), py::boolean(false)});
  const auto source = torch_testing::checkpoint_of(py::list({code, py::str("xla:0")}));
  EXPECT_EQ(device_of(source, source.tensors[1]), "xla:0");
  const auto back = torch_testing::read_bytes(torch_testing::written(remap(source, DeviceMap::all_to("mps"))));
  EXPECT_EQ(device_of(back, back.tensors[1]), "mps");
  EXPECT_NE(text_of(back).find("xla:0"), std::string::npos) << "a string elsewhere stays";
}

TEST(Remap, LeavesItsSourceAsItWas) {
  const Checkpoint source = mixed();
  const std::string before = text_of(source);
  const Checkpoint moved = remap(source, DeviceMap::all_to("cpu"));
  EXPECT_EQ(locations(source), "cuda:0 cuda:1 cpu ");
  EXPECT_EQ(text_of(source), before);
  EXPECT_EQ(moved.storages[0].bytes, source.storages[0].bytes) << "bytes are shared";
}

}  // namespace
}  // namespace ckpt
