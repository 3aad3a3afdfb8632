#include "datasets/tensors.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/shape.h"
#include "datasets/batch.h"
#include "datasets/shape.h"

namespace ckpt::eval {
namespace {

class TensorDataset final : public Dataset {
 public:
  TensorDataset(std::string path, const std::vector<std::string>& files, std::string split)
      : path_(std::move(path)), files_(files), split_(std::move(split)) {
    for (std::size_t file = 0; file < files_.size(); ++file) {
      open(file);
      if (file == 0) {
        input_shape_ = batch_->input_shape();
        target_shape_ = batch_->target_shape();
        dtype_ = batch_->dtype();
      }
      expect_like_first();
      starts_.push_back(starts_.back() + batch_->size());
      for (std::string& read : batch_->files()) read_.push_back(std::move(read));
    }
    fit_ = Fit(input_shape_, {});
  }

  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] std::vector<std::string> files() const override { return read_; }
  [[nodiscard]] std::uint64_t size() const override { return starts_.back(); }
  [[nodiscard]] Shape input_shape() const override { return input_shape_; }
  [[nodiscard]] Shape target_shape() const override { return target_shape_; }
  [[nodiscard]] std::vector<std::string> warnings() const override { return warnings_; }

  void bind(const Signature& signature) override {
    try {
      fit_ = Fit(input_shape_, signature.input);
      batch_->check_targets(signature);
    } catch (Error& error) {
      error.in(path_);
      throw;
    }
    signature_ = signature;
    labels_.reset();
  }

  [[nodiscard]] Samples read(std::uint64_t first, std::uint64_t count) override {
    Samples samples;
    samples.dtype = dtype_;
    samples.first = first = std::min(first, size());
    if (first == size()) return samples;
    // The last file that begins at or before it: files may be empty.
    const auto file =
        static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), first) - starts_.begin() - 1);
    open(file);
    const std::uint64_t start = starts_[file];
    samples.count = count = std::min(count, starts_[file + 1] - first);
    try {
      // Targets first and all: they mostly lie behind the inputs, and a compressed file is read forward.
      samples.labels = labels_from(first - start, count);
      samples.inputs = batch_->read_inputs(first - start, count);
      keep_warnings();
    } catch (Error& error) {
      error.in(files_[file]);
      throw;
    }
    fit_.apply(samples.inputs, dtype_size(dtype_));
    return samples;
  }

  [[nodiscard]] Samples labels(std::uint64_t first, std::uint64_t count) override {
    Samples samples;
    samples.first = first = std::min(first, starts_[1]);
    samples.count = count = std::min(count, starts_[1] - first);
    open(0);
    try {
      samples.labels = labels_from(first, count);
    } catch (Error& error) {
      error.in(files_.front());
      throw;
    }
    return samples;
  }

 private:
  /// Of `count` samples of the file that is open, from its sample `first` on.
  std::vector<std::int32_t> labels_from(std::uint64_t first, std::uint64_t count) {
    if (!labels_) labels_ = batch_->read_labels(signature_, starts_[opened_]);
    const auto positions = static_cast<std::uint64_t>(signature_.positions);
    const auto from = labels_->begin() + static_cast<std::ptrdiff_t>(first * positions);
    return {from, from + static_cast<std::ptrdiff_t>(count * positions)};
  }

  void open(std::size_t file) {
    if (batch_ && opened_ == file) return;
    labels_.reset();
    batch_.reset();
    batch_.emplace(files_[file], split_);
    opened_ = file;
    keep_warnings();
    // A file that is opened again must be the one that was counted.
    if (file + 1 < starts_.size()) {
      expect_like_first();
      if (batch_->size() != starts_[file + 1] - starts_[file])
        throw Error(ErrorCode::io, "somebody changed the file while it was read").in(files_[file]);
    }
  }

  /// Each once, however often a file is read.
  void keep_warnings() {
    for (const std::string& warning : batch_->warnings()) {
      std::string text = batch_->path() + ": " + warning;
      if (std::find(warnings_.begin(), warnings_.end(), text) == warnings_.end()) warnings_.push_back(std::move(text));
    }
  }

  void expect_like_first() const {
    if (batch_->input_shape() == input_shape_ && batch_->target_shape() == target_shape_ && batch_->dtype() == dtype_)
      return;
    const auto described = [](DType dtype, const Shape& inputs, const Shape& targets) {
      return std::string(dtype_name(dtype)) + " " + shape_text(inputs) + " with targets " + shape_text(targets);
    };
    throw Error(ErrorCode::unsupported,
                "its samples are " + described(batch_->dtype(), batch_->input_shape(), batch_->target_shape()))
        .in(batch_->path())
        .expected(described(dtype_, input_shape_, target_shape_) + " as in " + files_.front())
        .hint("name one of the files, or put those of each kind in a folder of their own: ckpt eval MODEL --data PATH");
  }

  std::string path_;
  std::vector<std::string> files_;
  std::vector<std::string> read_;  ///< these, and others that they are made of
  std::vector<std::string> warnings_;
  std::string split_;
  std::vector<std::uint64_t> starts_{0};  ///< of each file's samples, and the end of the last
  Shape input_shape_, target_shape_;
  DType dtype_{};
  Fit fit_;
  Signature signature_;

  std::optional<Batch> batch_;  ///< the file that is open
  std::size_t opened_ = 0;
  std::optional<std::vector<std::int32_t>> labels_;  ///< of that file
};

}  // namespace

std::unique_ptr<Dataset> open_tensors(const std::string& path, const std::vector<std::string>& files,
                                      const std::string& split) {
  return std::make_unique<TensorDataset>(path, files, split);
}

}  // namespace ckpt::eval
