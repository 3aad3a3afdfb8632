#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <string>

namespace training {

/// Writes what torch.save(model.state_dict(), path) would, whole or not at all; compressed as
/// torch.save(…, gzip.GzipFile(path, "wb")) would be where `gzip`.
void save_model(const torch::nn::Module& model, const std::string& path, bool gzip);

/// Copies a state dict into the model: any format that ckpt reads. Throws ckpt::Error (unsupported) where a name or a
/// shape does not fit.
void load_model(const std::string& path, torch::nn::Module& model);

/// A batch file: what torch.save((inputs, targets), …) writes.
struct Batch {
  at::Tensor inputs, targets;
};

/// Compressed whatever its name, as the recipe's data sets are.
void save_batch(const Batch& batch, const std::string& path);
/// Throws ckpt::Error (unsupported) where the file holds no two tensors of as many samples.
Batch load_batch(const std::string& path);

}  // namespace training
