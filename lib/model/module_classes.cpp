// A table, and a long one: what torch 2.11 says of its own classes (tests/interop/modules.py compares it).
#include <algorithm>
#include <iterator>

#include "model/module_reader.h"

namespace ckpt {
namespace {

// By name. Not here: the norms of version 2, which their buffers show (num_batches_tracked), but for those that write
// their own state.
constexpr ModuleClass classes[] = {
    {"torch.ao.nn.intrinsic.qat.modules.conv_fused.ConvBn1d", 2, false},
    {"torch.ao.nn.intrinsic.qat.modules.conv_fused.ConvBn2d", 2, false},
    {"torch.ao.nn.intrinsic.qat.modules.conv_fused.ConvBn3d", 2, false},
    {"torch.ao.nn.intrinsic.qat.modules.conv_fused.ConvBnReLU1d", 2, false},
    {"torch.ao.nn.intrinsic.qat.modules.conv_fused.ConvBnReLU2d", 2, false},
    {"torch.ao.nn.intrinsic.qat.modules.conv_fused.ConvBnReLU3d", 2, false},
    {"torch.ao.nn.intrinsic.qat.modules.conv_fused._ConvBnNd", 2, false},
    {"torch.ao.nn.intrinsic.quantized.dynamic.modules.linear_relu.LinearReLU", 4, true},
    {"torch.ao.nn.intrinsic.quantized.modules.conv_add.ConvAdd2d", 1, true},
    {"torch.ao.nn.intrinsic.quantized.modules.conv_add.ConvAddReLU2d", 1, true},
    {"torch.ao.nn.intrinsic.quantized.modules.conv_relu.ConvReLU1d", 1, true},
    {"torch.ao.nn.intrinsic.quantized.modules.conv_relu.ConvReLU2d", 1, true},
    {"torch.ao.nn.intrinsic.quantized.modules.conv_relu.ConvReLU3d", 1, true},
    {"torch.ao.nn.intrinsic.quantized.modules.linear_relu.LinearLeakyReLU", 3, true},
    {"torch.ao.nn.intrinsic.quantized.modules.linear_relu.LinearReLU", 3, true},
    {"torch.ao.nn.intrinsic.quantized.modules.linear_relu.LinearTanh", 3, true},
    {"torch.ao.nn.quantized.dynamic.modules.conv.Conv1d", 1, true},
    {"torch.ao.nn.quantized.dynamic.modules.conv.Conv2d", 1, true},
    {"torch.ao.nn.quantized.dynamic.modules.conv.Conv3d", 1, true},
    {"torch.ao.nn.quantized.dynamic.modules.conv.ConvTranspose1d", 1, true},
    {"torch.ao.nn.quantized.dynamic.modules.conv.ConvTranspose2d", 1, true},
    {"torch.ao.nn.quantized.dynamic.modules.conv.ConvTranspose3d", 1, true},
    {"torch.ao.nn.quantized.dynamic.modules.linear.Linear", 4, true},
    {"torch.ao.nn.quantized.dynamic.modules.rnn.GRU", 2, false},
    {"torch.ao.nn.quantized.dynamic.modules.rnn.GRUCell", 1, true},
    {"torch.ao.nn.quantized.dynamic.modules.rnn.LSTM", 2, false},
    {"torch.ao.nn.quantized.dynamic.modules.rnn.LSTMCell", 1, true},
    {"torch.ao.nn.quantized.dynamic.modules.rnn.PackedParameter", 1, true},
    {"torch.ao.nn.quantized.dynamic.modules.rnn.RNNBase", 2, false},
    {"torch.ao.nn.quantized.dynamic.modules.rnn.RNNCell", 1, true},
    {"torch.ao.nn.quantized.dynamic.modules.rnn.RNNCellBase", 1, true},
    {"torch.ao.nn.quantized.modules.conv.Conv1d", 1, true},
    {"torch.ao.nn.quantized.modules.conv.Conv2d", 1, true},
    {"torch.ao.nn.quantized.modules.conv.Conv3d", 1, true},
    {"torch.ao.nn.quantized.modules.conv.ConvTranspose1d", 1, true},
    {"torch.ao.nn.quantized.modules.conv.ConvTranspose2d", 1, true},
    {"torch.ao.nn.quantized.modules.conv.ConvTranspose3d", 1, true},
    {"torch.ao.nn.quantized.modules.conv._ConvNd", 1, true},
    {"torch.ao.nn.quantized.modules.conv._ConvTransposeNd", 1, true},
    {"torch.ao.nn.quantized.modules.embedding_ops.EmbeddingPackedParams", 1, true},
    {"torch.ao.nn.quantized.modules.functional_modules.QFunctional", 1, true},
    {"torch.ao.nn.quantized.modules.linear.Linear", 3, true},
    {"torch.ao.nn.quantized.modules.linear.LinearPackedParams", 3, true},
    {"torch.ao.nn.quantized.reference.modules.conv.Conv1d", 1, true},
    {"torch.ao.nn.quantized.reference.modules.conv.Conv2d", 1, true},
    {"torch.ao.nn.quantized.reference.modules.conv.Conv3d", 1, true},
    {"torch.ao.nn.quantized.reference.modules.conv.ConvTranspose1d", 1, true},
    {"torch.ao.nn.quantized.reference.modules.conv.ConvTranspose2d", 1, true},
    {"torch.ao.nn.quantized.reference.modules.conv.ConvTranspose3d", 1, true},
    {"torch.ao.nn.quantized.reference.modules.conv._ConvNd", 1, true},
    {"torch.ao.nn.quantized.reference.modules.conv._ConvTransposeNd", 1, true},
    {"torch.ao.nn.quantized.reference.modules.linear.Linear", 1, true},
    {"torch.ao.nn.quantized.reference.modules.sparse.Embedding", 1, true},
    {"torch.ao.nn.quantized.reference.modules.sparse.EmbeddingBag", 1, true},
    {"torch.ao.nn.quantized.reference.modules.utils.ReferenceQuantizedModule", 1, true},
    {"torch.ao.nn.sparse.quantized.dynamic.linear.Linear", 1, true},
    {"torch.ao.nn.sparse.quantized.linear.Linear", 1, true},
    {"torch.ao.nn.sparse.quantized.linear.LinearPackedParams", 1, true},
    {"torch.ao.pruning._experimental.pruner.parametrization.FakeStructuredSparsity", 1, true},
    {"torch.ao.pruning.sparsifier.utils.FakeSparsity", 1, true},
    {"torch.ao.quantization.fake_quantize.FakeQuantize", 1, true},
    {"torch.ao.quantization.fake_quantize.FixedQParamsFakeQuantize", 1, true},
    {"torch.ao.quantization.fake_quantize.FusedMovingAvgObsFakeQuantize", 1, true},
    {"torch.ao.quantization.observer.HistogramObserver", 3, true},
    {"torch.ao.quantization.observer.MinMaxObserver", 3, false},
    {"torch.ao.quantization.observer.MovingAverageMinMaxObserver", 3, false},
    {"torch.ao.quantization.observer.MovingAveragePerChannelMinMaxObserver", 3, false},
    {"torch.ao.quantization.observer.PerChannelMinMaxObserver", 3, false},
    {"torch.ao.quantization.observer.UniformQuantizationObserverBase", 3, false},
    {"torch.nn.modules.batchnorm.LazyBatchNorm1d", 2, true},
    {"torch.nn.modules.batchnorm.LazyBatchNorm2d", 2, true},
    {"torch.nn.modules.batchnorm.LazyBatchNorm3d", 2, true},
    {"torch.nn.modules.batchnorm._LazyNormBase", 2, true},
    {"torch.nn.modules.conv.LazyConv1d", 1, true},
    {"torch.nn.modules.conv.LazyConv2d", 1, true},
    {"torch.nn.modules.conv.LazyConv3d", 1, true},
    {"torch.nn.modules.conv.LazyConvTranspose1d", 1, true},
    {"torch.nn.modules.conv.LazyConvTranspose2d", 1, true},
    {"torch.nn.modules.conv.LazyConvTranspose3d", 1, true},
    {"torch.nn.modules.instancenorm.LazyInstanceNorm1d", 2, true},
    {"torch.nn.modules.instancenorm.LazyInstanceNorm2d", 2, true},
    {"torch.nn.modules.instancenorm.LazyInstanceNorm3d", 2, true},
    {"torch.nn.modules.linear.LazyLinear", 1, true},
};

}  // namespace

const ModuleClass* find_module_class(std::string_view name) {
  const auto* const found =
      std::lower_bound(std::begin(classes), std::end(classes), name,
                       [](const ModuleClass& known, std::string_view wanted) { return known.name < wanted; });
  return found == std::end(classes) || found->name != name ? nullptr : found;
}

}  // namespace ckpt
