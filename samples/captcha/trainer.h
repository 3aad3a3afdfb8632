#pragma once

#include <torch/optim/adam.h>

#include <memory>
#include <string>

#include "data.h"
#include "group.h"
#include "loss.h"
#include "resnet.h"

namespace captcha {

/// What a pass over samples came to: means.
struct Score {
  double loss = 0, accuracy = 0;
};

/// The model on a device, and the steps that move it. All ranks of the group make the same calls.
class Trainer {
 public:
  /// `init`: a file to start from, or empty.
  Trainer(training::Group& group, at::Device device, Loss loss, std::int64_t batch, std::int64_t seed,
          const std::string& init);

  /// One pass over the files, in an order of files and of samples in each that `seed` decides.
  Score learn(const std::vector<std::string>& files, std::int64_t seed);
  /// Losses and right ones on files, in evaluation mode: norms use their running statistics.
  Score test(const std::vector<std::string>& files);
  /// Minibatches over one file's samples in the order given.
  void learn(const training::Batch& samples, const at::Tensor& order);

  void save(const std::string& path) const { training::save_model(*model_, path, true); }
  /// Rank 0 reads the file, and the others take it from there.
  void load(const std::string& path);

 private:
  void step(const training::Batch& samples, const at::Tensor& indices);
  void add(const at::Tensor& loss, const at::Tensor& outputs, const at::Tensor& targets);
  /// What has been added up on all ranks, over `samples` of them and losses that weigh `weight`.
  Score take(double weight, double samples);

  training::Group& group_;
  const at::Device device_;
  const Loss loss_;
  const std::int64_t batch_;
  const std::shared_ptr<CaptchaResNet> model_;
  torch::optim::Adam optimizer_;
  at::Tensor sums_;  // loss and right ones, on the device so that no step waits
};

}  // namespace captcha
