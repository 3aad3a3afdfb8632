#include "eval/results.h"

#include "datasets/dataset.h"
#include "report/partial.h"

namespace ckpt::eval_testing {
namespace {

using namespace eval;

/// Counts what `out.predictions` say.
void count(Result& out) {
  const auto positions = static_cast<std::size_t>(out.signature.positions);
  const auto classes = static_cast<std::size_t>(out.signature.classes);
  const Predictions& all = out.predictions;
  out.counts = {};
  out.counts.confusion.assign(positions * classes * classes, 0);
  for (std::size_t at = 0; at < all.labels.size(); at += positions) {
    ++out.counts.samples;
    bool right = true;
    for (std::size_t i = 0; i < positions; ++i) {
      const auto label = static_cast<std::size_t>(all.labels[at + i]),
                 read = static_cast<std::size_t>(all.predicted[at + i]);
      ++out.counts.confusion[(i * classes + label) * classes + read];
      right = right && label == read;
    }
    out.counts.correct += right ? 1 : 0;
  }
}

void add_predictions(Result& out, std::uint64_t samples) {
  const auto positions = static_cast<std::uint64_t>(out.signature.positions);
  const auto classes = static_cast<std::uint64_t>(out.signature.classes);
  for (std::uint64_t at = 0; at < samples; ++at) {
    for (std::uint64_t i = 0; i < positions; ++i)
      out.predictions.labels.push_back(static_cast<std::int32_t>((at + 7 * i) % classes));
    out.predictions.confidence.push_back(0.99F);
    out.predictions.truth.push_back(0.99F);
  }
  out.predictions.predicted = out.predictions.labels;
  out.data_samples = samples;
}

void misread(Result& out, std::size_t sample, std::size_t position) {
  const auto positions = static_cast<std::size_t>(out.signature.positions);
  std::int32_t& read = out.predictions.predicted[sample * positions + position];
  read = (read + 1) % static_cast<std::int32_t>(out.signature.classes);
  out.predictions.truth[sample] = 0.1F;
}

Picture picture_of(const Result& result, std::size_t sample, std::uint32_t width, std::uint32_t height,
                   std::uint32_t channels) {
  const auto positions = static_cast<std::ptrdiff_t>(result.signature.positions);
  const auto at = static_cast<std::ptrdiff_t>(sample) * positions;
  Picture out;
  out.index = sample;
  out.label.assign(result.predictions.labels.begin() + at, result.predictions.labels.begin() + at + positions);
  out.read.assign(result.predictions.predicted.begin() + at, result.predictions.predicted.begin() + at + positions);
  out.truth = result.predictions.truth[sample];
  out.width = width, out.height = height, out.channels = channels;
  for (std::size_t i = 0; i < std::size_t{width} * height * channels; ++i)
    out.pixels.push_back(static_cast<std::uint8_t>(i * 7 + sample));
  return out;
}

Result common() {
  Result out;
  out.digest = std::string(64, 'a');
  out.data_digest = std::string(64, 'b');
  out.data_fingerprint = std::string(64, 'c');
  out.version = "0.1.0";
  out.device = "cpu";
  out.precision = "float32";
  out.machine = "a processor, 2 cores";
  out.seconds = {0.05, 0.125, 0, 0.25};
  out.host_peak = 120'000'000;
  return out;
}

}  // namespace

Result digits(std::uint64_t correct) {
  Result out = common();
  out.model = "fnn.pt.gz";
  out.arch = "fnn";
  out.data = "data/MNIST/raw";
  out.signature = {{784}, 0.1307, 0.3081, 1, 10, ""};
  add_predictions(out, 1000);
  for (std::size_t at = 0; at < 1000 - correct; ++at) misread(out, at, 0);
  count(out);
  for (std::size_t at = 0; at < 12; ++at) out.worst.push_back(picture_of(out, at, 28, 28, 1));
  return out;
}

Result captchas() {
  Result out = common();
  out.model = "captcha.pt";
  out.arch = "captcha-resnet";
  out.data = "captchas";
  out.signature = {{3, 56, 24}, 0, 1, 4, 36, "abcdefghijklmnopqrstuvwxyz0123456789"};
  add_predictions(out, 200);
  misread(out, 3, 0);
  misread(out, 5, 3);
  count(out);
  for (std::size_t at = 0; at < 12; ++at) out.worst.push_back(picture_of(out, at, 56, 24, 3));
  return out;
}

Result part_of(const Result& whole, std::uint64_t index, std::uint64_t number) {
  Result out = whole;
  out.worst.clear();
  out.shard = Shard{index, number};
  const auto first = static_cast<std::ptrdiff_t>(out.shard->begin(whole.data_samples));
  const auto end = static_cast<std::ptrdiff_t>(out.shard->end(whole.data_samples));
  const auto positions = static_cast<std::ptrdiff_t>(whole.signature.positions);
  const auto cut = [&](auto& list, std::ptrdiff_t width) {
    list = {list.begin() + first * width, list.begin() + end * width};
  };
  cut(out.predictions.labels, positions);
  cut(out.predictions.predicted, positions);
  cut(out.predictions.confidence, 1);
  cut(out.predictions.truth, 1);
  out.predictions.first = static_cast<std::uint64_t>(first);
  count(out);
  Samples samples;
  samples.first = out.predictions.first;
  samples.count = out.counts.samples;
  samples.inputs.resize(static_cast<std::size_t>(samples.count));
  samples.labels = out.predictions.labels;
  DataDigest digest;
  digest.add(samples, static_cast<std::size_t>(positions));
  out.data_digest = digest.text();
  return out;
}

}  // namespace ckpt::eval_testing
