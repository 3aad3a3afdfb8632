// evaluates MODEL DATA: needs no header of libtorch's.
#include <ckpt/eval.h>

#include <iostream>

int main(int, char** words) {
  ckpt::eval::Options options;
  options.model = words[1];
  options.data = words[2];
  options.device = "cpu";
  const ckpt::eval::Result result = ckpt::eval::evaluate(options);
  std::cout << result.arch << ": " << result.counts.correct << " of " << result.counts.samples << '\n';
}
