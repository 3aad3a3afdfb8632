#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/export.h"

/// Would one checkpoint load into the model that another one came from: load_state_dict(strict=True) without a model.
///
///     const ckpt::CheckReport report = ckpt::check(ckpt::load("new.pt"), ckpt::load("ref.pt"));
///     for (const std::string& line : ckpt::load_errors(report)) std::cout << line << '\n';
namespace ckpt {

struct CheckOptions {
  std::string root = "auto";       ///< of the new checkpoint's state dict, as digest() takes it
  std::string like_root = "auto";  ///< of the reference's
};

/// A key of both whose value does not become the model's: it is no tensor, has another shape, or is of a kind that
/// PyTorch does not copy (a sparse tensor into a dense one, a quantised one into one that is not).
struct Misfit {
  std::string name;
  std::optional<std::vector<std::int64_t>> shape;  ///< none: the new checkpoint has no tensor there
  std::vector<std::int64_t> like_shape;
  /// Where `shape` is none the class of what stands there, where the shapes agree PyTorch's words, up to where they
  /// name types; else empty.
  std::string_view why;

  [[nodiscard]] bool has_other_size() const { return why.empty(); }
};

/// PyTorch casts these without a word.
struct DTypeMismatch {
  std::string name, dtype, like_dtype;
};

/// An edit of the new checkpoint after which its keys are those of the reference: a change of prefix, or what is left
/// out, of the part that `root` and `weights_only` take first; or that part alone.
struct CheckFix {
  std::string strip_prefix, add_prefix;  ///< both: strip first
  std::vector<std::string> drop;         ///< globs over names of tensors, of the part
  std::string root;                      ///< the state dict, where the file has others
  bool weights_only = false;             ///< it is a whole module
};

struct CheckReport {
  std::string root, like_root;  ///< where the state dicts were found
  std::size_t keys = 0;         ///< of the reference
  /// In the order in which PyTorch lists them.
  std::vector<std::string> missing, unexpected;
  std::vector<Misfit> misfits;
  std::vector<DTypeMismatch> dtypes;  ///< of those that are copied
  /// Keys that are missing, which PyTorch forgives: num_batches_tracked of a norm saved before there was one.
  std::vector<std::string> forgiven;
  std::optional<CheckFix> fix;

  [[nodiscard]] bool loads() const { return missing.empty() && unexpected.empty() && misfits.empty(); }
};

/// A tensor of a model's own state dict.
struct ModelTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  DType dtype = DType::float32;
};

/// Of whole modules it takes what their state_dict() would give. Reads no tensor bytes. Throws Error: invalid_argument
/// (a root holds no state dict), unsupported (a tensor is quantised in a way that torch does not know), limit_exceeded
/// (more entries than ckpt/limits.h allows to be walked), and what unpack_modules() throws.
CKPT_API CheckReport check(const Checkpoint& checkpoint, const Checkpoint& like, const CheckOptions& options = {});

/// The same for a model that is known by what its state_dict() would hold, in its order.
CKPT_API CheckReport check(const Checkpoint& checkpoint, const std::vector<ModelTensor>& model,
                           std::string_view root = "auto");

/// The command after which the keys of `file` agree; empty where report.fix is none.
CKPT_API std::string fix_command(const CheckReport& report, const std::string& file);

/// The lines of the error that load_state_dict would raise, in PyTorch's words and order, after its first line.
CKPT_API std::vector<std::string> load_errors(const CheckReport& report);

}  // namespace ckpt
