// What tests/eval/models.py asks of libckpt_eval: a model's outputs for given inputs, and a checkpoint that went
// through libtorch's tensors. Errors come out as in the programs.
//
//   ckpt_eval_tool logits MODEL INPUTS OUTPUTS [arch=A] [root=R] [activation=A] [normalize=M,S] [shape=D,D…] [strict]
//   ckpt_eval_tool bridge IN OUT [root=R] [metadata] [values]
//   ckpt_eval_tool evaluate MODEL DATA DEVICE…          one after the other, in one program
//
// `values` makes sparse and quantised tensors plain ones.
// INPUTS and OUTPUTS are raw float32; `shape` is one sample's, for models that do not know their own.
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>

#include "ckpt/eval.h"
#include "ckpt/file_sink.h"
#include "ckpt/formats.h"
#include "ckpt/torch.h"
#include "console/messages.h"
#include "models/model.h"

namespace {

using namespace ckpt;

using Words = std::vector<std::string>;
using Settings = std::map<std::string, std::string>;

Settings settings_of(const Words& words, std::size_t from) {
  Settings settings;
  for (std::size_t i = from; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    settings[words[i].substr(0, equals)] = equals == std::string::npos ? "" : words[i].substr(equals + 1);
  }
  return settings;
}

std::optional<std::string> setting(const Settings& settings, const std::string& name) {
  const auto found = settings.find(name);
  return found == settings.end() ? std::nullopt : std::optional(found->second);
}

std::vector<double> numbers(const std::string& list) {
  std::vector<double> all;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) all.push_back(std::stod(part));
  return all;
}

std::unique_ptr<eval::Model> open_model(const std::string& file, const eval::ModelRequest& request) {
  if (request.arch == "torchscript") return eval::load_torchscript(open_file(file), request);
  std::vector<std::string> notes;
  Checkpoint checkpoint = load(file);
  auto model = eval::load_model(checkpoint, request, notes);
  for (const std::string& note : notes) tools::print_note(note);
  return model;
}

int logits(const Words& words) {
  const Settings settings = settings_of(words, 4);
  eval::ModelRequest request;
  request.arch = setting(settings, "arch").value_or("auto");
  request.root = setting(settings, "root");
  request.strict = settings.contains("strict");
  request.activation = setting(settings, "activation");
  if (const auto pair = setting(settings, "normalize"))
    request.normalize = std::pair(numbers(*pair).at(0), numbers(*pair).at(1));
  const auto model = open_model(words[1], request);

  std::vector<std::int64_t> shape = model->signature().input;
  if (const auto given = setting(settings, "shape")) {
    shape.clear();
    for (const double size : numbers(*given)) shape.push_back(static_cast<std::int64_t>(size));
    model->bind(shape, {1});
  }
  const eval::Signature& signature = model->signature();
  std::cout << model->arch() << ' ' << signature.positions << 'x' << signature.classes << " (x - " << signature.mean
            << ") / " << signature.std << '\n';

  std::ifstream in(words[2], std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  shape.insert(shape.begin(), 1);
  std::int64_t sample = 1;
  for (const std::int64_t size : shape) sample *= size;
  shape.front() = static_cast<std::int64_t>(bytes.size() / sizeof(float)) / sample;
  const c10::InferenceMode inference;
  const at::Tensor inputs = at::from_blob(bytes.data(), shape, at::kFloat);
  const at::Tensor outputs = model->prepare(at::Device(at::kCPU), eval::Precision::fp32)->logits(inputs).contiguous();
  std::ofstream(words[3], std::ios::binary)
      .write(static_cast<const char*>(outputs.const_data_ptr()), static_cast<std::streamsize>(outputs.nbytes()));
  return tools::exit_done;
}

int bridge(const Words& words) {
  const Settings settings = settings_of(words, 3);
  const Checkpoint checkpoint = load(words[1]);
  auto tensors = eval::to_torch(checkpoint, setting(settings, "root").value_or("auto"));
  if (settings.contains("values"))
    for (eval::StateTensor& state : tensors)
      state.tensor = state.tensor.is_quantized() ? eval::widened(state.tensor) : state.tensor.to_dense();
  std::vector<ModuleVersion> metadata;
  if (settings.contains("metadata")) metadata = {{"", 1}, {"fc", 1}, {"bn", 2}};
  save(eval::from_torch(tensors, metadata), words[2]);
  return tools::exit_done;
}

int evaluate(const Words& words) {
  for (std::size_t i = 3; i < words.size(); ++i) {
    eval::Options options;
    options.model = words[1];
    options.data = words[2];
    options.device = words[i];
    const eval::Result result = eval::evaluate(options);
    std::cout << result.device << ' ' << result.counts.correct << " of " << result.counts.samples << std::endl;
  }
  return tools::exit_done;
}

}  // namespace

int main(int count, char** arguments) {
  const Words words(arguments + 1, arguments + count);
  return tools::finish_output(tools::guarded([&] {
    if (words.size() >= 4 && words[0] == "logits") return logits(words);
    if (words.size() >= 3 && words[0] == "bridge") return bridge(words);
    if (words.size() >= 4 && words[0] == "evaluate") return evaluate(words);
    throw tools::usage_error("neither logits, bridge nor evaluate", "see the top of tests/eval/tool.cpp");
  }));
}
