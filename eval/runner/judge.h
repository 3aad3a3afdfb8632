#pragma once

#include <cmath>
#include <cstdint>

/// What is done to a byte before the model and to a sample's outputs after it, in plain arithmetic. The CPU's workers
/// and the CUDA kernels compile these same functions, so that both count alike; place_of() is the kernels' alone, as
/// two loops (sample_layout.cpp) give the same order without its divisions. Includes neither libtorch nor CUDA.
#ifdef __CUDACC__
#define CKPT_HOST_DEVICE __host__ __device__
#else
#define CKPT_HOST_DEVICE
#endif

namespace ckpt::eval {

/// As torchvision's ToTensor and Normalize compute it: in float32, in this order, with true divisions.
CKPT_HOST_DEVICE inline float normalised(std::uint8_t byte, float mean, float std) {
  return (static_cast<float>(byte) / 255.0F - mean) / std;
}

/// A sample's input is `channels` planes of `pixels` numbers. A network takes pictures with the channels of a pixel
/// side by side (channels_last): where in the sample as it was read the `at`-th number of that order stands.
CKPT_HOST_DEVICE inline std::int64_t place_of(std::int64_t at, std::int64_t channels, std::int64_t pixels) {
  return at % channels * pixels + at / channels;
}

CKPT_HOST_DEVICE inline bool is_finite(float value) {
  return value - value == 0;  // the same on both sides, whatever their libraries call it
}

/// The index of the greatest; of several, the first.
CKPT_HOST_DEVICE inline std::int32_t greatest(const float* values, std::int64_t count) {
  std::int64_t best = 0;
  for (std::int64_t at = 1; at < count; ++at) {
    if (values[at] > values[best]) best = at;
  }
  return static_cast<std::int32_t>(best);
}

CKPT_HOST_DEVICE inline void increase(std::uint64_t& counter) {
#ifdef __CUDA_ARCH__
  atomicAdd(reinterpret_cast<unsigned long long*>(&counter), 1ULL);
#else
  ++counter;
#endif
}

/// What a sample's outputs are, and where what they say goes.
struct Scale {
  std::int64_t positions, classes;
};

struct Judgement {
  bool finite, correct;
};

/// Reads one sample: `outputs` has positions * classes numbers, `labels` and `predicted` one a position (`predicted`
/// may be null), `confusion` is Counts::confusion. A label that is no class is never read right, and never counted
/// there.
CKPT_HOST_DEVICE inline Judgement judge(const float* outputs, const std::int32_t* labels, Scale scale,
                                        std::uint64_t* confusion, std::int32_t* predicted) {
  bool finite = true;
  for (std::int64_t at = 0; at < scale.positions * scale.classes; ++at) finite = finite && is_finite(outputs[at]);
  bool correct = finite;
  for (std::int64_t position = 0; position < scale.positions; ++position) {
    const std::int32_t read = finite ? greatest(outputs + position * scale.classes, scale.classes) : -1;
    if (predicted) predicted[position] = read;
    if (!finite) continue;
    const std::int32_t label = labels[position];
    correct = correct && read == label;
    if (label < 0 || label >= scale.classes) continue;
    if (confusion) increase(confusion[(position * scale.classes + label) * scale.classes + read]);
  }
  return {finite, correct};
}

struct Certainty {
  float confidence, truth;
};

/// Predictions::confidence and truth of a sample: softmax a position, in float64. 0 where the outputs are not finite;
/// the truth also where there is no label.
CKPT_HOST_DEVICE inline Certainty certainty(const float* outputs, const std::int32_t* labels, Scale scale) {
  for (std::int64_t at = 0; at < scale.positions * scale.classes; ++at) {
    if (!is_finite(outputs[at])) return {0, 0};
  }
  double confidence = 1, truth = 1;
  for (std::int64_t position = 0; position < scale.positions; ++position) {
    const float* values = outputs + position * scale.classes;
    const double most = values[greatest(values, scale.classes)];
    double sum = 0;
    for (std::int64_t at = 0; at < scale.classes; ++at) sum += std::exp(static_cast<double>(values[at]) - most);
    const std::int32_t label = labels[position];
    confidence /= sum;
    truth *= label < 0 || label >= scale.classes ? 0 : std::exp(static_cast<double>(values[label]) - most) / sum;
  }
  return {static_cast<float>(confidence), static_cast<float>(truth)};
}

}  // namespace ckpt::eval
