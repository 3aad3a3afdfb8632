#include "loading.h"

#include "ckpt/byte_source.h"
#include "ckpt/formats.h"
#include "ckpt/modules.h"
#include "ckpt/ops.h"
#include "metrics/signature.h"
#include "models/architecture.h"
#include "models/recognise.h"
#include "models/said_layers.h"

namespace ckpt::eval {
namespace {

/// Whether the module that would be evaluated says its own activation; not one that says several.
bool says_activation(const Checkpoint& checkpoint, const std::string& root) {
  try {
    const std::string path = find_state_dict(unpack_modules(checkpoint), root).path;
    return said_activation(said_module(checkpoint, path).layers, "").has_value();
  } catch (const Error&) {
    return false;
  }
}

/// Says of a baseline what was taken from the model that it is compared with.
void warn_of_settings(const ModelRequest& request, std::string_view arch, std::vector<std::string>& warnings) {
  std::string list;
  if (request.activation && arch == mlp.name) list = "--activation " + *request.activation;
  if (request.normalize && (arch == mlp.name || arch == "torchscript"))
    list += (list.empty() ? "" : " and ") + std::string("--normalize");
  if (!list.empty()) warnings.push_back("the baseline was run with " + list + ", too");
}

/// Of an mlp's state dict, as it was unpacked.
std::vector<std::string> layers_of(const Checkpoint& checkpoint, const std::string& root) {
  std::vector<ModelTensor> found = listed_tensors(checkpoint, root);
  for (ModelTensor& tensor : found)
    if (tensor.name.starts_with(data_parallel_prefix)) tensor.name.erase(0, data_parallel_prefix.size());
  std::vector<std::string> layers;
  for (const ModelTensor& tensor : mlp.tensors(found))
    if (tensor.shape.size() == 2) layers.push_back(tensor.name.substr(0, tensor.name.rfind('.')));
  return layers;
}

LoadedModel load_script(const std::string& path, const ModelRequest& request) {
  const ByteSourcePtr source = open_file(path);
  LoadedModel out;
  out.model = load_torchscript(source, request);
  out.files = {path};
  out.digest = sha256_of(*source);
  note_unused(request, request.arch, out.notes);
  out.warnings.emplace_back("TorchScript is code, and it was run");
  return out;
}

}  // namespace

LoadedModel load_for_evaluation(const Options& options, const std::function<bool()>& has_cuda) {
  LoadedModel out;
  ModelRequest request{options.arch, options.root, options.strict, has_cuda, options.activation, options.normalize};
  if (options.arch == "torchscript") {
    // Code may ask libtorch for CUDA, and the answer is kept: not before its CUDA half is there.
    static_cast<void>(has_cuda());
    out = load_script(options.model, request);
    if (options.is_baseline) warn_of_settings(request, options.arch, out.warnings);
    return out;
  }
  const std::string root = options.root.value_or("auto");
  Checkpoint checkpoint = load(options.model);
  if (options.is_baseline && request.activation && says_activation(checkpoint, root)) request.activation.reset();
  out.model = load_model(checkpoint, request, out.notes);
  out.files = files_of(checkpoint);
  out.warnings = checkpoint.warnings;
  check_signature(out.model->signature());
  if (out.model->arch() == mlp.name) out.layers = layers_of(checkpoint, root);
  if (options.is_baseline) warn_of_settings(request, out.model->arch(), out.warnings);
  out.digest = digest(checkpoint, root).total;
  const auto last = finish_reading(checkpoint);
  out.warnings.insert(out.warnings.end(), last.begin(), last.end());
  return out;
}

}  // namespace ckpt::eval
