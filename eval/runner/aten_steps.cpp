#include <ATen/ops/arange.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include "runner/device_steps.h"

namespace ckpt::eval {
namespace {

class AtenSteps final : public DeviceSteps {
 public:
  AtenSteps(at::Device device, const SampleLayout& layout)
      : layout_(layout),
        table_(at::tensor(at::ArrayRef<float>(layout.table().data(), layout.table().size())).to(device)),
        rows_(
            at::arange(layout.scale().positions, at::TensorOptions(at::kLong)).mul(layout.scale().classes).to(device)) {
  }

  at::Tensor lay_out(const at::Tensor& inputs, const std::vector<std::int64_t>& sizes) override {
    // By the table, since a GPU divides by a number by multiplying.
    const at::Tensor values =
        inputs.scalar_type() == at::kByte ? table_.index_select(0, inputs.view({-1}).to(at::kInt)) : inputs;
    return values.view(sizes).contiguous(layout_.memory_format());
  }

  Said count(const at::Tensor& outputs, const at::Tensor& labels, const at::Tensor& counters, bool) override {
    const auto [positions, classes] = layout_.scale();
    const at::Tensor finite = at::isfinite(outputs).all(1);
    const at::Tensor read = outputs.view({-1, positions, classes}).argmax(2);
    const at::Tensor label = labels.to(at::kLong);
    const at::Tensor correct = read.eq(label).all(1).logical_and(finite);
    const at::Tensor is_class = label.ge(0).logical_and(label.lt(classes)).logical_and(finite.unsqueeze(1));
    const at::Tensor bin = label.add(rows_).mul(classes).add(read).add(2);
    const at::Tensor place = at::where(is_class, bin, counters.numel() - 1).view({-1});
    const at::Tensor added = at::zeros_like(counters);
    added.scatter_add_(0, place, at::ones_like(place));
    added.narrow(0, 0, 1).add_(correct.sum());
    added.narrow(0, 1, 1).add_(finite.logical_not().sum());
    counters.add_(added);
    return {};
  }

 private:
  const SampleLayout& layout_;
  at::Tensor table_;
  at::Tensor rows_;  // [positions]: how many rows of the confusion come before a position's
};

}  // namespace

std::unique_ptr<DeviceSteps> aten_steps(at::Device device, const SampleLayout& layout) {
  return std::make_unique<AtenSteps>(device, layout);
}

}  // namespace ckpt::eval
