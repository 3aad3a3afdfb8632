#include "models/winograd.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/kron.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace ckpt::eval {
namespace {

constexpr std::int64_t elements = 36;

// At most so many tiles are transformed, multiplied and transformed back before the next ones: few enough that they
// stay in a core's cache, enough that the products are worth the weights that they read.
constexpr std::int64_t tiles_at_once = 56;

/// Where the tiles of a batch of pictures lie, numbered through all of them.
struct Tiles {
  std::int64_t height, width;  // of a picture, in pixels
  std::int64_t rows = (height + 3) / 4, columns = (width + 3) / 4;

  /// The number, in the batch, of a pixel of a tile (`row` and `column` count from its first); -1 outside the picture.
  [[nodiscard]] std::int64_t pixel(std::int64_t tile, std::int64_t row, std::int64_t column) const {
    row += tile / columns % rows * 4;
    column += tile % columns * 4;
    if (row < 0 || row >= height || column < 0 || column >= width) return -1;
    return (tile / (rows * columns) * height + row) * width + column;
  }
};

}  // namespace

WinogradConvolution::WinogradConvolution(const at::Tensor& weight, const at::Tensor& bias,
                                         const WinogradTransforms& transforms)
    : transforms_(transforms), bias_(bias.to(at::kFloat).contiguous()) {
  const std::int64_t outputs = weight.size(0), inputs = weight.size(1), slice = 16;
  const double near = std::sqrt(0.5), far = std::sqrt(2.0);
  const double one_dimension[] = {
      1,        0,       0,       -2.0 / 3, -2.0 / 3 * near, -1.0 / 3, -2.0 / 3, 2.0 / 3 * near,
      -1.0 / 3, 1.0 / 6, far / 6, 1.0 / 3,  1.0 / 6,         -far / 6, 1.0 / 3,  0,
      0,        1};
  const at::Tensor six_by_three = at::tensor(at::ArrayRef<double>(one_dimension), at::kDouble).view({6, 3});
  const at::Tensor transform = at::kron(six_by_three, six_by_three);
  weight_ = at::empty({elements, inputs, outputs}, at::kFloat);
  for (std::int64_t begin = 0; begin < inputs; begin += slice) {  // in slices, as float64 takes memory
    const std::int64_t end = std::min(begin + slice, inputs);
    const at::Tensor filters = weight.slice(1, begin, end).to(at::kDouble).permute({2, 3, 1, 0}).reshape({9, -1});
    weight_.slice(1, begin, end).copy_(at::mm(transform, filters).view({elements, -1, outputs}));
  }
}

at::Tensor WinogradConvolution::relu(const at::Tensor& x, at::Tensor&& added) const {
  const Tiles where{x.size(2), x.size(3)};
  const std::int64_t inputs = weight_.size(1), outputs = weight_.size(2);
  const std::int64_t tiles = x.size(0) * where.rows * where.columns;
  const std::int64_t blocks = (tiles + tiles_at_once - 1) / tiles_at_once;
  const std::int64_t block = blocks > 0 ? (tiles + blocks - 1) / blocks : 0;  // as even as can be

  // A pixel of what is added is read before it is written, and only for itself.
  const bool adds = added.defined();
  at::Tensor result =
      adds ? std::move(added).contiguous(at::MemoryFormat::ChannelsLast)
           : at::empty({x.size(0), outputs, x.size(2), x.size(3)}, x.options(), at::MemoryFormat::ChannelsLast);
  at::Tensor before = at::empty({elements, block, inputs}, x.options());
  at::Tensor after = at::empty({elements, block, outputs}, x.options());
  const at::Tensor zeros = at::zeros({std::max(inputs, outputs)}, x.options());  // for pixels outside the picture
  at::Tensor nowhere = at::empty({outputs}, x.options());

  const at::Tensor x_pixels = x.contiguous(at::MemoryFormat::ChannelsLast);
  const float* const from = x_pixels.const_data_ptr<float>();
  const float* const nothing = zeros.const_data_ptr<float>();
  float* const to = result.mutable_data_ptr<float>();
  for (std::int64_t begin = 0; begin < tiles; begin += block) {
    const std::int64_t count = std::min(block, tiles - begin);
    for (std::int64_t tile = 0; tile < count; ++tile) {
      const float* pixels[36];
      for (int i = 0; i < 36; ++i) {
        const std::int64_t pixel = where.pixel(begin + tile, i / 6 - 1, i % 6 - 1);
        pixels[i] = pixel < 0 ? nothing : from + pixel * inputs;
      }
      transforms_.input(pixels, inputs, before.mutable_data_ptr<float>() + tile * inputs, block * inputs);
    }
    at::bmm_out(after, before, weight_);
    for (std::int64_t tile = 0; tile < count; ++tile) {
      const float* addends[16];
      float* pixels[16];
      for (int i = 0; i < 16; ++i) {
        const std::int64_t pixel = where.pixel(begin + tile, i / 4, i % 4);
        addends[i] = pixel < 0 || !adds ? nothing : to + pixel * outputs;
        pixels[i] = pixel < 0 ? nowhere.mutable_data_ptr<float>() : to + pixel * outputs;
      }
      transforms_.output(after.const_data_ptr<float>() + tile * outputs, block * outputs, outputs,
                         bias_.const_data_ptr<float>(), addends, pixels);
    }
  }
  return result;
}

}  // namespace ckpt::eval
