// Tests a trained file, and reads pictures with it: what `ckpt eval` does.
#include <ckpt/error.h>
#include <ckpt/eval.h>
#include <ckpt/pictures.h>

#include <filesystem>
#include <iomanip>
#include <iostream>

#include "arguments.h"
#include "commands.h"

namespace captcha {
namespace {

ckpt::eval::Options options_for(const std::string& model, const training::Arguments& arguments) {
  ckpt::eval::Options options;
  options.model = model;
  options.arch = "captcha-resnet";
  options.device = arguments.text("--device", "auto");
  return options;
}

}  // namespace

int eval(int count, const char* const* words) {
  const training::Arguments arguments(count, words, {"--data", "--device"});
  ckpt::eval::Options options = options_for(arguments.only("the file of a model"), arguments);
  options.data = arguments.text("--data", "data/captcha");
  const ckpt::eval::Result result = ckpt::eval::evaluate(options);
  std::cout << options.model << ": " << result.counts.correct << " of " << result.counts.samples << " right, "
            << std::fixed << std::setprecision(2) << 100 * result.counts.accuracy() << " %, on " << result.device
            << '\n';
  return 0;
}

int predict(int count, const char* const* words) {
  const training::Arguments arguments(count, words, {"--device"});
  if (arguments.rest().size() < 2)
    throw ckpt::Error(ckpt::ErrorCode::invalid_argument, "predict needs a model and pictures")
        .hint("captcha predict model.pt picture.png");
  ckpt::eval::PictureReader reader(options_for(arguments.rest().front(), arguments));
  std::vector<std::string> paths;
  for (std::size_t i = 1; i < arguments.rest().size(); ++i) {
    const std::string& word = arguments.rest()[i];
    if (!std::filesystem::is_directory(word)) {
      paths.push_back(word);
      continue;
    }
    for (std::string& path : ckpt::eval::find_pictures(word)) paths.push_back(std::move(path));
  }
  int status = 0;
  std::vector<std::string> added;
  for (const std::string& path : paths) try {
      reader.add(path);
      added.push_back(path);
    } catch (const ckpt::Error& error) {
      std::cerr << error.what() << '\n';
      status = 1;
    }
  const auto readings = reader.flush();
  for (std::size_t i = 0; i < readings.size(); ++i) std::cout << added[i] << '\t' << readings[i].text << '\n';
  return status;
}

}  // namespace captcha
