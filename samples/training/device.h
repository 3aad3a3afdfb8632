#pragma once

#include <c10/core/Device.h>

#include <optional>
#include <string>
#include <vector>

namespace training {

/// The devices that `--device` means: "auto" (a GPU, else Apple's, else the CPU), "cpu", "cpu:N" (N copies of the model
/// in as many threads, to try several devices without having them), "cuda", "cuda:1", "cuda:0,2", "cuda:all", "mps".
/// Under torchrun "auto" and "cuda" are the GPU of `local_rank`.
///
/// The first call loads libtorch's CUDA half where there is a driver. That must come before anything asks libtorch
/// whether there is CUDA: the answer is kept for good. Throws ckpt::Error: unavailable, invalid_argument.
std::vector<c10::Device> devices_of(const std::string& word, std::optional<int> local_rank = std::nullopt);

/// Waits until the device has done all that it was given.
void synchronize(c10::Device device);

}  // namespace training
