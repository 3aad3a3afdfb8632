#include "loading.h"

#include "ckpt/byte_source.h"
#include "ckpt/formats.h"
#include "ckpt/ops.h"
#include "metrics/signature.h"

namespace ckpt::eval {
namespace {

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
  const ModelRequest request{options.arch, options.root,       options.strict,
                             has_cuda,     options.activation, options.normalize};
  if (options.arch == "torchscript") {
    // Code may ask libtorch for CUDA, and the answer is kept: not before its CUDA half is there.
    static_cast<void>(has_cuda());
    return load_script(options.model, request);
  }
  Checkpoint checkpoint = load(options.model);
  out.model = load_model(checkpoint, request, out.notes);
  out.files = files_of(checkpoint);
  out.warnings = checkpoint.warnings;
  check_signature(out.model->signature());
  out.digest = digest(checkpoint, options.root.value_or("auto")).total;
  const auto last = finish_reading(checkpoint);
  out.warnings.insert(out.warnings.end(), last.begin(), last.end());
  return out;
}

}  // namespace ckpt::eval
