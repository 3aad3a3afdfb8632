#include "ranks.h"

#include <cstring>
#include <type_traits>
#include <vector>

#include "ckpt/error.h"

namespace ckpt::eval {
namespace {

class Packer {
 public:
  template <class Number>
  void operator()(Number& value) {
    static_assert(std::is_trivially_copyable_v<Number>);
    out_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  template <class Number>
  void operator()(std::vector<Number>& values) {
    const std::uint64_t size = values.size();
    (*this)(size);
    out_.append(reinterpret_cast<const char*>(values.data()), size * sizeof(Number));
  }
  void operator()(std::string& text) {
    const std::uint64_t size = text.size();
    (*this)(size);
    out_ += text;
  }
  void operator()(std::vector<std::string>& texts) {
    const std::uint64_t size = texts.size();
    (*this)(size);
    for (std::string& text : texts) (*this)(text);
  }

  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

class Unpacker {
 public:
  explicit Unpacker(const std::string& bytes) : bytes_(bytes) {}

  template <class Number>
  void operator()(Number& value) {
    std::memcpy(&value, next(sizeof(value)), sizeof(value));
  }
  template <class Number>
  void operator()(std::vector<Number>& values) {
    const std::uint64_t size = length(sizeof(Number));
    values.resize(size);
    if (size > 0) std::memcpy(values.data(), next(size * sizeof(Number)), size * sizeof(Number));
  }
  void operator()(std::string& text) {
    const std::uint64_t size = length(1);
    text.assign(next(size), size);
  }
  void operator()(std::vector<std::string>& texts) {
    texts.resize(length(sizeof(std::uint64_t)));  // each has a length of its own
    for (std::string& text : texts) (*this)(text);
  }

 private:
  std::uint64_t length(std::size_t item) {
    std::uint64_t size = 0;
    (*this)(size);
    if (size > (bytes_.size() - at_) / item) throw cut();
    return size;
  }

  const char* next(std::size_t size) {
    if (size > bytes_.size() - at_) throw cut();
    at_ += size;
    return bytes_.data() + at_ - size;
  }

  static Error cut() {
    return Error(ErrorCode::corrupt, "another rank's result is cut short")
        .hint("all ranks must run the same version of ckpt: ckpt --version on each machine");
  }

  const std::string& bytes_;
  std::size_t at_ = 0;
};

/// Each field in turn, the same for both directions.
template <class Visitor>
void visit(Result& result, Visitor& visitor) {
  visitor(result.version);
  visitor(result.digest);
  visitor(result.arch);
  visitor(result.activation);
  visitor(result.layers);
  visitor(result.signature.input);
  visitor(result.signature.mean);
  visitor(result.signature.std);
  visitor(result.signature.positions);
  visitor(result.signature.classes);
  visitor(result.signature.alphabet);
  visitor(result.data);
  visitor(result.data_samples);
  visitor(result.data_fingerprint);
  visitor(result.data_digest);
  visitor(result.device);
  visitor(result.precision);
  visitor(result.machine);
  visitor(result.counts.samples);
  visitor(result.counts.correct);
  visitor(result.counts.not_finite);
  visitor(result.counts.confusion);
  visitor(result.seconds);
  visitor(result.host_peak);
  visitor(result.gpu_peak);
  visitor(result.predictions.labels);
  visitor(result.predictions.predicted);
  visitor(result.predictions.confidence);
  visitor(result.predictions.truth);
  visitor(result.outputs);
  visitor(result.warnings);
}

}  // namespace

std::string packed(const Result& result) {
  Packer packer;
  Result copy = result;
  visit(copy, packer);
  return packer.take();
}

Result unpacked(const std::string& bytes) {
  Unpacker unpacker(bytes);
  Result out;
  visit(out, unpacker);
  return out;
}

}  // namespace ckpt::eval
