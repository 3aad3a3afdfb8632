#pragma once

#include <cstdint>

/// The C interface of libckpt_cuda_kernels.so, which is built where nvcc is found and loaded where a GPU is. It knows
/// nothing of libtorch: pointers are to memory of `device`, `stream` is a cudaStream_t, and the functions return at
/// once. They give null, or CUDA's words for what went wrong.
extern "C" {
// NOLINTBEGIN(readability-identifier-naming): names of a C interface

/// Grows with every change below.
enum { ckpt_cuda_kernels_version = 1 };

/// Samples as they were read -> float32 as networks take them, with the channels of a pixel side by side.
struct ckpt_cuda_layout {
  int device;
  void* stream;
  const void* input;      // [samples, channels, pixels]
  std::int32_t is_float;  // float32, taken as it is; else uint8, normalised
  float* output;          // [samples, pixels, channels]
  std::int64_t samples, channels, pixels;
  float mean, std;
};

/// Outputs -> what runner/judge.h makes of them.
struct ckpt_cuda_count {
  int device;
  void* stream;
  const float* outputs;        // [samples, positions * classes]
  const std::int32_t* labels;  // [samples, positions]
  std::int64_t samples, positions, classes;
  std::uint64_t* counters;  // [2 + positions * classes * classes], added to: correct, not finite, confusion
  std::int32_t* predicted;  // [samples, positions], or null
  float* confidence;        // [samples], or null
  float* truth;             // likewise, null together
};

using ckpt_cuda_version_function = int();
using ckpt_cuda_layout_function = const char*(const ckpt_cuda_layout*);
using ckpt_cuda_count_function = const char*(const ckpt_cuda_count*);
// NOLINTEND(readability-identifier-naming)
}
