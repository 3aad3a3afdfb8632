// Makes batch files of a folder of pictures: pictures are shuffled, gathered by the thousand, and each thousand is
// split into 80 % to train on, 10 % to validate with and 10 % to test with.
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <ckpt/error.h>
#include <ckpt/pictures.h>

#include <filesystem>
#include <iostream>
#include <utility>

#include "arguments.h"
#include "commands.h"
#include "data.h"
#include "files.h"
#include "order.h"
#include "split.h"

namespace captcha {
namespace {

constexpr std::size_t characters = 36;

struct Labelled {
  std::string path, code;
};

std::vector<Labelled> labelled_pictures(const std::string& folder) {
  std::vector<Labelled> all;
  for (const std::string& path : ckpt::eval::find_pictures(folder)) {
    const std::optional<std::string> code = ckpt::eval::label_of(path);
    if (!code)
      throw ckpt::Error(ckpt::ErrorCode::unsupported, "its name tells no code of four characters")
          .in(path)
          .expected("NUMBER-CODE.png or CODE_ANYTHING.png");
    all.push_back({path, *code});
  }
  return all;
}

/// A folder in which batches are written until all of them are there: one picture that cannot be read costs no earlier
/// data set.
class Staging {
 public:
  explicit Staging(std::filesystem::path out) : out_(std::move(out)) {
    clear();
    std::filesystem::create_directories(folder_);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging() { clear(); }

  const std::filesystem::path& folder() const { return folder_; }

  /// In place of an earlier run's: that may have made more, which would stay beside other pictures.
  void publish() const {
    for (const char* name : {"training", "validating", "testing"})
      for (const std::filesystem::path& old : numbered_files(out_, name)) std::filesystem::remove(old);
    for (const auto& made : std::filesystem::directory_iterator(folder_))
      std::filesystem::rename(made.path(), out_ / made.path().filename());
  }

 private:
  void clear() const {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::filesystem::path out_, folder_ = out_ / "unfinished";
};

/// Inputs (N, 3, 56, 24) in [0, 1]; targets (N, 144) one-hot: a to z, then 0 to 9, a position.
training::Batch batch_of(const std::vector<Labelled>& pictures) {
  const auto count = static_cast<std::int64_t>(pictures.size());
  constexpr auto shape = ckpt::eval::captcha_picture;
  training::Batch batch{
      at::empty({count, 3, shape.width, shape.height}, at::kFloat),
      at::zeros({count, static_cast<std::int64_t>(ckpt::eval::code_length * characters)}, at::kFloat)};
  auto* input = batch.inputs.mutable_data_ptr<float>();
  auto* target = batch.targets.mutable_data_ptr<float>();
  for (const auto& [path, code] : pictures) {
    for (const std::uint8_t byte : ckpt::eval::read_picture(path, shape)) *input++ = static_cast<float>(byte) / 255;
    for (const char c : code) {
      target[c >= 'a' ? c - 'a' : 26 + (c - '0')] = 1;
      target += characters;
    }
  }
  return batch;
}

}  // namespace

int prepare(int count, const char* const* words) {
  const training::Arguments arguments(count, words, {"--out", "--batch", "--seed"});
  const std::string folder = arguments.only("a folder of pictures");
  const std::filesystem::path out = arguments.text("--out", "data/captcha");
  const std::int64_t batch = arguments.number("--batch", 1000, 10);
  const std::vector<Labelled> pictures = labelled_pictures(folder);
  const auto all = static_cast<std::int64_t>(pictures.size());
  if (all < batch)
    throw ckpt::Error(ckpt::ErrorCode::unsupported, std::to_string(all) + " pictures")
        .in(folder)
        .expected(std::to_string(batch) + ", a whole batch, or more")
        .hint("captcha generate makes pictures; --batch N makes smaller batches");

  const at::Tensor order = training::Orders(arguments.number("--seed", 0, 0)).next(all);
  const Staging staging(out);
  for (std::int64_t number = 0; number < all / batch; ++number) {
    for (const Part& part : split(batch)) {
      std::vector<Labelled> chosen;
      for (std::int64_t i = part.begin; i < part.end; ++i)
        chosen.push_back(pictures[static_cast<std::size_t>(order[number * batch + i].item<std::int64_t>())]);
      const std::string name = std::string(part.name) + "_set." + std::to_string(number) + ".pt";
      training::save_batch(batch_of(chosen), (staging.folder() / name).string());
    }
    std::cout << "batch " << number + 1 << " of " << all / batch << std::endl;
  }
  staging.publish();
  std::cout << out.string() << ": " << all / batch << " batches of " << batch << " pictures; " << all % batch << " of "
            << all << " are left out\n";
  return 0;
}

}  // namespace captcha
