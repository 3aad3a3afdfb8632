// What tests/eval/test_sets.py compares with PyTorch and numpy: a test set as it is read.
//
//   ckpt_dump_data PATH OUT SPLIT STEP POSITIONS CLASSES [SIZE…]
//
// SIZEs are the model's input. OUT gets a line "DTYPE COUNT DIGEST", the inputs, the labels (4 bytes each).
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>

#include "datasets/dataset.h"

namespace {

using namespace ckpt::eval;

void dump(char** words, int count) {
  DataRequest request;
  request.data = words[1];
  request.split = words[3];
  const std::uint64_t step = std::strtoull(words[4], nullptr, 10);
  Signature signature;
  signature.positions = std::atoll(words[5]);
  signature.classes = std::atoll(words[6]);
  for (int i = 7; i < count; ++i) signature.input.push_back(std::atoll(words[i]));
  const auto data = open_dataset(request);
  data->bind(signature);

  Samples all;
  DataDigest digest;
  for (std::uint64_t at = 0; at < data->size();) {
    const Samples samples = data->read(at, step);
    at += samples.count;
    digest.add(samples, static_cast<std::size_t>(signature.positions));
    all.dtype = samples.dtype;
    all.inputs.insert(all.inputs.end(), samples.inputs.begin(), samples.inputs.end());
    all.labels.insert(all.labels.end(), samples.labels.begin(), samples.labels.end());
  }
  std::ofstream out(words[2], std::ios::binary);
  out << ckpt::dtype_name(all.dtype) << ' ' << data->size() << ' ' << digest.text() << '\n';
  out.write(reinterpret_cast<const char*>(all.inputs.data()), static_cast<std::streamsize>(all.inputs.size()));
  out.write(reinterpret_cast<const char*>(all.labels.data()),
            static_cast<std::streamsize>(all.labels.size() * sizeof(std::int32_t)));
}

}  // namespace

int main(int count, char** words) {
  if (count < 7) return 2;
  try {
    dump(words, count);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
