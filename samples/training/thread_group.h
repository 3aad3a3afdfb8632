#pragma once

#include <functional>
#include <vector>

#include "group.h"

namespace training {

/// Several devices of one process: a thread each, which lives as long as the training, with its own copy of the model.
/// (torch::nn::parallel::data_parallel copies the model at every call.)
void run_threads(const std::vector<at::Device>& devices, const std::function<void(Group&, at::Device)>& train);

}  // namespace training
