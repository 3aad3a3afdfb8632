#include "group.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/DeviceGuard.h>

#include <memory>

#include "device.h"
#include "store_group.h"
#include "thread_group.h"

namespace training {
namespace {

constexpr std::int64_t bucket_numbers = 25 * 1000 * 1000 / 4;

class Alone final : public Group {
 public:
  Alone() : Group(0, 1) {}
  void sum(at::Tensor&) override {}
};

}  // namespace

void Group::sum_in_buckets(const std::vector<at::Tensor>& tensors) {
  for (std::size_t first = 0; first < tensors.size();) {
    std::size_t last = first;
    std::int64_t numbers = 0;
    while (last < tensors.size() && (last == first || numbers + tensors[last].numel() <= bucket_numbers))
      numbers += tensors[last++].numel();
    at::Tensor bucket = at::empty({numbers}, tensors[first].options().dtype(at::kFloat).requires_grad(false));
    std::int64_t at = 0;
    for (std::size_t i = first; i < last; at += tensors[i++].numel())
      bucket.narrow(0, at, tensors[i].numel()).copy_(tensors[i].reshape({-1}));
    sum(bucket);
    at = 0;
    for (std::size_t i = first; i < last; at += tensors[i++].numel())
      tensors[i].copy_(bucket.narrow(0, at, tensors[i].numel()).view(tensors[i].sizes()));
    first = last;
  }
}

void Group::share(const std::vector<at::Tensor>& tensors) {
  if (size_ == 1) return;
  const at::NoGradGuard none;
  if (rank_ != 0)
    for (const at::Tensor& tensor : tensors) tensor.zero_();
  sum_in_buckets(tensors);
}

void Group::sum_gradients(const std::vector<at::Tensor>& parameters) {
  if (size_ == 1) return;
  const at::NoGradGuard none;
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters) {
    if (!parameter.grad().defined()) parameter.mutable_grad() = at::zeros_like(parameter);
    gradients.push_back(parameter.grad());
  }
  sum_in_buckets(gradients);
}

void Group::average(const std::vector<at::Tensor>& tensors) {
  if (size_ == 1) return;
  const at::NoGradGuard none;
  std::vector<at::Tensor> floating;
  for (const at::Tensor& tensor : tensors)
    if (tensor.is_floating_point()) floating.push_back(tensor);
  for (const at::Tensor& tensor : floating) tensor.div_(size_);
  sum_in_buckets(floating);
}

void train_on(const std::string& word, const std::function<void(Group&, at::Device)>& train) {
  if (const auto place = torchrun_place()) {
    const std::vector<c10::Device> devices = devices_of(word, place->local_rank);
    const c10::DeviceGuard guard(devices.front());
    const std::unique_ptr<Group> group = join_ranks(*place, devices);
    train(*group, devices.front());
    return;
  }
  const std::vector<c10::Device> devices = devices_of(word);
  if (devices.size() > 1) return run_threads(devices, train);
  const c10::DeviceGuard guard(devices.front());
  Alone alone;
  train(alone, devices.front());
}

}  // namespace training
