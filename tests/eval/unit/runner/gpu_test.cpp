// What only a GPU can show. Skipped, and said so, where there is none.
#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>
#include <gtest/gtest.h>

#include <limits>

#include "ckpt/error.h"
#include "runner/device_steps.h"
#include "runner/made_up.h"
#include "runner/memory.h"
#include "runner/staging.h"
#include "runner/torch_cuda.h"

namespace ckpt::eval {
namespace {

using test::digits;
using test::MadeUp;
using test::pictures;

constexpr EngineOptions everything{.predictions = true, .outputs = true};
const at::Device gpu(at::kCUDA, 0);

/// Before any other test: libtorch keeps its first answer to whether there is CUDA.
struct CudaFirst : testing::Environment {
  void SetUp() override { static_cast<void>(load_cuda()); }
};
const auto* const cuda_first = testing::AddGlobalTestEnvironment(new CudaFirst);

struct Gpu : testing::Test {
  void SetUp() override {
    if (load_cuda().gpus == 0) GTEST_SKIP() << "no GPU: " << load_cuda().missing;
  }
};

/// Our kernels, and ATen's operators in their place.
struct GpuSteps : Gpu, testing::WithParamInterface<bool> {
  std::unique_ptr<DeviceSteps> steps(const SampleLayout& layout) const {
    return GetParam() ? kernel_steps(gpu, layout) : aten_steps(gpu, layout);
  }
};

std::vector<float> values_of(const at::Tensor& tensor) {
  const at::Tensor here = tensor.to(at::kCPU).contiguous();
  const auto* values = here.const_data_ptr<float>();
  return {values, values + here.numel()};
}

TEST_P(GpuSteps, lay_samples_out_as_the_cpu_does_to_the_bit) {
  for (const Signature& signature : {digits, pictures}) {
    const SampleLayout layout(signature);
    const auto made = steps(layout);
    ASSERT_TRUE(made) << "libckpt_cuda_kernels.so was not built";
    Samples samples = test::random_bytes(signature, 3, 5000);
    for (int as_floats = 0; as_floats < 2; ++as_floats) {
      if (as_floats) {
        samples = test::floats(0, values_of(at::randn({5000, static_cast<std::int64_t>(input_elements(signature))})),
                               samples.labels, static_cast<std::size_t>(signature.positions));
      }
      const Batch batch = cut(samples, {5000, true}, 1).front();
      std::vector<float> expected(5000 * input_elements(signature));
      lay_out(batch, layout, expected.data());
      const at::Tensor out = made->lay_out(Staging(gpu).send(batch).inputs, layout.sizes(batch));
      ASSERT_TRUE(out.is_contiguous(layout.memory_format()));
      const at::Tensor in_memory = layout.channels() > 1 ? out.permute({0, 2, 3, 1}) : out;
      EXPECT_EQ(values_of(in_memory), expected);
    }
  }
}

TEST_P(GpuSteps, count_as_the_cpu_does) {
  const SampleLayout layout(pictures);
  const auto made = steps(layout);
  ASSERT_TRUE(made) << "libckpt_cuda_kernels.so was not built";
  constexpr std::int64_t count = 3000;
  const Scale scale = layout.scale();
  at::Tensor outputs = at::randn({count, scale.positions * scale.classes}).mul(2).round();  // ties
  outputs[7][3] = std::numeric_limits<float>::quiet_NaN();
  outputs[8][0] = -std::numeric_limits<float>::infinity();
  const Batch batch = cut(test::random_bytes(pictures, 0, count), {count, true}, 1).front();
  const at::Tensor labels = Staging(gpu).send(batch).labels;
  const at::Tensor counters =
      at::zeros({static_cast<std::int64_t>(layout.bins()) + 3}, at::TensorOptions(at::kLong).device(gpu));
  const auto said = made->count(outputs.to(gpu), labels, counters, true);

  std::vector<std::uint64_t> confusion(layout.bins());
  std::int64_t correct = 0;
  BatchReading part = part_of(batch, true);
  read_outputs(part, outputs.const_data_ptr<float>(), layout, true, false);
  for (std::int64_t at = 0; at < count; ++at) {
    correct += judge(outputs[at].const_data_ptr<float>(), batch.labels() + at * scale.positions, scale,
                     confusion.data(), nullptr)
                   .correct;
  }
  const at::Tensor counted = counters.to(at::kCPU);
  const auto* numbers = counted.const_data_ptr<std::int64_t>();
  EXPECT_EQ(numbers[0], correct);
  EXPECT_EQ(numbers[1], 2);
  EXPECT_EQ(std::vector<std::uint64_t>(numbers + 2, numbers + 2 + layout.bins()), confusion);
  if (!said.predicted.defined()) return;  // ATen's operators leave that to the CPU
  const at::Tensor predicted = said.predicted.to(at::kCPU);
  const auto* read = predicted.const_data_ptr<std::int32_t>();
  EXPECT_EQ(std::vector<std::int32_t>(read, read + predicted.numel()), part.predicted);
  const std::vector<float> confidence = values_of(said.confidence), truth = values_of(said.truth);
  for (std::size_t at = 0; at < count; ++at) {
    EXPECT_FLOAT_EQ(confidence[at], part.confidence[at]);
    EXPECT_FLOAT_EQ(truth[at], part.truth[at]);
  }
}

INSTANTIATE_TEST_SUITE_P(Both, GpuSteps, testing::Bool(),
                         [](const auto& test) { return std::string(test.param ? "kernels" : "aten"); });

TEST_F(Gpu, says_what_the_cpu_says_with_one_worker_and_with_several) {
  std::vector<int> all(static_cast<std::size_t>(load_cuda().gpus));
  for (std::size_t at = 0; at < all.size(); ++at) all[at] = static_cast<int>(at);
  for (const Signature& signature : {digits, pictures}) {
    const MadeUp model(signature);
    const Outcome expected = test::run(cpu_engine(model, everything), signature, 5000, 1500);
    for (const auto& gpus : {std::vector<int>{0}, std::vector<int>{0, 0}, all}) {
      const Outcome outcome = test::run(cuda_engine(model, gpus, everything), signature, 5000, 1500);
      EXPECT_EQ(outcome.counts.samples, expected.counts.samples);
      EXPECT_EQ(outcome.counts.correct, expected.counts.correct);
      EXPECT_EQ(outcome.counts.confusion, expected.counts.confusion);
      EXPECT_EQ(outcome.predictions.predicted, expected.predictions.predicted);
      EXPECT_EQ(outcome.predictions.labels, expected.predictions.labels);
      EXPECT_EQ(outcome.outputs, expected.outputs);
      EXPECT_GT(outcome.gpu_peak, 0);
      EXPECT_GT(outcome.upload_seconds, 0);
    }
  }
}

TEST_F(Gpu, runs_with_our_kernels) {
  const MadeUp model(digits);
  EXPECT_EQ(test::run(cuda_engine(model, {0}, {}), digits, 100, 100).notes, std::vector<std::string>{});
}

TEST_F(Gpu, computes_products_in_full_precision_unless_told_otherwise) {
  const at::Tensor weights = at::randn({16, 10});
  std::vector<double> errors;
  for (const Precision precision : {Precision::fp32, Precision::tf32}) {
    double error = 0;
    const MadeUp model(digits, [&](const at::Tensor& inputs) {
      const at::Tensor wide = at::randn({2048, 2048}), wider = wide.to(at::kDouble);
      const at::Tensor product = wide.to(inputs.device()).matmul(wide.to(inputs.device())).to(at::kCPU).to(at::kDouble);
      error = std::max(error, product.sub(wider.matmul(wider)).abs().max().item<double>());
      return inputs.narrow(1, 0, 10);
    });
    static_cast<void>(test::run(cuda_engine(model, {0}, {.precision = precision}), digits, 10, 10));
    errors.push_back(error);
  }
  EXPECT_LT(errors[0], 2e-3);
  EXPECT_GE(errors[1], errors[0]);
}

TEST_F(Gpu, halves_a_batch_that_does_not_fit) {
  const MadeUp* self = nullptr;
  const auto all = static_cast<std::int64_t>(*free_memory(gpu));
  const MadeUp model(digits, [&](const at::Tensor& inputs) {
    // From 4 samples on there is no room.
    const at::Tensor room =
        at::empty({inputs.size(0) * (all / 3)}, at::TensorOptions(at::kByte).device(inputs.device()));
    return self->first_inputs(inputs);
  });
  self = &model;
  EngineOptions options = everything;
  options.batch_size = 16;
  const Outcome outcome = test::run(cuda_engine(model, {0}, options), digits, 64, 64);
  const MadeUp roomy(digits);
  EXPECT_EQ(outcome.counts.confusion, test::run(cpu_engine(roomy, {}), digits, 64, 64).counts.confusion);
  ASSERT_GE(outcome.notes.size(), 2);
  EXPECT_EQ(outcome.notes[0], "out of memory on cuda:0 with 16 samples at once: going on with 8");
}

TEST_F(Gpu, names_needed_and_free_bytes_where_one_sample_does_not_fit) {
  const MadeUp model(digits, [](const at::Tensor& inputs) {
    return at::empty({std::int64_t{1} << 45}, at::TensorOptions(at::kByte).device(inputs.device()));
  });
  const auto engine = cuda_engine(model, {0}, {});
  engine->submit(test::random_bytes(digits, 0, 100));
  try {
    static_cast<void>(engine->finish());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_NE(std::string(error.what()).find("35184372088832 bytes were needed, "), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(" are free"), std::string::npos) << error.what();
    EXPECT_EQ(error.hint(), "--device cpu");
  }
}

}  // namespace
}  // namespace ckpt::eval
