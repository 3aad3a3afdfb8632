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

std::shared_ptr<const Network> prepared(const torch::jit::Module& module) {
  std::ostringstream file;
  module.save(file);
  const std::string bytes = file.str();
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  ModelRequest request;
  request.arch = "torchscript";
  const auto model = load_torchscript(memory_source({data, data + bytes.size()}, "script.pt"), request);
  return model->prepare(at::Device(at::kCPU), Precision::fp32);
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

}  // namespace
}  // namespace ckpt::eval
