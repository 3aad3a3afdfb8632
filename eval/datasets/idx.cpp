#include "datasets/idx.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/gzip.h"
#include "ckpt/limits.h"
#include "ckpt/shape.h"
#include "datasets/damaged.h"
#include "datasets/targets.h"

namespace ckpt::eval {
namespace {

constexpr unsigned unsigned_bytes = 8;
constexpr std::size_t most_dimensions = 8;
/// Of signed bytes, 16- and 32-bit integers, float and double.
constexpr std::array<unsigned, 6> types{unsigned_bytes, 9, 11, 12, 13, 14};

/// The name with the last `from` in it exchanged for `to`; nothing where it has none.
std::optional<std::string> exchanged(const std::string& name, std::string_view from, std::string_view to) {
  const std::size_t at = name.rfind(from);
  if (at == std::string::npos) return std::nullopt;
  return std::string(name).replace(at, from.size(), to);
}

class IdxDataset final : public Dataset {
 public:
  IdxDataset(const std::string& images, const std::string& labels)
      : path_(images), labels_path_(labels), images_(open_file(images)), labels_(open_file(labels)) {
    if (images_.shape().size() < 2) {
      throw Error(ErrorCode::unsupported, "an IDX file of " + shape_text(images_.shape()))
          .in(images)
          .expected("images: a dimension that counts them, and those of one");
    }
    if (labels_.shape().size() != 1 || labels_.shape()[0] != images_.shape()[0]) {
      throw in_data(Error(ErrorCode::corrupt, "an IDX file of " + shape_text(labels_.shape()) + " labels")
                        .expected(std::to_string(images_.shape()[0]) + ", as many as " + images + " has images"),
                    labels);
    }
    fit_ = Fit(input_shape(), {});
  }

  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] std::vector<std::string> files() const override { return {path_, labels_path_}; }
  [[nodiscard]] std::uint64_t size() const override { return static_cast<std::uint64_t>(images_.shape()[0]); }
  [[nodiscard]] Shape input_shape() const override { return {images_.shape().begin() + 1, images_.shape().end()}; }
  [[nodiscard]] Shape target_shape() const override { return {1}; }
  [[nodiscard]] std::vector<std::string> warnings() const override {
    std::vector<std::string> out;
    for (const IdxFile* file : {&images_, &labels_})
      if (const std::uint64_t trailing = file->trailing_bytes(); trailing > 0)
        out.push_back(file->name() + ": " + std::to_string(trailing) +
                      " bytes follow the gzip stream, belong to nothing and are left out");
    return out;
  }

  void bind(const Signature& signature) override {
    try {
      fit_ = Fit(input_shape(), signature.input);
      target_kind(DType::uint8, target_shape(), signature);
    } catch (Error& error) {
      error.in(path_);
      throw;
    }
    signature_ = signature;
  }

  [[nodiscard]] Samples read(std::uint64_t first, std::uint64_t count) override {
    first = std::min(first, size());
    count = std::min(count, size() - first);
    std::vector<std::byte> inputs =
        images_.read(first * fit_.elements(), count * fit_.elements(), first + count == size());
    fit_.apply(inputs, 1);
    Samples samples = labels(first, count);
    samples.inputs = std::move(inputs);
    return samples;
  }

  [[nodiscard]] Samples labels(std::uint64_t first, std::uint64_t count) override {
    Samples samples;
    samples.first = first = std::min(first, size());
    samples.count = count = std::min(count, size() - first);
    try {
      for (const std::byte label : labels_.read(first, count, first + count == size())) {
        const auto number = std::to_integer<std::int32_t>(label);
        check_label(number, first + samples.labels.size(), signature_);
        samples.labels.push_back(number);
      }
    } catch (Error& error) {
      error.in(path_);
      throw;
    }
    return samples;
  }

 private:
  std::string path_, labels_path_;
  IdxFile images_, labels_;
  Fit fit_;
  Signature signature_;
};

}  // namespace

bool is_idx(const ByteSource& source) {
  std::array<std::byte, 4> magic{};
  if (source.read_at(0, magic) != magic.size()) return false;
  const auto dimensions = std::to_integer<std::size_t>(magic[3]);
  return magic[0] == std::byte{0} && magic[1] == std::byte{0} && dimensions >= 1 && dimensions <= most_dimensions &&
         std::find(types.begin(), types.end(), std::to_integer<unsigned>(magic[2])) != types.end();
}

IdxFile::IdxFile(ByteSourcePtr bytes) : bytes_(std::move(bytes)) {
  const std::string name = bytes_->name();
  try {
    if (is_gzip(*bytes_)) bytes_ = gunzip(bytes_);
    std::array<std::byte, 4> magic{};
    bytes_->read_exactly(0, magic);
    if (!is_idx(*bytes_)) {
      std::string found;
      for (const std::byte byte : magic) found += " " + std::to_string(std::to_integer<int>(byte));
      throw Error(ErrorCode::corrupt, "the file begins with the bytes" + found).expected("0 0 8 3 (IDX)").at(0);
    }
    if (std::to_integer<unsigned>(magic[2]) != unsigned_bytes) {
      throw Error(ErrorCode::unsupported, "IDX elements of type " + std::to_string(std::to_integer<int>(magic[2])))
          .expected("8: unsigned bytes")
          .at(2);
    }
    std::vector<std::byte> sizes(std::to_integer<std::size_t>(magic[3]) * 4);
    bytes_->read_exactly(magic.size(), sizes);
    for (std::size_t at = 0; at < sizes.size(); at += 4) {
      std::int64_t size = 0;
      for (std::size_t i = at; i < at + 4; ++i) size = size << 8 | std::to_integer<std::int64_t>(sizes[i]);
      shape_.push_back(size);
    }
    header_ = magic.size() + sizes.size();
    const std::uint64_t sample = sample_elements({shape_.begin() + 1, shape_.end()});
    const std::uint64_t expected = header_ + static_cast<std::uint64_t>(shape_[0]) * sample;
    if (bytes_->size_is_known() && bytes_->size() != expected) {
      throw Error(bytes_->size() < expected ? ErrorCode::truncated : ErrorCode::corrupt,
                  "the file has " + std::to_string(bytes_->size()) + " bytes")
          .expected(std::to_string(expected) + " for " + shape_text(shape_));
    }
  } catch (Error& error) {
    throw in_data(error, name);
  }
}

std::vector<std::byte> IdxFile::read(std::uint64_t first, std::uint64_t count, bool last) const {
  const std::uint64_t at = header_ + first;
  try {
    std::vector<std::byte> elements;
    while (elements.size() < count) {  // room grows as bytes come: in gzip the sizes are no more than a claim
      const std::size_t have = elements.size();
      elements.resize(std::min(count, std::max<std::uint64_t>(limits::copy_chunk, have * 2)));
      const std::size_t got = bytes_->read_at(at + have, std::span(elements).subspan(have));
      if (have + got == elements.size()) continue;
      throw Error(ErrorCode::truncated, "the file ends here")
          .expected(std::to_string(count - have - got) + " bytes more for " + shape_text(shape_))
          .at(at + have + got);
    }
    std::array<std::byte, 1> more{};
    if (last && bytes_->read_at(at + count, more) != 0) {
      throw Error(ErrorCode::corrupt, "the file goes on")
          .expected("its end after " + shape_text(shape_))
          .at(at + count);
    }
    return elements;
  } catch (Error& error) {
    throw in_data(error, bytes_->name());
  }
}

std::optional<std::string> idx_labels_beside(const std::string& images) {
  const std::filesystem::path path(images);
  auto name = exchanged(path.filename().string(), "images", "labels");
  if (!name) return std::nullopt;
  name = exchanged(*name, "idx3", "idx1").value_or(*name);
  constexpr std::string_view gz = ".gz";
  if (name->ends_with(gz)) name->resize(name->size() - gz.size());
  for (const auto& spelt : {name, exchanged(*name, "-idx", ".idx"), exchanged(*name, ".idx", "-idx")}) {
    if (!spelt) continue;
    for (const std::string_view suffix : {std::string_view(), gz}) {
      const std::filesystem::path labels = path.parent_path() / (*spelt + std::string(suffix));
      std::error_code ignored;
      if (std::filesystem::is_regular_file(labels, ignored)) return labels.string();
    }
  }
  return std::nullopt;
}

std::unique_ptr<Dataset> open_idx(const std::string& images) {
  const auto labels = idx_labels_beside(images);
  if (!labels) {
    throw Error(ErrorCode::invalid_argument, "an IDX file without the labels of its images beside it")
        .in(images)
        .expected("two files named such as t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte")
        .hint("put the file of labels into the same folder, under the name that the images' name tells");
  }
  return std::make_unique<IdxDataset>(images, *labels);
}

}  // namespace ckpt::eval
