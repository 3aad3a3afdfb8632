#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "datasets/dataset.h"
#include "models/model.h"
#include "runner/engine.h"

namespace ckpt::eval::test {

using Function = std::function<at::Tensor(const at::Tensor&)>;

/// A model whose outputs are its first inputs, or what a function makes of them. Exact on every device, at every batch
/// size.
class MadeUp final : public Model {
 public:
  explicit MadeUp(Signature signature, Function function = {})
      : signature_(std::move(signature)), function_(std::move(function)) {}

  [[nodiscard]] const std::string& arch() const override { return arch_; }
  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] std::shared_ptr<const Network> prepare(at::Device, Precision) const override {
    ++prepared;
    return std::make_unique<ItsNetwork>(*this);
  }
  [[nodiscard]] at::Tensor first_inputs(const at::Tensor& inputs) const {
    return inputs.reshape({inputs.size(0), -1}).narrow(1, 0, signature_.positions * signature_.classes);
  }

  mutable std::atomic<int> prepared = 0;

 private:
  struct ItsNetwork final : Network {
    explicit ItsNetwork(const MadeUp& its_model) : model(its_model) {}
    [[nodiscard]] at::Tensor logits(const at::Tensor& inputs) const override {
      return model.function_ ? model.function_(inputs) : model.first_inputs(inputs);
    }
    const MadeUp& model;
  };

  std::string arch_ = "made-up";
  Signature signature_;
  Function function_;
};

/// Bytes at random, of few values, so that there are ties; labels likewise, some of them none.
inline Samples random_bytes(const Signature& signature, std::uint64_t first, std::uint64_t count) {
  std::mt19937 random(static_cast<unsigned>(first));
  Samples samples{.first = first, .count = count, .dtype = DType::uint8};
  std::size_t elements = 1;
  for (const auto extent : signature.input) elements *= static_cast<std::size_t>(extent);
  for (std::size_t at = 0; at < count * elements; ++at) samples.inputs.push_back(std::byte(random() % 7 * 40));
  const auto labels = count * static_cast<std::size_t>(signature.positions);
  for (std::size_t at = 0; at < labels; ++at) {
    samples.labels.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(signature.classes + 1)) - 1);
  }
  return samples;
}

/// Floats that are outputs already.
inline Samples floats(std::uint64_t first, const std::vector<float>& inputs, std::vector<std::int32_t> labels,
                      std::size_t positions = 1) {
  Samples samples{
      .first = first, .count = labels.size() / positions, .dtype = DType::float32, .labels = std::move(labels)};
  const auto* bytes = reinterpret_cast<const std::byte*>(inputs.data());
  samples.inputs.assign(bytes, bytes + inputs.size() * sizeof(float));
  return samples;
}

inline const Signature digits{.input = {16}, .mean = 0.1307, .std = 0.3081, .positions = 1, .classes = 10};
inline const Signature pictures{.input = {3, 4, 5}, .positions = 4, .classes = 6, .alphabet = "abcdef"};

inline Outcome run(std::unique_ptr<Engine> engine, const Signature& signature, std::uint64_t samples,
                   std::uint64_t at_once) {
  for (std::uint64_t at = 0; at < samples; at += at_once) {
    engine->submit(random_bytes(signature, 100 + at, std::min(at_once, samples - at)));
  }
  return engine->finish();
}

}  // namespace ckpt::eval::test
