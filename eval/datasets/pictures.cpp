#include "datasets/pictures.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/pictures.h"
#include "ckpt/shape.h"
#include "datasets/shape.h"

namespace ckpt::eval {
namespace {

std::int32_t class_of(char character, const Signature& signature) {
  if (signature.alphabet.empty()) return character >= '0' && character <= '9' ? character - '0' : -1;
  const std::size_t at = signature.alphabet.find(character);
  return at == std::string::npos ? -1 : static_cast<std::int32_t>(at);
}

/// The measure of pictures for a model.
PictureShape picture_shape(const Signature& signature) {
  Shape shape = signature.input;
  const auto size = [&](std::size_t at) { return static_cast<std::size_t>(shape[at]); };
  if (shape.size() == 3 && shape[0] == 3 && !signature.alphabet.empty())
    return {size(1), size(2), PictureLayout::rgb_columns};
  if (shape == Shape{static_cast<std::int64_t>(digit_picture.bytes())}) return digit_picture;
  if (shape.size() == 3 && shape[0] == 1) shape.erase(shape.begin());
  if (shape.size() == 2) return {size(1), size(0), PictureLayout::grey_rows};
  throw Error(ErrorCode::unsupported, "pictures for a model that takes " + shape_text(signature.input))
      .expected("a model of captchas ([3, 56, 24]) or of grey pictures ([784], [28, 28])")
      .hint("name a test set of tensors: ckpt eval MODEL --data PATH");
}

std::vector<std::int32_t> labels_in_name(const std::string& file, const Signature& signature) {
  const auto label = label_of(file, static_cast<std::size_t>(signature.positions));
  const std::string length = std::to_string(signature.positions);
  if (!label) {
    throw Error(ErrorCode::unsupported, "the name tells no label of length " + length)
        .in(file)
        .expected("NUMBER-LABEL.png or LABEL_ANYTHING.png")
        .hint("what it holds: ckpt eval MODEL --predict " + shell_word(file));
  }
  std::vector<std::int32_t> classes;
  for (const char character : *label) {
    classes.push_back(class_of(character, signature));
    if (classes.back() >= 0 && (signature.classes == 0 || classes.back() < signature.classes)) continue;
    throw Error(ErrorCode::unsupported, "the name's label '" + *label + "' is none that the model reads")
        .in(file)
        .hint("name pictures that were made for this model: ckpt eval MODEL --data FOLDER");
  }
  return classes;
}

std::vector<std::byte> bytes_of(const std::string& file, const Signature& signature) {
  const auto pixels = read_picture(file, picture_shape(signature));
  const auto bytes = std::as_bytes(std::span(pixels));
  return {bytes.begin(), bytes.end()};
}

class PictureDataset final : public Dataset {
 public:
  PictureDataset(std::string path, std::vector<std::string> files) : path_(std::move(path)), files_(std::move(files)) {}

  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] std::vector<std::string> files() const override { return files_; }
  [[nodiscard]] std::uint64_t size() const override { return files_.size(); }
  [[nodiscard]] Shape input_shape() const override { return {}; }
  [[nodiscard]] Shape target_shape() const override {
    return {static_cast<std::int64_t>(files_.empty() ? code_length : label_length(files_.front()))};
  }

  void bind(const Signature& signature) override {
    picture_shape(signature);
    labels_.clear();
    for (const std::string& file : files_) {
      const auto classes = labels_in_name(file, signature);
      labels_.insert(labels_.end(), classes.begin(), classes.end());
    }
    signature_ = signature;
  }

  [[nodiscard]] Samples read(std::uint64_t first, std::uint64_t count) override {
    Samples samples = labels(first, count);
    for (std::uint64_t i = samples.first; i < samples.first + samples.count; ++i) {
      const auto bytes = bytes_of(files_[static_cast<std::size_t>(i)], signature_);
      samples.inputs.insert(samples.inputs.end(), bytes.begin(), bytes.end());
    }
    return samples;
  }

  /// Their names tell them, of whatever file.
  [[nodiscard]] Samples labels(std::uint64_t first, std::uint64_t count) override {
    Samples samples;
    samples.first = first = std::min(first, size());
    samples.count = count = std::min(count, size() - first);
    const auto positions = static_cast<std::uint64_t>(signature_.positions);
    const auto from = labels_.begin() + static_cast<std::ptrdiff_t>(first * positions);
    samples.labels.assign(from, from + static_cast<std::ptrdiff_t>(count * positions));
    return samples;
  }

 private:
  static std::size_t label_length(const std::string& file) { return label_of(file, 1) ? 1 : code_length; }

  std::string path_;
  std::vector<std::string> files_;
  std::vector<std::int32_t> labels_;  ///< [files, positions]
  Signature signature_;
};

}  // namespace

std::unique_ptr<Dataset> open_pictures(const std::string& path, const std::vector<std::string>& files) {
  return std::make_unique<PictureDataset>(path, files);
}

Samples read_sample(const std::string& path, const Signature& signature) {
  Samples sample;
  sample.count = 1;
  sample.inputs = bytes_of(path, signature);
  sample.labels.assign(static_cast<std::size_t>(signature.positions), -1);
  return sample;
}

void each_picture(const std::string& word, std::istream& lines, const std::function<void(const std::string&)>& use) {
  if (word == "-") {
    for (std::string line; std::getline(lines, line);)
      if (!line.empty()) use(line);
    return;
  }
  std::error_code ignored;
  if (!std::filesystem::is_directory(word, ignored)) return use(word);
  const auto pictures = find_pictures(word);
  if (pictures.empty())
    throw Error(ErrorCode::invalid_argument, "a folder without pictures")
        .in(word)
        .expected("files *.png in it or below");
  std::for_each(pictures.begin(), pictures.end(), use);
}

}  // namespace ckpt::eval
