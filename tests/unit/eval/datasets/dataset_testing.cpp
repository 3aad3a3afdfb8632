#include "eval/datasets/dataset_testing.h"

#include <functional>
#include <numeric>
#include <utility>

namespace ckpt::eval_testing {
namespace {

using torch_testing::Member;
using torch_testing::ZipFile;

std::size_t product(const Shape& shape) {
  return static_cast<std::size_t>(std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()));
}

py::Code code_of(const TensorSpec& spec, std::size_t key, std::vector<Member>& members) {
  Shape stride = spec.stride;
  if (stride.empty()) {
    stride.assign(spec.shape.size(), 1);
    for (std::size_t i = spec.shape.size(); i-- > 1;) stride[i - 1] = stride[i] * spec.shape[i];
  }
  const std::size_t item = spec.type == "Double" || spec.type == "Long"                        ? 8
                           : spec.type == "Float" || spec.type == "Int"                        ? 4
                           : spec.type == "Byte" || spec.type == "Bool" || spec.type == "Char" ? 1
                                                                                               : 2;
  members.push_back({"data/" + std::to_string(key), spec.bytes});
  return torch_testing::tensor(
      torch_testing::storage({.key = std::to_string(key),
                              .type = spec.type + "Storage",
                              .elements = static_cast<std::int64_t>(spec.bytes.size() / item)}),
      spec.shape, stride, spec.offset);
}

Bytes saved(const std::vector<TensorSpec>& tensors,
            const std::function<py::Code(const std::vector<py::Code>&)>& container) {
  ZipFile file{.object = {}, .data = {}};
  std::vector<py::Code> codes;
  for (const TensorSpec& spec : tensors) codes.push_back(code_of(spec, codes.size(), file.data));
  file.object = container(codes);
  return torch_testing::bytes_of(file);
}

}  // namespace

Bytes counted(std::size_t count) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i);
  return bytes;
}

Bytes idx(const Shape& shape, const Bytes& elements, unsigned char type) {
  Bytes bytes{std::byte{0}, std::byte{0}, std::byte{type}, static_cast<std::byte>(shape.size())};
  for (const std::int64_t size : shape)
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::byte>(size >> shift));
  bytes.insert(bytes.end(), elements.begin(), elements.end());
  return bytes;
}

Bytes idx_images(std::int64_t count) { return idx({count, 2, 3}, counted(static_cast<std::size_t>(count) * 6)); }

Bytes idx_labels(std::int64_t count) {
  Bytes labels;
  for (std::int64_t i = 0; i < count; ++i) labels.push_back(static_cast<std::byte>(i % 3));
  return idx({count}, labels);
}

Bytes saved_tuple(const std::vector<TensorSpec>& tensors) { return saved(tensors, py::tuple); }
Bytes saved_list(const std::vector<TensorSpec>& tensors) { return saved(tensors, py::list); }

Bytes saved_dict(const std::vector<std::pair<std::string, TensorSpec>>& tensors) {
  std::vector<TensorSpec> specs;
  for (const auto& [name, spec] : tensors) specs.push_back(spec);
  return saved(specs, [&](const std::vector<py::Code>& codes) {
    py::Pairs pairs;
    for (std::size_t i = 0; i < codes.size(); ++i) pairs.emplace_back(py::str(tensors[i].first), codes[i]);
    return py::dict(pairs);
  });
}

TensorSpec small_inputs(std::int64_t count) {
  const Shape shape{count, 2, 3};
  return {"Byte", shape, counted(product(shape))};
}

TensorSpec small_classes(std::int64_t count) {
  std::vector<std::int64_t> classes;
  for (std::int64_t i = 0; i < count; ++i) classes.push_back(i % 3);
  return {"Long", {count}, raw(classes)};
}

Bytes batch(std::int64_t count) { return saved_tuple({small_inputs(count), small_classes(count)}); }

eval::Signature small_model() {
  eval::Signature signature;
  signature.input = {6};
  signature.classes = 3;
  return signature;
}

eval::Signature small_reader() {
  eval::Signature signature;
  signature.input = {3, 2, 2};
  signature.positions = 2;
  signature.classes = 3;
  signature.alphabet = "ab1";
  return signature;
}

Everything read_all(eval::Dataset& data, std::uint64_t step) {
  Everything all;
  for (std::uint64_t at = 0; at < data.size();) {
    const eval::Samples samples = data.read(at, step);
    EXPECT_EQ(samples.first, at);
    if (samples.count == 0) break;
    at += samples.count;
    all.inputs.insert(all.inputs.end(), samples.inputs.begin(), samples.inputs.end());
    all.labels.insert(all.labels.end(), samples.labels.begin(), samples.labels.end());
  }
  return all;
}

std::unique_ptr<eval::Dataset> opened(const std::string& path, const eval::Signature& signature,
                                      const std::string& split) {
  eval::DataRequest request;
  request.data = path;
  request.split = split;
  auto data = eval::open_dataset(request);
  data->bind(signature);
  return data;
}

}  // namespace ckpt::eval_testing
