#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <vector>

#include "ckpt/eval.h"
#include "runner/batch.h"
#include "runner/judge.h"
#include "runner/worker.h"

namespace ckpt::eval {

/// How samples become what a Network takes, and what is expected back.
class SampleLayout {
 public:
  /// `signature` must outlive it.
  explicit SampleLayout(const Signature& signature);

  [[nodiscard]] const Signature& signature() const { return *signature_; }
  [[nodiscard]] Scale scale() const { return {signature_->positions, signature_->classes}; }
  [[nodiscard]] std::size_t bins() const;
  /// Channels that are to stand side by side: 1 where an input is no picture.
  [[nodiscard]] std::int64_t channels() const { return channels_; }
  [[nodiscard]] std::int64_t pixels(const Batch& batch) const;
  [[nodiscard]] float mean() const { return static_cast<float>(signature_->mean); }
  [[nodiscard]] float std() const { return static_cast<float>(signature_->std); }
  /// What each byte becomes.
  [[nodiscard]] const std::array<float, 256>& table() const { return table_; }

  /// [count, Signature::input…]; flat where the signature does not tell.
  [[nodiscard]] std::vector<std::int64_t> sizes(const Batch& batch) const;
  [[nodiscard]] at::MemoryFormat memory_format() const;

  /// What a Network has given for `count` samples, contiguous. Throws Error (unsupported) where it is not what the
  /// signature says.
  [[nodiscard]] at::Tensor checked(const at::Tensor& outputs, std::uint64_t count) const;

 private:
  const Signature* signature_;
  std::int64_t channels_ = 1;
  std::array<float, 256> table_;
};

/// Writes the samples of `batch` to `to` as networks take them: float32, normalised, channels side by side.
void lay_out(const Batch& batch, const SampleLayout& layout, float* to);

/// Of a batch, what is known before it has run: which samples, and their labels.
[[nodiscard]] BatchReading part_of(const Batch& batch, bool predictions);

/// Adds what outputs in host memory say, as far as asked for.
void read_outputs(BatchReading& part, const float* outputs, const SampleLayout& layout, bool predictions,
                  bool keep_outputs);

}  // namespace ckpt::eval
