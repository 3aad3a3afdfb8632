#include "models/winograd.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ckpt::eval {
namespace {

struct Case {
  std::int64_t count, inputs, outputs, height, width;
};

at::Tensor pictures(std::int64_t count, std::int64_t channels, std::int64_t height, std::int64_t width) {
  return at::randn({count, channels, height, width}).contiguous(at::MemoryFormat::ChannelsLast);
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

class Winograd : public testing::TestWithParam<Case> {
 protected:
  const Case& shape = GetParam();
  // Outputs are then about 1 in size.
  const at::Tensor weight =
      at::randn({shape.outputs, shape.inputs, 3, 3}, at::kDouble) / (3 * std::sqrt(static_cast<double>(shape.inputs)));
  const at::Tensor bias = at::randn({shape.outputs}, at::kDouble);
  const at::Tensor x = pictures(shape.count, shape.inputs, shape.height, shape.width);
  const at::Tensor direct = at::conv2d(x.to(at::kDouble), weight, bias, 1, 1);
};

TEST_P(Winograd, is_a_convolution_and_a_relu_on_every_instruction_set) {
  for (const WinogradTransforms& transforms : winograd_transforms()) {
    const WinogradConvolution convolution(weight, bias, transforms);
    EXPECT_LT(largest_difference(convolution.relu(x), direct.relu()), 2e-5) << transforms.name;
  }
}

TEST_P(Winograd, adds_before_the_relu) {
  const at::Tensor added = pictures(shape.count, shape.outputs, shape.height, shape.width);
  for (const WinogradTransforms& transforms : winograd_transforms()) {
    const WinogradConvolution convolution(weight, bias, transforms);
    EXPECT_LT(largest_difference(convolution.relu(x, added.clone()), (direct + added).relu()), 2e-5) << transforms.name;
  }
}

// Pictures of whole tiles and not, smaller than a tile, more tiles than a block, several slices of inputs.
INSTANTIATE_TEST_SUITE_P(Shapes, Winograd,
                         testing::Values(Case{1, 8, 8, 4, 4}, Case{3, 8, 16, 1, 1}, Case{5, 16, 8, 7, 3},
                                         Case{2, 72, 24, 14, 6}, Case{3, 64, 64, 56, 24}, Case{61, 8, 8, 2, 9}));

TEST(WinogradConvolution, of_no_pictures_is_no_pictures) {
  const WinogradConvolution convolution(at::randn({8, 8, 3, 3}, at::kDouble), at::randn({8}, at::kDouble));
  EXPECT_EQ(convolution.relu(pictures(0, 8, 4, 4)).sizes(), (std::vector<std::int64_t>{0, 8, 4, 4}));
}

TEST(WinogradConvolution, keeps_a_nan) {
  for (const WinogradTransforms& transforms : winograd_transforms()) {
    const WinogradConvolution convolution(at::randn({8, 8, 3, 3}, at::kDouble), at::randn({8}, at::kDouble),
                                          transforms);
    const at::Tensor x = at::full({1, 8, 4, 4}, std::numeric_limits<float>::quiet_NaN());
    const at::Tensor y = convolution.relu(x.contiguous(at::MemoryFormat::ChannelsLast));
    EXPECT_TRUE(y.isnan().all().item<bool>()) << transforms.name;
  }
}

}  // namespace
}  // namespace ckpt::eval
