// The recipe: Adam on minibatches of 100 until 21 epochs have brought no better validation accuracy; the best is kept.
#include <ATen/ops/arange.h>
#include <ckpt/error.h>

#include <chrono>
#include <cstdlib>
#include <iomanip>
#include <iostream>

#include "arguments.h"
#include "commands.h"
#include "curves.h"
#include "device.h"
#include "early_stopping.h"
#include "trainer.h"

namespace captcha {
namespace {

struct Settings {
  std::string data, init, out, curves;
  Loss loss;
  std::int64_t epochs, batch, seed;
};

void train_as(const Settings& settings, training::Group& group, at::Device device) {
  const auto training_files = batch_files(settings.data, "training");
  const auto validating_files = batch_files(settings.data, "validating");
  const auto testing_files = batch_files(settings.data, "testing");
  const bool speaks = group.rank() == 0;
  Trainer trainer(group, device, settings.loss, settings.batch, settings.seed, settings.init);
  EarlyStopping stopping;
  std::vector<training::Epoch> epochs;
  for (std::int64_t epoch = 1; epoch <= settings.epochs && !stopping.over(); ++epoch) {
    const Score learned = trainer.learn(training_files, settings.seed + epoch);
    const Score validated = trainer.test(validating_files);
    const bool best = stopping.is_best(validated.accuracy);
    epochs.push_back({learned.loss, learned.accuracy, validated.loss, validated.accuracy});
    if (!speaks) continue;
    if (best) trainer.save(settings.out);
    training::save_curves(settings.curves, "Captchas", epochs);
    std::cout << "epoch " << epoch << std::fixed << ": loss " << std::setprecision(6) << learned.loss
              << ", validation loss " << validated.loss << ", validation accuracy " << std::setprecision(4)
              << validated.accuracy << (best ? ", the best so far" : "") << std::endl;
  }
  if (speaks && stopping.over())
    std::cout << "stopped: " << EarlyStopping::patience << " epochs without a better one\n";
  trainer.load(settings.out);
  const Score tested = trainer.test(testing_files);
  if (speaks)
    std::cout << settings.out << ": validation accuracy " << stopping.best() << ", testing accuracy " << tested.accuracy
              << '\n';
}

/// Seconds of training on the first batch file. The first minibatch is not counted: it makes room and chooses
/// algorithms. The clock is read when the device has done its work.
double seconds_a_file(const Settings& settings, training::Group& group, at::Device device) {
  Trainer trainer(group, device, settings.loss, settings.batch, settings.seed, settings.init);
  const training::Batch file = load_captchas(batch_files(settings.data, "training").front());
  const at::Tensor order = at::arange(file.inputs.size(0), at::kLong);
  const auto pass = [&](const at::Tensor& samples) {
    trainer.learn({file.inputs.to(device), file.targets.to(device)}, samples);
    training::synchronize(device);
  };
  pass(order.narrow(0, 0, std::min(settings.batch, order.size(0))));
  const auto begun = std::chrono::steady_clock::now();
  pass(order);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

void print_time(const Settings& settings, const std::string& device) {
  training::train_on(device, [&](training::Group& group, at::Device place) {
    const double seconds = seconds_a_file(settings, group, place);
    if (group.rank() == 0)
      std::cout << place << (group.size() > 1 ? " and others" : "") << ": " << std::setprecision(3) << seconds
                << " s a batch file" << std::endl;
  });
}

}  // namespace

int train(int count, const char* const* words) {
  const training::Arguments arguments(
      count, words, {"--data", "--device", "--loss", "--epochs", "--batch", "--seed", "--init", "--out", "--curves"},
      {"--time"});
  if (!arguments.rest().empty())
    throw ckpt::Error(ckpt::ErrorCode::invalid_argument, "train takes options only, not " + arguments.rest().front());
  const std::string loss = arguments.text("--loss", "bce");
  if (loss != "bce" && loss != "ce")
    throw ckpt::Error(ckpt::ErrorCode::invalid_argument, "--loss is '" + loss + "'").expected("bce or ce");
  const Settings settings{arguments.text("--data", "data/captcha"), arguments.text("--init", ""),
                          arguments.text("--out", "model.pt"),      arguments.text("--curves", "curves.svg"),
                          loss == "ce" ? Loss::ce : Loss::bce,      arguments.number("--epochs", 9999),
                          arguments.number("--batch", 100),         arguments.number("--seed", 0, 0)};
  const std::string device = arguments.text("--device", "auto");
  if (arguments.has("--time")) {
    if (std::getenv("WORLD_SIZE") != nullptr)
      throw ckpt::Error(ckpt::ErrorCode::invalid_argument, "--time measures one process, and this is a rank of several")
          .hint("leave torchrun out");
    const bool gpu = !training::devices_of(device).front().is_cpu();
    print_time(settings, "cpu");
    if (gpu) print_time(settings, device);
    return 0;
  }
  training::train_on(device, [&](training::Group& group, at::Device place) { train_as(settings, group, place); });
  return 0;
}

}  // namespace captcha
