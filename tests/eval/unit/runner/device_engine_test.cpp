#include <ATen/Context.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <mutex>
#include <thread>

#include "ckpt/error.h"
#include "runner/device_steps.h"
#include "runner/engine.h"
#include "runner/made_up.h"

namespace ckpt::eval {
namespace {

using test::digits;
using test::MadeUp;
using test::pictures;

constexpr EngineOptions everything{.predictions = true, .outputs = true};
const std::vector<at::Device> three(3, at::Device(at::kCPU));

void expect_equal(const Outcome& outcome, const Outcome& expected) {
  EXPECT_EQ(outcome.counts.samples, expected.counts.samples);
  EXPECT_EQ(outcome.counts.correct, expected.counts.correct);
  EXPECT_EQ(outcome.counts.not_finite, expected.counts.not_finite);
  EXPECT_EQ(outcome.counts.confusion, expected.counts.confusion);
  EXPECT_EQ(outcome.predictions.first, expected.predictions.first);
  EXPECT_EQ(outcome.predictions.labels, expected.predictions.labels);
  EXPECT_EQ(outcome.predictions.predicted, expected.predictions.predicted);
  EXPECT_EQ(outcome.predictions.confidence, expected.predictions.confidence);
  EXPECT_EQ(outcome.predictions.truth, expected.predictions.truth);
  EXPECT_EQ(outcome.outputs, expected.outputs);
}

TEST(DeviceEngine, says_what_the_cpu_says) {
  for (const Signature& signature : {digits, pictures}) {
    const MadeUp model(signature);
    const Outcome expected = test::run(cpu_engine(model, everything), signature, 1000, 300);
    for (const std::uint64_t size : {1, 13, 4096}) {
      EngineOptions options = everything;
      options.batch_size = size;
      expect_equal(test::run(device_engine(model, three, options), signature, 1000, 300), expected);
    }
  }
}

TEST(DeviceEngine, takes_all_at_once_where_the_users_batch_is_beyond_counting) {
  const MadeUp model(digits);
  const auto most = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(device_engine(model, three, {.batch_size = most})->chunk(), most);
}

TEST(DeviceEngine, prepares_a_network_a_device) {
  const MadeUp model(digits);
  static_cast<void>(test::run(device_engine(model, three, {}), digits, 300, 300));
  EXPECT_EQ(model.prepared, 3);
}

TEST(DeviceEngine, begins_again_with_what_it_has_prepared) {
  const MadeUp model(digits), other(digits);
  const auto engine = device_engine(model, three, everything);
  for (const std::uint64_t first : {0, 50}) {
    engine->submit(test::random_bytes(digits, first, 100));
    const auto fresh = cpu_engine(other, everything);
    fresh->submit(test::random_bytes(digits, first, 100));
    expect_equal(engine->finish(), fresh->finish());
  }
  EXPECT_EQ(model.prepared, 3);
}

TEST(DeviceEngine, takes_floats_and_counts_what_is_not_finite) {
  const Signature pair{.input = {2}, .positions = 1, .classes = 2};
  const MadeUp model(pair);
  const auto engine = device_engine(model, three, everything);
  engine->submit(test::floats(5, {1, 1, std::numeric_limits<float>::infinity(), 0, 0, 1}, {0, 0, -1}));
  const Outcome outcome = engine->finish();
  EXPECT_EQ(outcome.counts.correct, 1);
  EXPECT_EQ(outcome.counts.not_finite, 1);
  EXPECT_EQ(outcome.counts.confusion, (std::vector<std::uint64_t>{1, 0, 0, 0}));
  EXPECT_EQ(outcome.predictions.predicted, (std::vector<std::int32_t>{0, -1, 1}));
}

TEST(DeviceEngine, halves_batches_only_where_memory_is_short) {
  // Each thread is a device; the first that comes has little memory.
  std::mutex mutex;
  std::map<std::thread::id, bool> is_small;
  const MadeUp* self = nullptr;
  const MadeUp model(digits, [&](const at::Tensor& inputs) {
    std::unique_lock lock(mutex);
    const bool small = is_small.try_emplace(std::this_thread::get_id(), is_small.empty()).first->second;
    lock.unlock();
    if (small && inputs.size(0) > 20) {
      TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate 2.00 GiB.");
    }
    return self->first_inputs(inputs);
  });
  self = &model;
  EngineOptions options = everything;
  options.batch_size = 50;
  const Outcome outcome = test::run(device_engine(model, three, options), digits, 1000, 300);
  const MadeUp roomy(digits);
  expect_equal(outcome, test::run(cpu_engine(roomy, everything), digits, 1000, 300));
  ASSERT_EQ(outcome.notes.size(), 2);
  EXPECT_EQ(outcome.notes[0], "out of memory on cpu with 50 samples at once: going on with 25");
  EXPECT_EQ(outcome.notes[1], "out of memory on cpu with 25 samples at once: going on with 12");
}

TEST(DeviceEngine, gives_up_when_memory_is_too_short_for_one_sample) {
  const MadeUp model(digits, [](const at::Tensor&) -> at::Tensor {
    TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate 2.00 GiB.");
  });
  const auto engine = device_engine(model, three, {});
  engine->submit(test::random_bytes(digits, 0, 100));
  try {
    static_cast<void>(engine->finish());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_NE(std::string(error.what()).find("2147483648 bytes were needed, "), std::string::npos) << error.what();
  }
}

TEST(DeviceEngine, allows_tf32_only_where_it_is_asked_for_and_while_it_runs) {
  const bool convolutions = at::globalContext().allowTF32CuDNN(), products = at::globalContext().allowTF32CuBLAS();
  const MadeUp model(digits);
  for (const bool wanted : {false, true}) {
    const auto engine = device_engine(model, three, {.precision = wanted ? Precision::tf32 : Precision::fp32});
    EXPECT_EQ(at::globalContext().allowTF32CuDNN(), wanted);
    EXPECT_EQ(at::globalContext().allowTF32CuBLAS(), wanted);
  }
  EXPECT_EQ(at::globalContext().allowTF32CuDNN(), convolutions);
  EXPECT_EQ(at::globalContext().allowTF32CuBLAS(), products);
}

TEST(AtenSteps, lay_bytes_out_as_the_cpu_does_to_the_bit) {
  for (const Signature& signature : {digits, pictures}) {
    const SampleLayout layout(signature);
    const Batch batch = cut(test::random_bytes(signature, 3, 20), {20, true}, 1).front();
    std::vector<float> expected(20 * input_elements(signature));
    lay_out(batch, layout, expected.data());
    const at::Tensor bytes =
        at::tensor(at::ArrayRef(reinterpret_cast<const std::uint8_t*>(batch.inputs()), expected.size()), at::kByte);
    const at::Tensor out = aten_steps(at::kCPU, layout)->lay_out(bytes.view({20, -1}), layout.sizes(batch));
    ASSERT_TRUE(out.is_contiguous(layout.memory_format()));
    const auto* values = out.const_data_ptr<float>();
    EXPECT_EQ(std::vector<float>(values, values + out.numel()), expected);
  }
}

}  // namespace
}  // namespace ckpt::eval
