#include "datasets/targets.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "ckpt/shape.h"
#include "datasets/numbers.h"

namespace ckpt::eval {
namespace {

std::string wanted(const Signature& signature) {
  const std::string positions = std::to_string(signature.positions), classes = std::to_string(signature.classes);
  if (signature.classes == 0) return "one integer a sample, or a number a class";
  if (signature.positions == 1) return "one integer a sample, or " + classes + " numbers (one-hot)";
  return positions + " integers a sample, or " + positions + " times " + classes + " numbers (one-hot)";
}

/// Whether numbers lie in a row, or in a row a position.
bool is_by_position(const Shape& shape, const Signature& signature) {
  const Shape sizes = without_ones(shape);
  return sizes.size() < 2 || (sizes.size() == 2 && sizes.front() == signature.positions);
}

/// The place of the greatest, the first of equal ones.
std::int64_t greatest(std::span<const double> numbers, std::uint64_t sample) {
  if (std::any_of(numbers.begin(), numbers.end(), [](double number) { return std::isnan(number); }))
    throw Error(ErrorCode::corrupt, "the target of sample " + std::to_string(sample) + " holds NaN")
        .hint("in Python: leave out samples whose targets hold NaN");
  return std::max_element(numbers.begin(), numbers.end()) - numbers.begin();
}

/// Targets as they are stored, as classes.
class Decoder {
 public:
  Decoder(DType dtype, const Shape& shape, const Signature& signature)
      : dtype_(dtype),
        kind_(target_kind(dtype, shape, signature)),
        signature_(signature),
        numbers_(static_cast<std::size_t>(sample_elements(shape))) {}

  /// Appends the classes of `count` samples, of which the first has index `first`.
  void decode(std::span<const std::byte> bytes, std::uint64_t first, std::size_t count,
              std::vector<std::int32_t>& labels) {
    const auto positions = static_cast<std::size_t>(signature_.positions);
    if (is_integer(dtype_)) {
      integers_.resize(count * numbers_);
      to_integers(dtype_, bytes, std::span(integers_));
    }
    if (kind_ == TargetKind::classes) {
      for (std::size_t i = 0; i < integers_.size(); ++i) add(integers_[i], first + i / positions, labels);
      return;
    }
    doubles_.resize(count * numbers_);
    if (is_integer(dtype_))
      std::copy(integers_.begin(), integers_.end(), doubles_.begin());
    else
      to_floats(dtype_, bytes, std::span(doubles_));
    const std::size_t classes = numbers_ / positions;
    for (std::size_t i = 0; i < doubles_.size(); i += classes) {
      const std::uint64_t sample = first + i / numbers_;
      add(greatest(std::span(doubles_).subspan(i, classes), sample), sample, labels);
    }
  }

 private:
  void add(std::int64_t label, std::uint64_t sample, std::vector<std::int32_t>& labels) const {
    check_label(label, sample, signature_);
    labels.push_back(static_cast<std::int32_t>(label));
  }

  DType dtype_;
  TargetKind kind_;
  const Signature& signature_;
  std::size_t numbers_;  ///< of a sample
  std::vector<std::int64_t> integers_;
  std::vector<double> doubles_;
};

}  // namespace

TargetKind target_kind(DType dtype, const Shape& shape, const Signature& signature) {
  const std::uint64_t numbers = sample_elements(shape);
  const auto positions = static_cast<std::uint64_t>(signature.positions);
  const auto one_hot = positions * static_cast<std::uint64_t>(signature.classes);
  if (is_integer(dtype) && numbers == positions) return TargetKind::classes;
  if (signature.classes == 1)
    throw Error(ErrorCode::unsupported, "its targets are " + std::string(dtype_name(dtype)) +
                                            ", and the model has one output, which tells no classes apart")
        .expected("a model with an output for each class")
        .hint("in Python: compare such outputs with their targets, as the loss does");
  const bool fits = one_hot == 0 ? numbers > 0 && numbers % positions == 0 : numbers == one_hot;
  if (fits && is_by_position(shape, signature) && (is_integer(dtype) || is_float(dtype))) return TargetKind::one_hot;
  throw Error(ErrorCode::unsupported,
              "its targets are " + std::string(dtype_name(dtype)) + " of shape " + shape_text(shape) + " a sample")
      .expected(wanted(signature))
      .hint("name a test set that was made for this model: ckpt eval MODEL --data PATH");
}

void check_label(std::int64_t label, std::uint64_t sample, const Signature& signature) {
  const std::int64_t most =
      signature.classes > 0 ? signature.classes - 1 : std::int64_t{std::numeric_limits<std::int32_t>::max()};
  if (label >= 0 && label <= most) return;
  throw Error(ErrorCode::unsupported, "sample " + std::to_string(sample) + " is of class " + std::to_string(label))
      .expected("0 to " + std::to_string(most) + " as the model tells apart")
      .hint("name a test set of the model's classes: ckpt eval MODEL --data PATH; classes are counted from 0");
}

std::vector<std::int32_t> read_targets(const TensorReader& reader, DType dtype, const Shape& shape,
                                       const Signature& signature, std::uint64_t first) {
  Decoder decoder(dtype, shape, signature);
  const std::uint64_t most = limits::dataset_labels / static_cast<std::uint64_t>(signature.positions);
  if (reader.rows() > most) {
    throw Error(ErrorCode::limit_exceeded, "a file holds " + std::to_string(reader.rows()) + " targets")
        .expected("at most " + std::to_string(most))
        .hint("divide it into batches: testing_set.0.pt, testing_set.1.pt ... in one folder");
  }
  const std::uint64_t step = std::max<std::uint64_t>(1, limits::mib / std::max<std::uint64_t>(1, reader.row_bytes()));
  std::vector<std::int32_t> labels;
  labels.reserve(static_cast<std::size_t>(reader.rows() * static_cast<std::uint64_t>(signature.positions)));
  std::vector<std::byte> bytes;
  for (std::uint64_t at = 0; at < reader.rows(); at += step) {
    const std::uint64_t count = std::min(step, reader.rows() - at);
    bytes.resize(static_cast<std::size_t>(count * reader.row_bytes()));
    reader.read(at, count, bytes);
    decoder.decode(bytes, first + at, static_cast<std::size_t>(count), labels);
  }
  return labels;
}

}  // namespace ckpt::eval
