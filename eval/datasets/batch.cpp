#include "datasets/batch.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/formats.h"
#include "ckpt/shape.h"
#include "datasets/numbers.h"
#include "datasets/targets.h"

namespace ckpt::eval {
namespace {

/// Names of inputs and targets, as tensor_names() has them.
struct Pair {
  const char* inputs;
  const char* targets;
  const char* split = nullptr;  ///< whose samples they are, where the names tell
};
constexpr std::array<Pair, 12> pairs{{
    {"0", "1"},                  // a tuple or a list
    {"tensors.0", "tensors.1"},  // torch.utils.data.TensorDataset
    {"images", "labels"},
    {"images", "targets"},
    {"inputs", "targets"},
    {"inputs", "labels"},
    {"data", "targets"},
    {"data", "labels"},
    {"x", "y"},
    {"x_test", "y_test", "testing"},  // Keras' mnist.npz
    {"x_train", "y_train", "training"},
    {"x_val", "y_val", "validating"},
}};

using Names = std::map<std::string, const NamedTensor*>;
/// Inputs and targets.
using Found = std::pair<const NamedTensor*, const NamedTensor*>;

std::string listed(const std::vector<NamedTensor>& tensors) {
  constexpr std::size_t most = 6;
  if (tensors.empty()) return "no tensor";
  std::string text = std::to_string(tensors.size()) + (tensors.size() == 1 ? " tensor (" : " tensors (");
  for (std::size_t i = 0; i < std::min(most, tensors.size()); ++i) {
    const TensorInfo& info = tensors[i].tensor->info;
    text += (i == 0 ? "'" : ", '") + tensors[i].name + "' " + std::string(dtype_name(info.dtype)) + " " +
            shape_text(info.shape);
  }
  return text + (tensors.size() > most ? ", …)" : ")");
}

/// Those whose names tell the split; where there are none, those whose names tell none. A tuple of more than two is
/// none of ours.
std::vector<Found> fitting_pairs(const std::vector<NamedTensor>& tensors, const std::string& split) {
  Names names;
  for (const NamedTensor& named : tensors) names.emplace(named.name, &named);
  std::vector<Found> of_split, of_any;
  for (const Pair& pair : pairs) {
    const auto inputs = names.find(pair.inputs), targets = names.find(pair.targets);
    if (inputs == names.end() || targets == names.end()) continue;
    if (pair.split != nullptr && split != pair.split) continue;
    if (pair.inputs == pairs[0].inputs && tensors.size() != 2) continue;
    (pair.split == nullptr ? of_any : of_split).emplace_back(inputs->second, targets->second);
  }
  return of_split.empty() ? of_any : of_split;
}

/// Where several pairs fit, and are not one pair under several names: the command that leaves the first of them.
void expect_one(const std::vector<Found>& found, const std::string& path) {
  const Found& chosen = found.front();
  const auto is_of_first = [&](const NamedTensor* named) {
    return named->tensor == chosen.first->tensor || named->tensor == chosen.second->tensor;
  };
  std::string list;
  std::set<std::string> others;
  for (const Found& pair : found) {
    list += (list.empty() ? "" : ", ") + pair.first->name + " with " + pair.second->name;
    for (const NamedTensor* named : {pair.first, pair.second})
      if (!is_of_first(named)) others.insert(named->name);
  }
  if (others.empty()) return;
  std::string command = "ckpt convert " + shell_word(path) + " OUT";
  for (const std::string& name : others) command += " --drop " + name;
  throw Error(ErrorCode::invalid_argument, "several pairs of its tensors could be meant: " + list)
      .expected("one pair of inputs and targets")
      .hint("leave the others out: " + command);
}

/// Inputs and targets among the tensors of a file.
Found find_pair(const std::vector<NamedTensor>& tensors, const std::string& split, const std::string& path) {
  const std::vector<Found> found = fitting_pairs(tensors, split);
  if (found.empty())
    throw Error(ErrorCode::unsupported, "the file holds " + listed(tensors))
        .expected("a tuple of inputs and targets, or both under names such as images and labels")
        .hint("in Python: torch.save((inputs, targets), 'testing_set.0.pt')");
  expect_one(found, path);
  return found.front();
}

Shape of_one(const NamedTensor& tensor) {
  const Shape& shape = tensor.tensor->info.shape;
  if (shape.empty()) {
    throw Error(ErrorCode::unsupported, "tensor '" + tensor.name + "' is a single number")
        .expected("a first dimension that counts samples")
        .hint("in Python: torch.stack() makes of samples one tensor");
  }
  Shape one(shape.begin() + 1, shape.end());
  if (one.empty()) one.push_back(1);
  return one;
}

}  // namespace

Batch::Batch(const std::string& path, const std::string& split) : checkpoint_(load(path)) {
  try {
    const auto tensors = tensor_names(checkpoint_);
    const auto [inputs, targets] = find_pair(tensors, split, path);
    open(inputs_, *inputs);
    open(targets_, *targets);
    input_dtype_ = inputs->tensor->info.dtype;
    target_dtype_ = targets->tensor->info.dtype;
    input_shape_ = of_one(*inputs);
    target_shape_ = of_one(*targets);
    sample_elements(input_shape_);
    if (input_dtype_ != DType::uint8 && !is_float(input_dtype_)) {
      throw Error(ErrorCode::unsupported, "its inputs are " + std::string(dtype_name(input_dtype_)))
          .expected("uint8 (0 to 255, to be normalised) or a floating type (taken as it is)")
          .hint("in Python: save inputs.to(torch.uint8), or inputs.float()");
    }
    if (inputs_->rows() != targets_->rows()) {
      throw Error(ErrorCode::corrupt, "the file has " + std::to_string(targets_->rows()) + " targets")
          .expected(std::to_string(inputs_->rows()) + ", as many as inputs")
          .hint("in Python: save as many targets as inputs, one a sample");
    }
  } catch (Error& error) {
    error.in(path);
    throw;
  }
}

void Batch::open(std::optional<TensorReader>& reader, const NamedTensor& tensor) {
  try {
    reader.emplace(checkpoint_, tensor);
  } catch (Error& error) {
    if (error.code() == ErrorCode::unsupported && error.hint().empty())
      error.hint(
          "in Python: save inputs and targets as dense tensors on the CPU, with to_dense() where they are sparse");
    throw;
  }
}

void Batch::check_targets(const Signature& signature) const { target_kind(target_dtype_, target_shape_, signature); }

std::vector<std::int32_t> Batch::read_labels(const Signature& signature, std::uint64_t first) const {
  return read_targets(*targets_, target_dtype_, target_shape_, signature, first);
}

std::vector<std::byte> Batch::read_inputs(std::uint64_t first, std::uint64_t count) {
  std::vector<std::byte> stored(static_cast<std::size_t>(count * inputs_->row_bytes()));
  inputs_->read(first, count, stored);
  if (first + count == size() && !finished_) {
    for (std::string& warning : finish_reading(checkpoint_)) checkpoint_.warnings.push_back(std::move(warning));
    finished_ = true;
  }
  if (input_dtype_ == dtype()) return stored;
  std::vector<float> floats(stored.size() / dtype_size(input_dtype_));
  to_floats(input_dtype_, stored, std::span(floats));
  const auto bytes = std::as_bytes(std::span(floats));
  return {bytes.begin(), bytes.end()};
}

}  // namespace ckpt::eval
