#pragma once

#include <memory>

#include "models/captcha_resnet.h"
#include "models/model.h"

namespace ckpt::eval {

/// The captcha ResNet on a CPU: pixels before channels in memory, the convolutions of stride 1 by Winograd (8 of 10
/// multiplications), the others by ATen. Best with one caller a core, each with at::set_num_threads(1) and batches of
/// 20 to 50. What is made of the weights takes 160 MB; they are released one by one meanwhile.
std::unique_ptr<Network> captcha_resnet_cpu(CaptchaResNetWeights weights);

}  // namespace ckpt::eval
