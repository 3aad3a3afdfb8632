// Any TorchScript file through libtorch's own loader, which runs what is in it.
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <caffe2/serialize/read_adapter_interface.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "bridge/torch_errors.h"
#include "ckpt/error.h"
#include "ckpt/formats.h"
#include "ckpt/gzip.h"
#include "ckpt/limits.h"
#include "ckpt/shape.h"
#include "models/captcha.h"
#include "models/model.h"
#include "models/precision.h"

namespace ckpt::eval {
namespace {

class SourceAdapter final : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit SourceAdapter(ByteSourcePtr source) : source_(std::move(source)), size_(source_->size()) {}

  [[nodiscard]] std::size_t size() const override { return size_; }
  std::size_t read(std::uint64_t at, void* out, std::size_t count, const char*) const override {
    return source_->read_at(at, {static_cast<std::byte*>(out), count});
  }

 private:
  ByteSourcePtr source_;
  std::size_t size_;
};

/// The module's forward is const to us: it has been put to eval mode, and runs under InferenceMode.
at::Tensor forward(const torch::jit::Module& module, const at::Tensor& inputs) {
  torch::jit::Module callee = module;  // a handle
  const c10::IValue output = callee.forward({inputs});
  if (!output.isTensor())
    throw Error(ErrorCode::unsupported, "the TorchScript model returns a " + output.tagKind())
        .expected("one tensor")
        .hint("in Python: script a module whose forward() gives the scores alone");
  return output.toTensor();
}

/// What the module was made to take: the dtype of its first weights that are floating-point numbers.
at::ScalarType own_type(const torch::jit::Module& module) {
  for (const at::Tensor& tensor : module.parameters())
    if (tensor.is_floating_point()) return tensor.scalar_type();
  for (const at::Tensor& tensor : module.buffers())
    if (tensor.is_floating_point()) return tensor.scalar_type();
  return at::kFloat;
}

/// As torch.nn.Module.to() does; that of torch::jit::Module casts indices and masks, too.
void cast_floats(torch::jit::Module& module, at::ScalarType type) {
  const auto cast = [&](const at::Tensor& tensor) {
    if (tensor.is_floating_point()) tensor.set_data(tensor.to(type));
  };
  for (const at::Tensor& tensor : module.parameters()) cast(tensor);
  for (const at::Tensor& tensor : module.buffers()) cast(tensor);
}

/// One whose calls do not meet those of `module`: what forward() may change (attributes, buffers) is its own;
/// parameters are shared, and so are modules that pack their weights, as quantised ones do.
torch::jit::Module sharing_weights(const torch::jit::Module& module) {
  c10::IValue::HashIdentityIValueMap copied;
  const auto share = [&](const c10::IValue& value) { copied.emplace(value, value); };
  for (const at::Tensor& parameter : module.parameters()) share(parameter);
  for (const torch::jit::Module& part : module.modules())
    if (part.find_method("__getstate__")) share(part._ivalue());
  return torch::jit::Module(c10::IValue(module._ivalue()).deepcopy(copied).toObject());
}

class ScriptNetwork final : public Network {
 public:
  ScriptNetwork(torch::jit::Module module, at::ScalarType type) : module_(std::move(module)), type_(type) {}

  [[nodiscard]] at::Tensor logits(const at::Tensor& inputs) const override {
    torch::jit::Module module = take();
    // A copy, which forward() may change; contiguous, as a DataLoader would give it: a user's view() may count on it.
    const at::Tensor own = inputs.to(type_, false, true, at::MemoryFormat::Contiguous);
    at::Tensor outputs = forward(module, own).to(at::kFloat).flatten(1);
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(module));
    return outputs;
  }

 private:
  /// For one call: as many are made as there are calls at once.
  torch::jit::Module take() const {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        torch::jit::Module module = std::move(idle_.back());
        idle_.pop_back();
        return module;
      }
    }
    return sharing_weights(module_);
  }

  torch::jit::Module module_;  // never run itself
  at::ScalarType type_;
  mutable std::mutex mutex_;
  mutable std::vector<torch::jit::Module> idle_;
};

class ScriptModel final : public Model {
 public:
  ScriptModel(std::shared_ptr<SourceAdapter> file, const ModelRequest& request)
      : file_(std::move(file)), module_(torch::jit::load(file_, at::kCPU)) {
    module_.eval();
    if (request.normalize) std::tie(signature_.mean, signature_.std) = *request.normalize;
  }

  [[nodiscard]] const std::string& arch() const override { return arch_; }
  [[nodiscard]] const Signature& signature() const override { return signature_; }

  void bind(const std::vector<std::int64_t>& input_shape, const std::vector<std::int64_t>& target_shape) override {
    const c10::InferenceMode inference;
    std::vector<std::int64_t> shape = input_shape;
    shape.insert(shape.begin(), 1);
    const at::Tensor output = try_types(shape);
    if (output.dim() < 2 || output.dim() > 3 || output.size(0) != 1 || output.numel() == 0)
      throw Error(ErrorCode::unsupported,
                  "the TorchScript model makes one sample a tensor of shape " + c10::str(output.sizes()))
          .expected("[1, classes] or [1, positions, classes]")
          .hint("in Python: script a module whose forward() gives these");
    const std::int64_t outputs = output.numel();
    std::int64_t targets = 1;
    std::vector<std::int64_t> sizes;
    for (const std::int64_t size : target_shape) {
      targets *= size;
      if (size != 1) sizes.push_back(size);
    }
    if (output.dim() == 3)
      signature_.positions = output.size(1);
    else if (outputs == captcha_outputs && (targets == captcha_positions || targets == captcha_outputs))
      signature_.positions = captcha_positions;
    else if (sizes.size() == 2 && targets == outputs)
      signature_.positions = sizes.front();  // one-hot, a row a position
    else if (targets > 1 && targets < outputs && outputs % targets == 0)
      signature_.positions = targets;
    signature_.input = input_shape;
    signature_.classes = outputs / signature_.positions;
    if (signature_.classes == captcha_classes && signature_.positions == captcha_positions)
      signature_.alphabet = captcha_alphabet;
  }

  [[nodiscard]] std::shared_ptr<const Network> prepare(at::Device device, Precision precision) const override {
    const at::ScalarType type = compute_options(device, precision).dtype().toScalarType();
    // Constants of its code, such as a frozen module's weights, go only where the file is loaded to.
    torch::jit::Module module =
        device.is_cpu() ? module_.deepcopy()
                        : with_torch("libtorch's TorchScript loader", [&] { return torch::jit::load(file_, device); });
    module.eval();
    if (type == at::kFloat) return std::make_unique<ScriptNetwork>(std::move(module), input_type_);
    cast_floats(module, type);
    return std::make_unique<ScriptNetwork>(std::move(module), type);
  }

 private:
  /// Of float32, or else of what the module was made to take.
  at::Tensor try_types(const std::vector<std::int64_t>& shape) {
    try {
      return try_zeros(shape);
    } catch (const Error&) {
      const at::ScalarType own = own_type(module_);
      if (own == at::kFloat) throw;
      input_type_ = own;
    }
    return try_zeros(shape);
  }

  at::Tensor try_zeros(const std::vector<std::int64_t>& shape) const {
    try {
      return with_torch("the TorchScript model fails on zeros of the data's shape, " + shape_text(shape),
                        [&] { return forward(sharing_weights(module_), at::zeros(shape, input_type_)); });
    } catch (Error& error) {
      if (error.hint().empty() && error.code() != ErrorCode::out_of_memory)
        error.hint(
            "where it is the shape: --data PATH names data of another, or in Python torch.nn.Flatten() stands first in "
            "the module; else the module's own code says why");
      throw;
    }
  }

  std::string arch_ = "torchscript";
  std::shared_ptr<SourceAdapter> file_;
  Signature signature_;
  torch::jit::Module module_;
  at::ScalarType input_type_ = at::kFloat;
};

/// libtorch compares no checksum. What verify() does not know, it may know.
void check_bytes(const ByteSourcePtr& source) {
  std::vector<Finding> findings;
  try {
    findings = verify(source);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
  }
  const auto fault = std::ranges::find(findings, true, &Finding::fault);
  if (fault == findings.end()) return;
  Error error(ErrorCode::corrupt, fault->what);
  if (!fault->where.empty()) error.within(fault->where);
  throw error.hint("ckpt verify " + shell_word(source->name()) + " lists all that is wrong with it");
}

}  // namespace

std::unique_ptr<Model> load_torchscript(ByteSourcePtr source, const ModelRequest& request) {
  const std::string file = source->name();
  try {
    for (int layer = 0; layer < limits::gzip_depth && is_gzip(*source); ++layer) source = gunzip(std::move(source));
    if (const std::string format = detect(source).format; !format.empty() && format != "torchscript") {
      static_cast<void>(read(source));  // one that is cut short may be taken for another: that it is cut is told first
      throw Error(ErrorCode::unsupported, "is of the format " + format + ", which holds no code")
          .expected("a TorchScript file, which torch.jit.save writes")
          .hint("--arch auto runs it in the model that it was made of");
    }
    check_bytes(source);
    return with_torch("libtorch's TorchScript loader", [&] {
      auto adapter = std::make_shared<SourceAdapter>(std::move(source));
      return std::make_unique<ScriptModel>(std::move(adapter), request);
    });
  } catch (Error& error) {
    error.in(file);
    throw;
  }
}

}  // namespace ckpt::eval
