#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>

#include "bridge/load_state.h"
#include "bridge/torch_errors.h"
#include "ckpt/error.h"
#include "ckpt/modules.h"
#include "ckpt/ops.h"
#include "models/architecture.h"
#include "models/mlp.h"
#include "models/recognise.h"
#include "models/said_layers.h"

namespace ckpt::eval {
namespace {

std::string count_text(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

bool has_wrapped_keys(const Checkpoint& checkpoint, const std::string& root) {
  const auto tensors = listed_tensors(checkpoint, root);
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const ModelTensor& tensor) { return tensor.name.starts_with(data_parallel_prefix); });
}

std::set<std::string> cuda_tags(const Checkpoint& checkpoint) {
  std::set<std::string> tags;
  for (const Storage& storage : checkpoint.storages)
    if (storage.location.starts_with("cuda")) tags.insert(storage.location);
  return tags;
}

/// As torch.load and load_state_dict begin: no tag is changed, no key.
void refuse_cuda_tags(const Checkpoint& checkpoint) {
  // torch/serialization.py, _validate_device
  throw Error(ErrorCode::unsupported,
              "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are "
              "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "
              "storages to the CPU.")
      .hint("ckpt convert " + shell_word(checkpoint.file) + " OUT --to cpu");
}

void note_cuda_tags(const Checkpoint& checkpoint, const std::set<std::string>& tags, std::vector<std::string>& notes) {
  std::string list;
  for (const std::string& tag : tags) list += (list.empty() ? "" : ", ") + tag;
  notes.push_back("its tensors are tagged " + list +
                  ", and no CUDA is used here: they were read to the CPU (ckpt convert " + shell_word(checkpoint.file) +
                  " OUT --to cpu makes that permanent)");
}

/// Takes DataParallel's prefix away, after which the state dict is `bare`; of a whole module a state dict is made
/// first.
std::string strip_command(const AsRead& file, const std::vector<ModelTensor>& bare) {
  const std::string command = find_modules(file.checkpoint).empty() ? "" : mending_command(file, bare);
  return command.empty() ? prefix_command(file.checkpoint.file, std::string(data_parallel_prefix), {}) : command;
}

std::string look_hint(const Checkpoint& checkpoint) {
  return "ckpt inspect " + shell_word(checkpoint.file) + " shows its keys and shapes; --arch NAME names another model";
}

/// What the model would hold.
std::vector<ModelTensor> expected_tensors(const Checkpoint& checkpoint, const std::string& root,
                                          const Architecture& architecture) {
  try {
    return architecture.tensors(listed_tensors(checkpoint, root));
  } catch (Error& error) {
    throw error.within("this is no " + std::string(architecture.name)).hint(look_hint(checkpoint));
  }
}

/// Throws where the state dict is not the one that the model would take.
void check_fit(const Checkpoint& checkpoint, const AsRead& file, const Architecture& architecture,
               const std::vector<ModelTensor>& tensors) {
  const CheckReport report = check(checkpoint, tensors, file.root);
  if (report.loads()) return;
  Error error(ErrorCode::unsupported,
              "Error(s) in loading state_dict for " + std::string(architecture.class_name) + ":");
  for (std::string& line : load_errors(report)) error.detail(std::move(line));
  const std::string hint = fix_hint(architecture, report, file, tensors);
  throw error.hint(hint.empty() ? look_hint(checkpoint) : hint);
}

/// Where sizes leave several orders to an mlp's layers, a pickle has them as the model's class defined them; other
/// formats sort names, or hold what was sorted.
void check_order(Checkpoint& checkpoint, const std::vector<ModelTensor>& tensors) {
  const std::string layers = uncertain_order(tensors);
  if (layers.empty()) return;
  if (!checkpoint.pickled)
    throw Error(ErrorCode::unsupported, "nothing tells in which order its Linear layers run (" + layers +
                                            "): " + checkpoint.format + " does not keep that of the model")
        .expected("numbers in their names, or sizes that allow one order only")
        .hint(
            "evaluate the file that PyTorch wrote, or one that says what runs: torch.jit.script("
            "model).save(\"model.pt\") in Python, then ckpt eval model.pt --arch torchscript");
  checkpoint.warnings.push_back(
      "the order of its Linear layers was taken from the file, and their sizes allow others: " + layers);
}

const std::string script_hint =
    "in Python: torch.jit.script(model).save(\"model.pt\"), then ckpt eval model.pt --arch torchscript";

/// As an option, where bytes do not only become x / 255.
std::string normalize_option(const Signature& signature) {
  if (signature.mean == 0 && signature.std == 1) return {};
  std::array<char, 64> text{};
  char* const comma = std::to_chars(text.begin(), text.end(), signature.mean).ptr;
  *comma = ',';
  char* const end = std::to_chars(comma + 1, text.end(), signature.std).ptr;
  return " --normalize " + std::string(text.begin(), end);
}

/// Of any model: the order in which the module runs the layers of `tensors`, whose names have `prefix` there, and what
/// it calls beside them.
void check_calls(const SaidModule& said, const std::vector<ModelTensor>& tensors, const std::string& prefix,
                 std::vector<std::string>& notes) {
  try {
    check_sequences(said.layers, tensors, prefix);
  } catch (Error& error) {
    throw error.hint(script_hint);
  }
  if (said.hooked.empty()) return;
  const std::string& path = said.hooked.front();
  const std::string first = path.empty() ? "the module" : "its layer '" + path + "'";
  const std::string more = said.hooked.size() == 1 ? "" : " and " + count_text(said.hooked.size() - 1, "other");
  notes.push_back("hooks of " + first + more + " were not run, as what they do stands in no file (" + script_hint +
                  ")");
}

/// What the layers say, as said_activation(); `own` is that, and `signature` the architecture's.
std::optional<std::string> activation_said(const std::vector<SaidLayer>& layers, std::string_view own,
                                           const Signature& signature) {
  try {
    return said_activation(layers, own);
  } catch (Error& error) {
    const std::string normalize = normalize_option(signature);
    throw error.hint("--arch mlp --activation NAME" + normalize + ", where that runs and no other layer; else, " +
                     script_hint + normalize);
  }
}

/// Of a model that is no chain.
void check_said(const Architecture& architecture, const Checkpoint& packed, const std::string& path,
                const std::vector<SaidLayer>& layers) {
  try {
    architecture.check_said(packed, layers);
  } catch (Error& error) {
    throw error.hint("where it runs as " + std::string(architecture.name) + " all the same, ckpt convert " +
                     shell_word(packed.file) + " weights.pt --weights-only" +
                     (path.empty() ? "" : " --root " + shell_value(path)) + " leaves out what it says; else, " +
                     script_hint);
  }
}

/// Of what load_state() gave.
Weights float_weights(const std::vector<StateTensor>& state, const std::vector<ModelTensor>& tensors,
                      std::vector<std::string>& notes) {
  std::map<std::string_view, const ModelTensor*> floats;
  for (const ModelTensor& tensor : tensors)
    if (tensor.dtype == DType::float32) floats.emplace(tensor.name, &tensor);  // the rest counts batches
  Weights weights;
  std::map<std::string, std::size_t> converted;
  for (const auto& [name, tensor] : state) {
    const auto wanted = floats.find(name);
    if (wanted == floats.end()) continue;
    try {
      if (tensor.layout() != at::kStrided)
        throw Error(ErrorCode::unsupported, "it is sparse")
            .expected("a dense tensor")
            .hint("in Python: put its to_dense() in the state dict, and save that");
      if (tensor.scalar_type() != at::kFloat) ++converted[c10::toString(tensor.scalar_type())];
      // A single element loads into a tensor without dimensions.
      weights.emplace(name, with_torch("laying out the weights", [&, &held = tensor] {
                        return widened(held).contiguous().view(wanted->second->shape);
                      }));
    } catch (Error& error) {
      error.within("tensor '" + name + "'");
      throw;
    }
  }
  for (const auto& [type, count] : converted)
    notes.push_back(count_text(count, type + " tensor") + (count == 1 ? " was" : " were") + " converted to float32");
  return weights;
}

std::unique_ptr<Model> load(Checkpoint& checkpoint, const ModelRequest& request, std::vector<std::string>& notes) {
  const Checkpoint packed = checkpoint;
  checkpoint = unpack_modules(std::move(checkpoint));
  const std::string root = request.root.value_or("auto");
  const AsRead file{packed, root};
  const StateDict dict = find_state_dict(checkpoint, root);  // before anything is said of its contents
  const std::set<std::string> tags = cuda_tags(checkpoint);
  const auto lacks_cuda = [&] { return !tags.empty() && !(request.has_cuda && request.has_cuda()); };
  if (request.strict && lacks_cuda()) refuse_cuda_tags(checkpoint);

  const bool wrapped = has_wrapped_keys(checkpoint, root);
  const Checkpoint bare = wrapped ? strip_prefix(checkpoint).first : checkpoint;
  const Architecture& architecture = request.arch == "auto" ? recognise(bare, file) : find_architecture(request.arch);
  const std::vector<ModelTensor> tensors = expected_tensors(bare, root, architecture);
  check_fit(request.strict ? checkpoint : bare, file, architecture, tensors);
  note_unused(request, architecture.name, notes);
  if (architecture.name == mlp.name) check_order(checkpoint, tensors);
  if (wrapped)
    notes.push_back("its keys begin with \"module.\", as DataParallel saves them, which was left out (" +
                    strip_command(file, listed_tensors(bare, root)) + " makes that permanent)");
  const SaidModule said = said_module(packed, dict.path);
  check_calls(said, tensors, wrapped ? std::string(data_parallel_prefix) : "", notes);
  check_views(bare, root);  // before float_weights() makes them as large as they say
  const LoadedState state = load_state(bare, root);
  state.storages.lend(checkpoint);  // whose storages are bare's
  ModelRequest as_said = request;
  if (architecture.name == mlp.name && !request.activation) {
    as_said.activation = activation_said(said.layers, "", {});
    if (as_said.activation.value_or("relu") != "relu")
      notes.push_back("its activation is " + *as_said.activation + ", as the module in the file says");
  }
  auto model = architecture.make(tensors, float_weights(state.tensors, tensors, notes), as_said);
  if (architecture.check_said != nullptr)
    check_said(architecture, packed, dict.path, said.layers);
  else if (architecture.name != mlp.name)
    activation_said(said.layers, model->activation(), model->signature());
  // Only now, as the answer may take longer than all of the above.
  if (!request.strict && lacks_cuda()) note_cuda_tags(checkpoint, tags, notes);
  return model;
}

}  // namespace

void note_unused(const ModelRequest& request, std::string_view arch, std::vector<std::string>& notes) {
  const std::string has_its_own = ", and was left aside: " + std::string(arch) + " has its own";
  if (request.activation && arch != mlp.name) notes.push_back("--activation is for mlp" + has_its_own);
  const bool is_script = arch == "torchscript";
  if (request.normalize && arch != mlp.name && !is_script)
    notes.push_back("--normalize is for mlp and torchscript" + has_its_own);
  const std::string is_code =
      " is for state dicts, and was left aside: a TorchScript file is one model, as libtorch loads it";
  if (request.root && is_script) notes.push_back("--root" + is_code);
  if (request.strict && is_script) notes.push_back("--strict" + is_code);
}

std::unique_ptr<Model> load_model(Checkpoint& checkpoint, const ModelRequest& request,
                                  std::vector<std::string>& notes) {
  try {
    if (request.arch == "torchscript") return load_torchscript(checkpoint.source, request);
    if (checkpoint.format == "torchscript" && request.arch == "auto")
      throw Error(ErrorCode::unsupported, "this is a TorchScript file, which holds a model's code beside its weights")
          .hint("--arch torchscript runs it");
    return load(checkpoint, request, notes);
  } catch (Error& error) {
    error.in(checkpoint.file);
    throw;
  }
}

}  // namespace ckpt::eval
