// The captcha ResNet as it is made ready for a CPU.
#include <ATen/TensorOperators.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "models/architecture.h"

namespace ckpt::eval {
namespace {

using Tensors = Weights;

void add_convolution(Tensors& tensors, const std::string& name, std::int64_t in, std::int64_t out, std::int64_t size) {
  tensors[name + ".0.weight"] =
      at::randn({out, in, size, size}) * std::sqrt(2.0 / static_cast<double>(in * size * size));
  tensors[name + ".1.weight"] = at::rand({out}) + 0.5;
  tensors[name + ".1.bias"] = at::randn({out}) * 0.3;
  tensors[name + ".1.running_mean"] = at::randn({out}) * 0.3;
  tensors[name + ".1.running_var"] = at::rand({out}) + 0.5;
}

Tensors random_weights() {
  Tensors tensors;
  add_convolution(tensors, "conv1", 3, 64, 3);
  for (int layer = 1; layer <= 4; ++layer) {
    const std::string name = "layer" + std::to_string(layer);
    const std::int64_t out = 32 << layer, in = layer == 1 ? 64 : out / 2;
    add_convolution(tensors, name + ".0.conv1", in, out, 3);
    add_convolution(tensors, name + ".0.conv2", out, out, 3);
    if (in != out) add_convolution(tensors, name + ".0.identity", in, out, 1);
    add_convolution(tensors, name + ".1.conv1", out, out, 3);
    add_convolution(tensors, name + ".1.conv2", out, out, 3);
  }
  tensors["fc_model.weight"] = at::randn({144, 512}) / 22;
  tensors["fc_model.bias"] = at::randn({144}) / 22;
  return tensors;
}

/// The network as it is defined, in float64: nothing folded, nothing transformed.
at::Tensor defined_logits(const Tensors& tensors, const at::Tensor& inputs) {
  const auto float64 = [&](const std::string& name) { return tensors.at(name).to(at::kDouble); };
  const auto convolution = [&](const std::string& name, const at::Tensor& x, std::int64_t stride) {
    const at::Tensor weight = float64(name + ".0.weight");
    return at::batch_norm(at::conv2d(x, weight, {}, stride, weight.size(2) / 2), float64(name + ".1.weight"),
                          float64(name + ".1.bias"), float64(name + ".1.running_mean"),
                          float64(name + ".1.running_var"), false, 0, 1e-5, false);
  };
  at::Tensor x = convolution("conv1", inputs.to(at::kDouble), 1).relu();
  for (const std::string layer : {"layer1", "layer2", "layer3", "layer4"}) {
    for (const std::string block : {".0", ".1"}) {
      const std::string name = layer + block;
      const bool narrows = tensors.count(name + ".identity.0.weight") != 0;
      const at::Tensor y = convolution(name + ".conv1", x, narrows ? 2 : 1).relu();
      x = (convolution(name + ".conv2", y, 1) + (narrows ? convolution(name + ".identity", x, 2) : x)).relu();
    }
  }
  return at::linear(x.mean({2, 3}), float64("fc_model.weight"), float64("fc_model.bias"));
}

class CaptchaResnet : public testing::Test {
 protected:
  const Tensors tensors = random_weights();
  const std::unique_ptr<Model> model = captcha_resnet.make({}, tensors, {});
  const std::shared_ptr<const Network> prepared = model->prepare(at::Device(at::kCPU), Precision::fp32);
  const Network& network = *prepared;
  const at::Tensor inputs = at::rand({5, 3, 56, 24});
};

TEST_F(CaptchaResnet, has_the_logits_of_its_definition) {
  const at::Tensor defined = defined_logits(tensors, inputs), logits = network.logits(inputs);
  const double scale = defined.abs().max().item<double>();
  EXPECT_LT((logits - defined).abs().max().item<double>(), 1e-5 * scale) << "the largest logit is " << scale;
}

TEST_F(CaptchaResnet, takes_channels_last_as_well) {
  EXPECT_TRUE(network.logits(inputs.contiguous(at::MemoryFormat::ChannelsLast)).equal(network.logits(inputs)));
}

TEST_F(CaptchaResnet, answers_about_a_picture_alone_as_in_a_batch) {
  const at::Tensor together = network.logits(inputs);
  for (std::int64_t i = 0; i < inputs.size(0); ++i) {
    const at::Tensor alone = network.logits(inputs.slice(0, i, i + 1));
    EXPECT_LT((alone - together.slice(0, i, i + 1)).abs().max().item<float>(), 1e-4F) << i;
  }
}

TEST_F(CaptchaResnet, answers_several_threads_at_once) {
  const at::Tensor alone = network.logits(inputs);
  std::vector<at::Tensor> answers(4);
  std::vector<std::thread> threads;
  for (at::Tensor& answer : answers) threads.emplace_back([&] { answer = network.logits(inputs); });
  for (std::thread& thread : threads) thread.join();
  for (const at::Tensor& answer : answers) EXPECT_TRUE(answer.equal(alone));
}

}  // namespace
}  // namespace ckpt::eval
