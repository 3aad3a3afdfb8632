#include "trainer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "order.h"
#include "seeded.h"

namespace captcha {
namespace {

std::shared_ptr<CaptchaResNet> model_on(at::Device device, std::int64_t seed, const std::string& init) {
  auto model = training::seeded<CaptchaResNet>(seed);
  if (!init.empty()) training::load_model(init, *model);
  model->to(device);
  return model;
}

}  // namespace

Trainer::Trainer(training::Group& group, at::Device device, Loss loss, std::int64_t batch, std::int64_t seed,
                 const std::string& init)
    : group_(group),
      device_(device),
      loss_(loss),
      batch_(batch),
      model_(model_on(device, seed, init)),
      optimizer_(model_->parameters(), torch::optim::AdamOptions(1e-3)),
      sums_(at::zeros({2}, at::TensorOptions(at::kFloat).device(device))) {
  group_.share(model_->parameters());
  group_.share(model_->buffers());
}

Score Trainer::learn(const std::vector<std::string>& files, std::int64_t seed) {
  model_->train();
  training::Orders orders(seed);
  const at::Tensor order = orders.next(static_cast<std::int64_t>(files.size()));
  double steps = 0, samples = 0;
  for (std::int64_t i = 0; i < order.size(0); ++i) {
    const training::Batch file = load_captchas(files[static_cast<std::size_t>(order[i].item<std::int64_t>())]);
    const std::int64_t count = file.inputs.size(0);
    learn({file.inputs.to(device_), file.targets.to(device_)}, orders.next(count));
    steps += static_cast<double>((count + batch_ - 1) / batch_);
    samples += static_cast<double>(count);
  }
  // Each rank's norms have seen its own samples; from here on all have the mean.
  group_.average(model_->buffers());
  return take(steps, samples);
}

void Trainer::learn(const training::Batch& samples, const at::Tensor& order) {
  for (std::int64_t at = 0; at < order.size(0); at += batch_)
    step(samples, order.narrow(0, at, std::min(batch_, order.size(0) - at)));
}

/// This rank's part of a global minibatch. Its loss is weighted by the samples in it, so that the gradients of all
/// ranks add up to that of the whole minibatch.
void Trainer::step(const training::Batch& samples, const at::Tensor& indices) {
  const std::int64_t all = indices.size(0), begin = group_.begin(all), end = group_.end(all);
  optimizer_.zero_grad();
  if (begin < end) {
    const at::Tensor mine = indices.narrow(0, begin, end - begin).to(device_);
    const at::Tensor targets = samples.targets.index_select(0, mine);
    const at::Tensor outputs = model_->forward(samples.inputs.index_select(0, mine));
    const at::Tensor loss =
        loss_of(loss_, outputs, targets) * (static_cast<double>(end - begin) / static_cast<double>(all));
    loss.backward();
    add(loss, outputs, targets);
  }
  group_.sum_gradients(model_->parameters());
  optimizer_.step();
}

Score Trainer::test(const std::vector<std::string>& files) {
  const at::NoGradGuard none;
  model_->eval();
  double samples = 0;
  for (const std::string& path : files) {
    const training::Batch file = load_captchas(path);
    const std::int64_t count = file.inputs.size(0), end = group_.end(count);
    for (std::int64_t at = group_.begin(count); at < end; at += batch_) {
      const std::int64_t size = std::min(batch_, end - at);
      const at::Tensor targets = file.targets.narrow(0, at, size).to(device_);
      const at::Tensor outputs = model_->forward(file.inputs.narrow(0, at, size).to(device_));
      add(loss_of(loss_, outputs, targets) * size, outputs, targets);
    }
    samples += static_cast<double>(count);
  }
  return take(samples, samples);
}

void Trainer::load(const std::string& path) {
  if (group_.rank() == 0) {
    const at::NoGradGuard none;
    training::load_model(path, *model_);
  }
  group_.share(model_->parameters());
  group_.share(model_->buffers());
}

void Trainer::add(const at::Tensor& loss, const at::Tensor& outputs, const at::Tensor& targets) {
  sums_[0].add_(loss.detach());
  sums_[1].add_(right_of(outputs.detach(), targets));
}

Score Trainer::take(double weight, double samples) {
  group_.sum(sums_);
  const Score score{sums_[0].item<double>() / weight, sums_[1].item<double>() / samples};
  sums_.zero_();
  return score;
}

}  // namespace captcha
