#include "resnet.h"

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>

namespace captcha {
namespace {

namespace nn = torch::nn;

nn::Sequential convolution(std::int64_t in, std::int64_t out, std::int64_t size, std::int64_t stride) {
  return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(in, out, size).stride(stride).padding(size / 2).bias(false)),
                        nn::BatchNorm2d(out));
}

class BasicBlock final : public nn::Module {
 public:
  BasicBlock(std::int64_t in, std::int64_t out, std::int64_t stride)
      : conv1(register_module("conv1", convolution(in, out, 3, stride))),
        conv2(register_module("conv2", convolution(out, out, 3, 1))),
        identity(register_module("identity",
                                 stride == 1 && in == out ? nn::Sequential() : convolution(in, out, 1, stride))) {}

  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor straight = identity->is_empty() ? x : identity->forward(x);
    return (conv2->forward(conv1->forward(x).relu()) + straight).relu();
  }

 private:
  nn::Sequential conv1, conv2, identity;
};

nn::Sequential layer(std::int64_t in, std::int64_t out, std::int64_t stride) {
  return nn::Sequential(BasicBlock(in, out, stride), BasicBlock(out, out, 1));
}

}  // namespace

CaptchaResNet::CaptchaResNet()
    : conv1(register_module("conv1", convolution(3, 64, 3, 1))),
      layer1(register_module("layer1", layer(64, 64, 1))),
      layer2(register_module("layer2", layer(64, 128, 2))),
      layer3(register_module("layer3", layer(128, 256, 2))),
      layer4(register_module("layer4", layer(256, 512, 2))),
      fc_model(register_module("fc_model", nn::Linear(512, positions * characters))) {}

at::Tensor CaptchaResNet::forward(const at::Tensor& pictures) {
  at::Tensor x = conv1->forward(pictures).relu();
  for (nn::Sequential* part : {&layer1, &layer2, &layer3, &layer4}) x = (*part)->forward(x);
  return fc_model->forward(x.mean({2, 3}));
}

}  // namespace captcha
