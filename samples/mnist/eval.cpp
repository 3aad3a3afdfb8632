// Tests a trained file with the library: what `ckpt eval` does, in ten lines.
#include <ckpt/eval.h>

#include <iomanip>
#include <iostream>

#include "arguments.h"
#include "commands.h"

namespace mnist {

int eval(int count, const char* const* words) {
  const training::Arguments arguments(count, words, {"--data", "--device"});
  ckpt::eval::Options options;
  options.model = arguments.only("the file of a model");
  options.arch = "fnn";
  options.data = arguments.text("--data", "data/MNIST/raw");
  options.device = arguments.text("--device", "auto");
  const ckpt::eval::Result result = ckpt::eval::evaluate(options);
  std::cout << options.model << ": " << result.counts.correct << " of " << result.counts.samples << " right, "
            << std::fixed << std::setprecision(2) << 100 * result.counts.accuracy() << " %, on " << result.device
            << '\n';
  return 0;
}

}  // namespace mnist
