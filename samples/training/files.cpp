#include "files.h"

#include <ATen/ops/empty.h>
#include <ckpt/error.h>
#include <ckpt/formats.h>
#include <ckpt/ops.h>
#include <ckpt/state_dict.h>
#include <ckpt/tensor_reader.h>
#include <ckpt/torch.h>

#include <map>

namespace training {
namespace {

/// A module and what stands before the names of its own tensors.
struct Part {
  std::string name;
  const torch::nn::Module* module;
};

/// The model and all modules in it, each before its children, as in Python.
std::vector<Part> parts_of(const torch::nn::Module& model) {
  std::vector<Part> parts{{"", &model}};
  for (const auto& inner : model.named_modules("", false)) parts.push_back({inner.key(), inner.value().get()});
  return parts;
}

/// In the order of Python's state_dict(): a module's parameters and buffers, then its children's.
std::vector<ckpt::eval::StateTensor> state_of(const torch::nn::Module& model) {
  std::vector<ckpt::eval::StateTensor> state;
  for (const auto& [name, module] : parts_of(model)) {
    const std::string prefix = name.empty() ? "" : name + ".";
    for (const auto& own : module->named_parameters(false)) state.push_back({prefix + own.key(), own->detach()});
    for (const auto& own : module->named_buffers(false)) state.push_back({prefix + own.key(), *own});
  }
  return state;
}

/// Version 2 of a batch norm's state has num_batches_tracked; without it PyTorch would take the file for an old one.
std::vector<ckpt::ModuleVersion> versions_of(const torch::nn::Module& model) {
  std::vector<ckpt::ModuleVersion> versions;
  for (const auto& [name, module] : parts_of(model))
    versions.push_back({name, module->named_buffers(false).contains("num_batches_tracked") ? 2 : 1});
  return versions;
}

at::ScalarType scalar_type(ckpt::DType dtype, const std::string& path) {
  switch (dtype) {
    case ckpt::DType::uint8:
      return at::kByte;
    case ckpt::DType::int64:
      return at::kLong;
    case ckpt::DType::float32:
      return at::kFloat;
    default:
      throw ckpt::Error(ckpt::ErrorCode::unsupported, "a batch of this dtype")
          .in(path)
          .expected("uint8, int64 or float32");
  }
}

at::Tensor read(const ckpt::Checkpoint& checkpoint, const ckpt::NamedTensor& named) {
  const ckpt::TensorReader reader(checkpoint, named);
  const at::Tensor out = at::empty(named.tensor->info.shape, scalar_type(named.tensor->info.dtype, checkpoint.file));
  reader.read(0, reader.rows(), {static_cast<std::byte*>(out.mutable_data_ptr()), out.nbytes()});
  return out;
}

}  // namespace

void save_model(const torch::nn::Module& model, const std::string& path, bool gzip) {
  ckpt::SaveOptions options;
  options.gzip = gzip;
  ckpt::save(ckpt::eval::from_torch(state_of(model), versions_of(model)), path, options);
}

void load_model(const std::string& path, torch::nn::Module& model) {
  const auto wrong = [&](const std::string& what) {
    return ckpt::Error(ckpt::ErrorCode::unsupported, what)
        .in(path)
        .hint("ckpt inspect " + ckpt::shell_word(path) + " shows its names and shapes");
  };
  std::map<std::string, at::Tensor> found;
  for (const auto& [name, tensor] : ckpt::eval::to_torch(ckpt::load(path))) found[name] = tensor;
  const auto wanted = state_of(model);
  for (const auto& [name, tensor] : wanted) {
    const auto match = found.find(name);
    if (match == found.end()) throw wrong("it has no " + name);
    if (match->second.sizes() != tensor.sizes()) throw wrong(name + " has another shape than this model's");
    tensor.copy_(match->second);
  }
  if (found.size() != wanted.size()) throw wrong("it has more tensors than this model");
}

void save_batch(const Batch& batch, const std::string& path) {
  ckpt::Checkpoint file = ckpt::eval::from_torch({{"inputs", batch.inputs}, {"targets", batch.targets}});
  std::vector<ckpt::ValueId> pair;
  for (const ckpt::MappingEntry& entry : ckpt::mapping_entries(file.values, file.root)) pair.push_back(entry.value);
  file.root = file.values.make_tuple(pair);
  ckpt::SaveOptions options;
  options.gzip = true;
  ckpt::save(file, path, options);
}

Batch load_batch(const std::string& path) {
  const ckpt::Checkpoint file = ckpt::load(path);
  const std::vector<ckpt::NamedTensor> tensors = ckpt::tensor_names(file);
  if (tensors.size() != 2)
    throw ckpt::Error(ckpt::ErrorCode::unsupported, std::to_string(tensors.size()) + " tensors")
        .in(path)
        .expected("a tuple of inputs and targets");
  Batch batch{read(file, tensors[0]), read(file, tensors[1])};
  ckpt::finish_reading(file);
  if (batch.inputs.dim() == 0 || batch.targets.dim() == 0 || batch.inputs.size(0) != batch.targets.size(0))
    throw ckpt::Error(ckpt::ErrorCode::unsupported, "inputs and targets are not as many").in(path);
  return batch;
}

}  // namespace training
