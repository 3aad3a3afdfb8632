#include "runner/sample_layout.h"

#include <sstream>

#include "ckpt/error.h"

namespace ckpt::eval {
namespace {

template <typename Element, typename Convert>
void lay_out_as(const Batch& batch, std::int64_t channels, std::int64_t pixels, float* to, Convert convert) {
  const auto* from = reinterpret_cast<const Element*>(batch.inputs());
  const auto sample = channels * pixels;
  for (std::uint64_t at = 0; at < batch.count; ++at, from += sample) {
    if (channels == 1) {
      for (std::int64_t pixel = 0; pixel < pixels; ++pixel) *to++ = convert(from[pixel]);
      continue;
    }
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
      for (std::int64_t channel = 0; channel < channels; ++channel) *to++ = convert(from[channel * pixels + pixel]);
    }
  }
}

}  // namespace

SampleLayout::SampleLayout(const Signature& signature) : signature_(&signature) {
  if (signature.input.size() == 3) channels_ = signature.input[0];
  for (std::size_t byte = 0; byte < table_.size(); ++byte) {
    table_[byte] = normalised(static_cast<std::uint8_t>(byte), mean(), std());
  }
}

std::size_t SampleLayout::bins() const {
  return static_cast<std::size_t>(signature_->positions * signature_->classes * signature_->classes);
}

std::int64_t SampleLayout::pixels(const Batch& batch) const {
  const std::size_t size = batch.is_float() ? sizeof(float) : 1;
  return static_cast<std::int64_t>(batch.sample_bytes() / size) / channels_;
}

std::vector<std::int64_t> SampleLayout::sizes(const Batch& batch) const {
  std::vector<std::int64_t> sizes{static_cast<std::int64_t>(batch.count)};
  if (signature_->input.empty()) {
    sizes.push_back(pixels(batch));
  } else {
    sizes.insert(sizes.end(), signature_->input.begin(), signature_->input.end());
  }
  return sizes;
}

at::MemoryFormat SampleLayout::memory_format() const {
  return channels_ > 1 ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
}

at::Tensor SampleLayout::checked(const at::Tensor& outputs, std::uint64_t count) const {
  const std::int64_t wide = signature_->positions * signature_->classes;
  if (outputs.scalar_type() != at::kFloat || outputs.numel() != static_cast<std::int64_t>(count) * wide) {
    std::ostringstream found, wanted;
    found << "for " << count << " samples the model gives " << outputs.scalar_type() << ' ' << outputs.sizes();
    wanted << "Float [" << count << ", " << wide << ']';
    throw Error(ErrorCode::unsupported, found.str()).expected(wanted.str());
  }
  return outputs.contiguous().view({static_cast<std::int64_t>(count), wide});
}

void lay_out(const Batch& batch, const SampleLayout& layout, float* to) {
  if (batch.is_float()) {
    lay_out_as<float>(batch, layout.channels(), layout.pixels(batch), to, [](float value) { return value; });
  } else {
    lay_out_as<std::uint8_t>(batch, layout.channels(), layout.pixels(batch), to,
                             [&table = layout.table()](std::uint8_t byte) { return table[byte]; });
  }
}

BatchReading part_of(const Batch& batch, bool predictions) {
  BatchReading part{.first = batch.first(), .count = batch.count};
  if (predictions) part.labels.assign(batch.labels(), batch.labels() + batch.count * batch.positions());
  return part;
}

void read_outputs(BatchReading& part, const float* outputs, const SampleLayout& layout, bool predictions,
                  bool keep_outputs) {
  const Scale scale = layout.scale();
  const std::int64_t wide = scale.positions * scale.classes;
  if (keep_outputs) part.outputs.assign(outputs, outputs + static_cast<std::int64_t>(part.count) * wide);
  if (!predictions) return;
  part.predicted.resize(part.labels.size());
  for (std::size_t at = 0; at < part.labels.size(); at += static_cast<std::size_t>(scale.positions), outputs += wide) {
    const std::int32_t* labels = part.labels.data() + at;
    static_cast<void>(judge(outputs, labels, scale, nullptr, part.predicted.data() + at));
    const Certainty said = certainty(outputs, labels, scale);
    part.confidence.push_back(said.confidence);
    part.truth.push_back(said.truth);
  }
}

}  // namespace ckpt::eval
