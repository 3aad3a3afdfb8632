#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/eval.h"

namespace ckpt::eval {

/// How a network computes on a GPU.
enum class Precision { fp32, tf32, bf16 };

/// A model made ready for one device: weights there, norms folded, layouts chosen. Calls may come from several threads
/// at once; each runs under its caller's InferenceMode.
class Network {
 public:
  virtual ~Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// `inputs`: float32, normalised, [n, Signature::input…], contiguous (or channels_last where it has four
  /// dimensions), on the network's device. Returns float32 [n, positions * classes] there: before any softmax.
  [[nodiscard]] virtual at::Tensor logits(const at::Tensor& inputs) const = 0;

 protected:
  Network() = default;
};

/// A checkpoint that has been recognised and fits: its weights in host memory, float32, by the architecture's names.
class Model {
 public:
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// "fnn", "captcha-resnet" …
  [[nodiscard]] virtual const std::string& arch() const = 0;
  /// TorchScript learns its own from the data: see bind().
  [[nodiscard]] virtual const Signature& signature() const = 0;
  /// Between its Linear layers, as Options::activation names it; empty for a model that is no chain of them.
  [[nodiscard]] virtual std::string activation() const { return {}; }
  /// For models of any shape: what one sample of the data looks like, and how many numbers its target has.
  virtual void bind(const std::vector<std::int64_t>& input_shape, const std::vector<std::int64_t>& target_shape);

  /// Ready for `device`: a copy, or on a CPU one that its callers share. Large weights may go into that one, so that a
  /// model which was prepared for a CPU is good for no other device. Throws Error (out_of_memory).
  [[nodiscard]] virtual std::shared_ptr<const Network> prepare(at::Device device, Precision precision) const = 0;

 protected:
  Model() = default;
};

struct ModelRequest {
  std::string arch = "auto";
  std::optional<std::string> root;
  bool strict = false;
  std::function<bool()> has_cuda;  ///< torch.cuda.is_available(), asked where tags say cuda; empty: there is none
  std::optional<std::string> activation;  ///< of mlp; none: what a whole module says, else "relu"
  std::optional<std::pair<double, double>> normalize;
};

/// Recognises and loads. The storages that were read lie in the model's memory from then on, for `checkpoint` too,
/// until it goes; the rest of a compressed file is not read: finish_reading(). What was done to make it fit (prefix,
/// device tags, dtypes) goes to `notes`, a sentence each with the command that makes it permanent; what was taken from
/// the file on trust (the order of an mlp's layers) to the checkpoint's warnings. Throws Error: unsupported where it
/// does not fit, with the lines of PyTorch's own error and the hint that mends it; limit_exceeded where views stand for
/// far more bytes than there are; invalid_argument where the root is not clear.
[[nodiscard]] std::unique_ptr<Model> load_model(Checkpoint& checkpoint, const ModelRequest& request,
                                                std::vector<std::string>& notes);

/// Says in `notes` which of the request's settings a model of that architecture has no use for.
void note_unused(const ModelRequest& request, std::string_view arch, std::vector<std::string>& notes);

/// A TorchScript file, gzip-compressed or not, through libtorch's own loader: this runs code that the file holds.
/// `request.arch` is "torchscript". Throws Error: unsupported (libtorch's words), and what reading throws.
[[nodiscard]] std::unique_ptr<Model> load_torchscript(ByteSourcePtr source, const ModelRequest& request);

}  // namespace ckpt::eval
