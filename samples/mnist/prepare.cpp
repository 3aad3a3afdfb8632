// Makes data/MNIST/raw ready: four IDX files as torchvision keeps them, not compressed.
#include <ATen/core/Tensor.h>
#include <ckpt/error.h>

#include <filesystem>
#include <iostream>
#include <utility>

#include "arguments.h"
#include "commands.h"
#include "files.h"
#include "idx.h"

namespace mnist {
namespace {

/// Images and labels of a set; as many of one as of the other.
struct Pair {
  Idx images, labels;
};

/// Throws ckpt::Error where they do not belong together.
void check(const Pair& pair, const std::string& set) {
  const Idx& images = pair.images;
  const auto wrong = [&](const std::string& what) { return ckpt::Error(ckpt::ErrorCode::corrupt, what).in(set); };
  if (images.shape.size() != 3 || images.shape[1] != 28 || images.shape[2] != 28)
    throw wrong("the images are not 28 by 28");
  if (pair.labels.shape.size() != 1 || pair.labels.shape[0] != images.shape[0])
    throw wrong(std::to_string(images.shape[0]) + " images, and not as many labels");
  if (images.shape[0] == 0) throw wrong("there are no images");
  for (const std::uint8_t label : pair.labels.bytes)
    if (label > 9) throw wrong("a label is " + std::to_string(label) + ", no digit");
}

/// The file as it is named, or with a dot for the second hyphen, each with .gz or without.
Idx read_any(const std::filesystem::path& folder, const std::string& name) {
  std::string dotted = name;
  dotted[name.rfind("-idx")] = '.';
  for (const std::string& base : {name, dotted})
    for (const char* suffix : {"", ".gz"})
      if (std::filesystem::exists(folder / (base + suffix))) return read_idx((folder / (base + suffix)).string());
  throw ckpt::Error(ckpt::ErrorCode::invalid_argument, "neither " + name + " nor " + name + ".gz is there")
      .in(folder.string())
      .hint("prepare --digits FILE makes a small data set of the digits that ckpt brings: samples/digits");
}

/// Digits of a batch file (uint8 [N, 1, 28, 28], int64 or uint8 [N]) from `first` to `last`.
Pair part_of(const training::Batch& batch, std::int64_t first, std::int64_t last) {
  const at::Tensor images = batch.inputs.narrow(0, first, last - first).contiguous();
  const at::Tensor labels = batch.targets.narrow(0, first, last - first).to(at::kByte).contiguous();
  const auto count = static_cast<std::uint32_t>(last - first);
  const auto bytes = [](const at::Tensor& tensor) {
    const auto* const begin = tensor.const_data_ptr<std::uint8_t>();
    return std::vector<std::uint8_t>(begin, begin + tensor.numel());
  };
  return {{{count, 28, 28}, bytes(images)}, {{count}, bytes(labels)}};
}

std::pair<Pair, Pair> split_digits(const std::string& path) {
  const training::Batch batch = training::load_batch(path);
  const std::int64_t count = batch.inputs.size(0), training = count * 4 / 5;
  if (batch.inputs.scalar_type() != at::kByte || batch.inputs.numel() != count * 28 * 28)
    throw ckpt::Error(ckpt::ErrorCode::unsupported, "these are no digits of 28 by 28 bytes").in(path);
  // Cast to a byte, 260 would be a 4.
  if (!at::isIntegralType(batch.targets.scalar_type(), false) || batch.targets.dim() != 1 ||
      batch.targets.lt(0).logical_or(batch.targets.gt(9)).any().item<bool>())
    throw ckpt::Error(ckpt::ErrorCode::unsupported, "its labels are no digits")
        .in(path)
        .expected("whole numbers (N), 0 to 9");
  return {part_of(batch, 0, training), part_of(batch, training, count)};
}

}  // namespace

int prepare(int count, const char* const* words) {
  const training::Arguments arguments(count, words, {"--digits", "--out"});
  const std::filesystem::path out = arguments.text("--out", "data/MNIST/raw");
  Pair training, testing;
  if (arguments.has("--digits")) {
    std::tie(training, testing) = split_digits(arguments.text("--digits", ""));
  } else {
    const std::filesystem::path from = arguments.only("a folder with MNIST's four files, or --digits FILE");
    training = {read_any(from, images_name("train")), read_any(from, labels_name("train"))};
    testing = {read_any(from, images_name("t10k")), read_any(from, labels_name("t10k"))};
  }
  check(training, "train");
  check(testing, "t10k");
  std::filesystem::create_directories(out);
  for (const auto& [set, pair] : {std::pair("train", &training), std::pair("t10k", &testing)}) {
    write_idx(pair->images, (out / images_name(set)).string());
    write_idx(pair->labels, (out / labels_name(set)).string());
  }
  std::cout << out.string() << ": " << training.images.shape[0] << " digits to train on, " << testing.images.shape[0]
            << " to test with\n";
  if (training.images.shape[0] != 60000 || testing.images.shape[0] != 10000)
    std::cout << "note: MNIST itself has 60000 and 10000\n";
  return 0;
}

}  // namespace mnist
