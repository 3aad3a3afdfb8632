#pragma once

#include <memory>

#include "models/captcha_resnet.h"
#include "models/model.h"

namespace ckpt::eval {

/// The captcha ResNet by libtorch's own operators, on any device.
std::unique_ptr<Network> captcha_resnet_aten(const CaptchaResNetWeights& weights, at::Device device,
                                             Precision precision);

}  // namespace ckpt::eval
