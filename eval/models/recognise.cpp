#include "models/recognise.h"

#include <algorithm>
#include <map>
#include <optional>

#include "bridge/state_entries.h"
#include "ckpt/error.h"
#include "ckpt/ops.h"
#include "models/mlp.h"

namespace ckpt::eval {
namespace {

/// How near a state dict comes to an architecture: fixable by an edit of keys, then the fewest faults.
struct Candidate {
  const Architecture* architecture;
  std::vector<ModelTensor> tensors;
  CheckReport report;

  [[nodiscard]] std::size_t faults() const {
    return report.missing.size() + report.unexpected.size() + report.misfits.size();
  }
  [[nodiscard]] bool nearer_than(const Candidate& other) const {
    return std::pair(!report.fix, faults()) < std::pair(!other.report.fix, other.faults());
  }
  /// Whether the state dict has at least half of its keys, or can have them.
  [[nodiscard]] bool is_near() const {
    return report.fix || 2 * (report.missing.size() + report.forgiven.size()) <= report.keys;
  }
};

std::string script_hint(const std::string& file) {
  return "ckpt inspect " + shell_word(file) + " shows its keys; a model of your own: torch.jit.script(" +
         "model).save(\"script.pt\") in Python, then ckpt eval script.pt --arch torchscript";
}

/// Whether what the architecture has no place for are layers (a norm, say), which the model cannot do without. An mlp
/// is made of what it finds, so that it is near any model: there it may be anything.
bool lacks_layers(const Architecture& architecture, const CheckReport& report) {
  return std::any_of(report.unexpected.begin(), report.unexpected.end(), [&](const std::string& key) {
    return architecture.name == mlp.name || key.ends_with(".weight") || key.ends_with(".running_mean");
  });
}

Error unrecognised(const AsRead& file, const std::optional<Candidate>& closest, const std::string& why) {
  Error error(ErrorCode::unsupported, "no architecture has the keys and shapes of this state dict");
  error.expected("one of " + architecture_names()).in(file.checkpoint.file);
  if (!closest) {
    if (!why.empty()) error.detail("It is no mlp: " + why + ".");
    error.hint(script_hint(file.checkpoint.file));
    return error;
  }
  const Architecture& architecture = *closest->architecture;
  error.detail("Closest is " + std::string(architecture.name) + ". Error(s) in loading state_dict for " +
               std::string(architecture.class_name) + ":");
  for (std::string& line : load_errors(closest->report)) error.detail(std::move(line));
  if (!why.empty()) error.detail("It is no mlp: " + why + ".");
  const std::string hint = fix_hint(architecture, closest->report, file, closest->tensors);
  error.hint(hint.empty() ? "--arch NAME, where you know which it is, or --root PATH, where the weights lie elsewhere"
                          : hint);
  return error;
}

bool has_layers(const Architecture& architecture, const std::vector<ModelTensor>& found) {
  const auto layers = [](const std::vector<ModelTensor>& tensors) {
    std::map<std::string_view, std::vector<std::int64_t>> shapes;
    for (const ModelTensor& tensor : tensors) shapes.emplace(tensor.name, tensor.shape);
    return shapes;
  };
  const std::vector<ModelTensor> wanted = architecture.tensors(found);
  return layers(wanted) == layers(found);
}

/// An mlp is any chain: one whose names, but for a prefix that all share, are those of another architecture is most
/// likely that one, which may be given its inputs otherwise.
void check_prefixes(std::vector<ModelTensor> tensors, const AsRead& file) {
  const std::string first = tensors.front().name;
  for (std::size_t begin = 0, dot = 0; (dot = first.find('.', begin)) != std::string::npos; begin = dot + 1) {
    for (ModelTensor& tensor : tensors) {
      if (tensor.name.compare(0, dot + 1 - begin, first, begin, dot + 1 - begin) != 0) return;
      tensor.name.erase(0, dot + 1 - begin);
    }
    for (const Architecture& architecture : architectures()) {
      if (architecture.name == mlp.name || !has_layers(architecture, tensors)) continue;
      const std::string prefix = first.substr(0, dot + 1), name(architecture.name);
      const std::string command = mending_command(file, tensors);
      throw Error(ErrorCode::unsupported, "its keys are those of " + name + " after the prefix '" + prefix + "'")
          .in(file.checkpoint.file)
          .hint((command.empty() ? prefix_command(file.checkpoint.file, prefix, {}) : command) + " makes " + name +
                " of it; --arch mlp runs it as a chain of Linear layers");
    }
  }
}

}  // namespace

std::vector<ModelTensor> listed_tensors(const Checkpoint& checkpoint, const std::string& root) {
  std::vector<ModelTensor> listed;
  for (const auto& [name, tensor] : state_entries(checkpoint, tensors_by_value(checkpoint), root))
    listed.push_back({std::string(name), tensor->info.shape, tensor->info.dtype});
  return listed;
}

std::string mending_command(const AsRead& file, std::vector<ModelTensor> tensors) {
  const std::string command = fix_command(check(file.checkpoint, tensors, file.root), file.checkpoint.file);
  if (!command.empty()) return command;
  for (ModelTensor& tensor : tensors) tensor.name.insert(0, data_parallel_prefix);
  return fix_command(check(file.checkpoint, tensors, file.root), file.checkpoint.file);
}

std::string fix_hint(const Architecture& architecture, const CheckReport& report, const AsRead& file,
                     const std::vector<ModelTensor>& tensors) {
  if (!report.fix) return {};
  if (!report.fix->drop.empty() && lacks_layers(architecture, report)) return script_hint(file.checkpoint.file);
  return mending_command(file, tensors);
}

const Architecture& recognise(const Checkpoint& checkpoint, const AsRead& file) {
  const std::vector<ModelTensor> found = listed_tensors(checkpoint, file.root);
  std::optional<Candidate> closest;
  std::string why;
  const Architecture* fits = nullptr;
  for (const Architecture& architecture : architectures()) {
    try {
      std::vector<ModelTensor> tensors = architecture.tensors(found);
      if (architecture.name == mlp.name) check_biases(tensors);
      CheckReport report = check(checkpoint, tensors, file.root);
      Candidate candidate{&architecture, std::move(tensors), std::move(report)};
      if (candidate.report.loads()) {
        fits = &architecture;
        break;
      }
      // An mlp takes its names from the state dict, so that nothing is missing.
      const bool nearer = !closest || (architecture.name != mlp.name && candidate.nearer_than(*closest));
      if (candidate.is_near() && nearer) closest = std::move(candidate);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      why = error.what();  // the last one asked is the most general
    }
  }
  if (fits == nullptr) throw unrecognised(file, closest, why);
  if (fits->name == mlp.name) check_prefixes(found, file);
  return *fits;
}

}  // namespace ckpt::eval
