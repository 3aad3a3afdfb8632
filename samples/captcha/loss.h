#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/binary_cross_entropy.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/softmax.h>

#include "resnet.h"

namespace captcha {

enum class Loss {
  bce,  ///< the recipe's: BCELoss on each position's softmax, the mean over 144 numbers a sample
  ce,   ///< cross-entropy a position, which learns faster
};

/// The mean over the samples. `targets`: one-hot (N, 144).
inline at::Tensor loss_of(Loss loss, const at::Tensor& outputs, const at::Tensor& targets) {
  if (loss == Loss::ce)
    return at::cross_entropy_loss(outputs.view({-1, characters}), targets.view({-1, characters}).argmax(1));
  return at::binary_cross_entropy(outputs.view({-1, positions, characters}).softmax(2).view_as(targets), targets);
}

/// How many samples are right: in all four positions.
inline at::Tensor right_of(const at::Tensor& outputs, const at::Tensor& targets) {
  const auto read = [](const at::Tensor& tensor) { return tensor.view({-1, positions, characters}).argmax(2); };
  return read(outputs).eq(read(targets)).all(1).sum();
}

}  // namespace captcha
