#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <atomic>
#include <sstream>
#include <thread>

#include "ckpt/byte_source.h"
#include "models/model.h"

namespace ckpt::eval {
namespace {

std::shared_ptr<const Network> prepared(const torch::jit::Module& module, at::Device device = at::kCPU) {
  std::ostringstream file;
  module.save(file);
  const std::string bytes = file.str();
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  ModelRequest request;
  request.arch = "torchscript";
  const auto model = load_torchscript(memory_source({data, data + bytes.size()}, "script.pt"), request);
  return model->prepare(device, Precision::fp32);
}

TEST(TorchScript, leaves_its_inputs_as_they_are) {
  torch::jit::Module module("changes_inputs");
  module.define("def forward(self, x):\n  return x.sub_(1)\n");
  const auto network = prepared(module);
  const c10::InferenceMode inference;
  const at::Tensor inputs = at::full({2, 3}, 5.0F);
  for (int time = 0; time < 2; ++time) EXPECT_TRUE(network->logits(inputs).equal(at::full({2, 3}, 4.0F)));
  EXPECT_TRUE(inputs.equal(at::full({2, 3}, 5.0F)));
}

TEST(TorchScript, keeps_calls_at_once_apart) {
  torch::jit::Module inner("keeps"), module("holds");
  inner.register_attribute("kept", at::TensorType::get(), at::zeros({1}));
  inner.register_buffer("sum", at::zeros({1}));
  inner.define(
      "def forward(self, x):\n  self.kept = x\n  self.sum.copy_(x[0, :1])\n  y = x @ x.t()\n  for i in range(20):\n"
      "    y = (y @ y) * 0\n  return self.kept + y[:, :1] + (self.sum - x[0, :1])\n");
  module.register_module("inner", inner);
  module.define("def forward(self, x):\n  return self.inner.forward(x)\n");
  const auto network = prepared(module);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number)
    threads.emplace_back([&, number] {
      const c10::InferenceMode inference;
      const at::Tensor inputs = at::full({32, 8}, static_cast<float>(number));
      for (int time = 0; time < 200; ++time) wrong += !network->logits(inputs).equal(inputs);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(TorchScript, takes_frozen_weights_to_the_device) {
  torch::jit::Module module("holds");
  module.register_parameter("weight", at::full({3, 2}, 2.0F), false);
  module.define("def forward(self, x):\n  return x @ self.weight\n");
  module.eval();
  const torch::jit::Module frozen = torch::jit::freeze(module);
  ASSERT_EQ(frozen.parameters().size(), 0U);
  const c10::InferenceMode inference;
  EXPECT_TRUE(prepared(frozen)->logits(at::full({1, 3}, 1.0F)).equal(at::full({1, 2}, 6.0F)));
  const at::Tensor outputs = prepared(frozen, at::kMeta)->logits(at::full({1, 3}, 1.0F, at::TensorOptions(at::kMeta)));
  EXPECT_TRUE(outputs.is_meta());
}

}  // namespace
}  // namespace ckpt::eval
