// The recipe: SGD with momentum on minibatches of 64, cross-entropy, five epochs, a test after each.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <ckpt/error.h>
#include <torch/optim/sgd.h>

#include <iomanip>
#include <iostream>

#include "arguments.h"
#include "commands.h"
#include "curves.h"
#include "files.h"
#include "fnn.h"
#include "group.h"
#include "idx.h"
#include "order.h"
#include "seeded.h"

namespace mnist {
namespace {

struct Settings {
  std::string data, init, out, curves;
  std::int64_t epochs, batch, seed, report;
};

/// A whole set on the device, as bytes.
class Digits {
 public:
  Digits(const std::string& folder, const std::string& set, at::Device device) {
    Idx images = read_idx(folder + "/" + images_name(set)), labels = read_idx(folder + "/" + labels_name(set));
    const auto count = static_cast<std::int64_t>(labels.bytes.size());
    if (count == 0 || images.bytes.size() != labels.bytes.size() * 784)
      throw ckpt::Error(ckpt::ErrorCode::unsupported, "images and labels of " + set + " do not belong together")
          .in(folder)
          .hint("mnist prepare makes such a folder");
    images_ = at::from_blob(images.bytes.data(), {count, 784}, at::kByte).clone().to(device);
    labels_ = at::from_blob(labels.bytes.data(), {count}, at::kByte).to(at::kLong).to(device);
  }

  [[nodiscard]] std::int64_t size() const { return labels_.size(0); }

  /// Those of the indices, (x / 255 - mean) / standard deviation of MNIST's pixels.
  [[nodiscard]] training::Batch at(const at::Tensor& indices) const {
    const at::Tensor where = indices.to(labels_.device());
    return {normalised(images_.index_select(0, where)), labels_.index_select(0, where)};
  }
  [[nodiscard]] training::Batch range(std::int64_t first, std::int64_t last) const {
    return {normalised(images_.narrow(0, first, last - first)), labels_.narrow(0, first, last - first)};
  }

 private:
  static at::Tensor normalised(const at::Tensor& bytes) {
    return bytes.to(at::kFloat).div_(255).sub_(0.1307).div_(0.3081);
  }

  at::Tensor images_, labels_;
};

/// Sums over samples, kept on the device so that no batch waits for the one before it.
class Tally {
 public:
  explicit Tally(at::Device device) : sums_(at::zeros({2}, at::TensorOptions(at::kFloat).device(device))) {}

  void add(const at::Tensor& loss, const at::Tensor& outputs, const at::Tensor& labels) {
    sums_[0].add_(loss.detach());
    sums_[1].add_(outputs.detach().argmax(1).eq(labels).sum());
  }
  /// Of all ranks, and zero from here on.
  std::pair<double, double> take(training::Group& group) {
    group.sum(sums_);
    const std::pair<double, double> out{sums_[0].item<double>(), sums_[1].item<double>()};
    sums_.zero_();
    return out;
  }

 private:
  at::Tensor sums_;
};

class Training {
 public:
  Training(const Settings& settings, training::Group& group, at::Device device)
      : settings_(settings),
        group_(group),
        device_(device),
        training_(settings.data, "train", device),
        testing_(settings.data, "t10k", device),
        model_(training::seeded<Fnn>(settings.seed)) {
    if (!settings.init.empty()) training::load_model(settings.init, *model_);
    model_->to(device);
    group_.share(model_->parameters());
    optimizer_.emplace(model_->parameters(), torch::optim::SGDOptions(0.1).momentum(0.5));
  }

  void run() {
    for (std::int64_t epoch = 1; epoch <= settings_.epochs; ++epoch) {
      training::Epoch done = learn(epoch);
      const auto [loss, right] = test();
      done.validation_loss = loss / static_cast<double>(testing_.size());
      done.validation_accuracy = right / static_cast<double>(testing_.size());
      epochs_.push_back(done);
      if (group_.rank() != 0) continue;
      std::cout << "epoch " << epoch << std::fixed << ": test loss " << std::setprecision(4) << done.validation_loss
                << ", " << static_cast<std::int64_t>(right) << " of " << testing_.size() << " right, "
                << std::setprecision(2) << 100 * done.validation_accuracy << " %" << std::endl;
      training::save_curves(settings_.curves, "MNIST", epochs_);
    }
    if (group_.rank() != 0) return;
    training::save_model(*model_, settings_.out, false);
    std::cout << settings_.out << " and " << settings_.curves << " written\n";
  }

 private:
  training::Epoch learn(std::int64_t epoch) {
    // The same order on every rank; of each batch, a rank takes its part.
    const at::Tensor order = training::Orders(settings_.seed + epoch).next(training_.size());
    Tally tally(device_);
    double loss_sum = 0, right_sum = 0;
    std::int64_t batches = 0;
    for (std::int64_t at = 0; at < training_.size(); at += settings_.batch) {
      const std::int64_t count = std::min(settings_.batch, training_.size() - at);
      step(order.narrow(0, at, count), tally);
      const bool reports = ++batches % settings_.report == 0;
      if (!reports && at + count < training_.size()) continue;
      const auto [loss, right] = tally.take(group_);
      loss_sum += loss;
      right_sum += right;
      if (reports && group_.rank() == 0)
        std::cout << "epoch " << epoch << ", batch " << batches << ": loss " << std::fixed << std::setprecision(4)
                  << loss / static_cast<double>(settings_.report) << std::endl;
    }

    return {loss_sum / static_cast<double>(batches), right_sum / static_cast<double>(training_.size()), 0, 0};
  }

  /// This rank's part of a global batch. Its loss is weighted by the samples in it, so that the gradients of all ranks
  /// add up to that of the whole batch.
  void step(const at::Tensor& indices, Tally& tally) {
    const std::int64_t all = indices.size(0), begin = group_.begin(all), end = group_.end(all);
    optimizer_->zero_grad();
    if (begin < end) {
      const training::Batch batch = training_.at(indices.narrow(0, begin, end - begin));
      const at::Tensor outputs = model_->forward(batch.inputs);
      const at::Tensor loss = at::cross_entropy_loss(outputs, batch.targets) *
                              (static_cast<double>(end - begin) / static_cast<double>(all));
      loss.backward();
      tally.add(loss, outputs, batch.targets);
    }
    group_.sum_gradients(model_->parameters());
    optimizer_->step();
  }

  /// Loss and right ones, added up over the test set, which is not shuffled.
  std::pair<double, double> test() {
    const at::NoGradGuard none;
    Tally tally(device_);
    constexpr std::int64_t chunk = 1000;
    for (std::int64_t at = group_.begin(testing_.size()); at < group_.end(testing_.size()); at += chunk) {
      const training::Batch batch = testing_.range(at, std::min(at + chunk, group_.end(testing_.size())));
      const at::Tensor outputs = model_->forward(batch.inputs);
      tally.add(at::cross_entropy_loss(outputs, batch.targets, {}, at::Reduction::Sum), outputs, batch.targets);
    }
    return tally.take(group_);
  }

  const Settings& settings_;
  training::Group& group_;
  const at::Device device_;
  const Digits training_, testing_;
  const std::shared_ptr<Fnn> model_;
  std::optional<torch::optim::SGD> optimizer_;
  std::vector<training::Epoch> epochs_;
};

}  // namespace

int train(int count, const char* const* words) {
  const training::Arguments arguments(
      count, words, {"--data", "--device", "--epochs", "--batch", "--seed", "--report", "--init", "--out", "--curves"});
  if (!arguments.rest().empty())
    throw ckpt::Error(ckpt::ErrorCode::invalid_argument, "train takes options only, not " + arguments.rest().front());
  const Settings settings{
      arguments.text("--data", "data/MNIST/raw"), arguments.text("--init", ""),     arguments.text("--out", "fnn.pt"),
      arguments.text("--curves", "curves.svg"),   arguments.number("--epochs", 5),  arguments.number("--batch", 64),
      arguments.number("--seed", 0, 0),           arguments.number("--report", 300)};
  training::train_on(arguments.text("--device", "auto"),
                     [&](training::Group& group, at::Device device) { Training(settings, group, device).run(); });
  return 0;
}

}  // namespace mnist
