#include "kernels/kernels.h"

#include "runner/judge.h"

namespace {

using ckpt::eval::Certainty;
using ckpt::eval::Judgement;

constexpr int threads = 256;

__device__ float element(std::uint8_t value, float mean, float std) { return ckpt::eval::normalised(value, mean, std); }
__device__ float element(float value, float, float) { return value; }

// A thread an element of the output, so that writing is in order.
template <typename Element>
__global__ void lay_out(ckpt_cuda_layout job) {
  const std::int64_t sample_size = job.channels * job.pixels;
  const std::int64_t all = job.samples * sample_size;
  const Element* input = static_cast<const Element*>(job.input);
  for (std::int64_t at = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < all;
       at += std::int64_t{gridDim.x} * blockDim.x) {
    const std::int64_t inside = at % sample_size;
    const std::int64_t from = at - inside + ckpt::eval::place_of(inside, job.channels, job.pixels);
    job.output[at] = element(input[from], job.mean, job.std);
  }
}

// A thread a sample. Every thread of a block reaches the two sums over it.
__global__ void count(ckpt_cuda_count job) {
  const std::int64_t sample = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const ckpt::eval::Scale scale{job.positions, job.classes};
  Judgement verdict{true, false};
  if (sample < job.samples) {
    const float* outputs = job.outputs + sample * job.positions * job.classes;
    const std::int32_t* labels = job.labels + sample * job.positions;
    std::int32_t* predicted = job.predicted ? job.predicted + sample * job.positions : nullptr;
    verdict = ckpt::eval::judge(outputs, labels, scale, job.counters + 2, predicted);
    if (job.confidence) {
      const Certainty said = ckpt::eval::certainty(outputs, labels, scale);
      job.confidence[sample] = said.confidence;
      job.truth[sample] = said.truth;
    }
  }
  const int correct = __syncthreads_count(verdict.correct);
  const int not_finite = __syncthreads_count(!verdict.finite);
  if (threadIdx.x != 0) return;
  auto* counters = reinterpret_cast<unsigned long long*>(job.counters);
  if (correct > 0) atomicAdd(counters, static_cast<unsigned long long>(correct));
  if (not_finite > 0) atomicAdd(counters + 1, static_cast<unsigned long long>(not_finite));
}

// libtorch has a CUDA run time of its own; both share the device's primary context, once it is this thread's.
template <typename Job, typename Launch>
const char* launched(const Job& job, Launch launch) {
  if (const cudaError_t error = cudaSetDevice(job.device); error != cudaSuccess) return cudaGetErrorString(error);
  if (job.samples > 0) launch(static_cast<cudaStream_t>(job.stream));
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

unsigned blocks_for(std::int64_t work) {
  constexpr std::int64_t most = 1 << 20;
  const std::int64_t blocks = (work + threads - 1) / threads;
  return static_cast<unsigned>(blocks < most ? blocks : most);
}

}  // namespace

#define CKPT_EXPORTED extern "C" __attribute__((visibility("default")))

CKPT_EXPORTED int ckpt_cuda_version() { return ckpt_cuda_kernels_version; }

CKPT_EXPORTED const char* ckpt_cuda_lay_out(const ckpt_cuda_layout* job) {
  return launched(*job, [job](cudaStream_t stream) {
    const unsigned blocks = blocks_for(job->samples * job->channels * job->pixels);
    if (job->is_float) {
      lay_out<float><<<blocks, threads, 0, stream>>>(*job);
    } else {
      lay_out<std::uint8_t><<<blocks, threads, 0, stream>>>(*job);
    }
  });
}

// Samples beyond what one launch takes (268 million) do not fit a GPU either.
CKPT_EXPORTED const char* ckpt_cuda_count_outputs(const ckpt_cuda_count* job) {
  return launched(*job, [job](cudaStream_t stream) { count<<<blocks_for(job->samples), threads, 0, stream>>>(*job); });
}
