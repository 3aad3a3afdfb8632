#include "data.h"

#include <ATen/ops/one_hot.h>
#include <ckpt/error.h>

#include <filesystem>
#include <regex>

#include "resnet.h"

namespace captcha {

std::vector<std::filesystem::path> numbered_files(const std::string& folder, const std::string& name) {
  const std::regex numbered(name + R"(_set\.\d+\.pt)");
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (std::regex_match(entry.path().filename().string(), numbered)) files.push_back(entry.path());
  return files;
}

std::vector<std::string> batch_files(const std::string& folder, const std::string& name) {
  std::vector<std::string> files;
  for (;;) {
    const std::string path = folder + "/" + name + "_set." + std::to_string(files.size()) + ".pt";
    if (!std::filesystem::exists(path)) break;
    files.push_back(path);
  }
  if (files.empty())
    throw ckpt::Error(ckpt::ErrorCode::invalid_argument, "there is no " + name + "_set.0.pt")
        .in(folder)
        .hint("captcha prepare makes it of a folder of pictures");
  if (numbered_files(folder, name).size() != files.size())
    throw ckpt::Error(ckpt::ErrorCode::invalid_argument,
                      "there is no " + name + "_set." + std::to_string(files.size()) + ".pt, and there are later ones")
        .in(folder)
        .hint("captcha prepare makes all of them anew");
  return files;
}

training::Batch load_captchas(const std::string& path) {
  training::Batch batch = training::load_batch(path);
  if (batch.inputs.scalar_type() == at::kByte) batch.inputs = batch.inputs.to(at::kFloat).div_(255);
  if (batch.targets.scalar_type() == at::kLong && batch.targets.dim() == 2 && batch.targets.size(1) == positions)
    batch.targets = at::one_hot(batch.targets, characters).reshape({-1, positions * characters});
  batch.targets = batch.targets.to(at::kFloat);
  const std::int64_t count = batch.inputs.size(0);
  if (batch.inputs.sizes() != at::IntArrayRef({count, 3, 56, 24}) ||
      batch.targets.sizes() != at::IntArrayRef({count, positions * characters}))
    throw ckpt::Error(ckpt::ErrorCode::unsupported, "these are no captchas as captcha prepare writes them").in(path);
  return batch;
}

}  // namespace captcha
