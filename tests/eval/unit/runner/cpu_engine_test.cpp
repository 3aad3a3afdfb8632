#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <limits>
#include <mutex>
#include <set>
#include <thread>

#include "ckpt/cores.h"
#include "ckpt/error.h"
#include "runner/engine.h"
#include "runner/judge.h"
#include "runner/made_up.h"

namespace ckpt::eval {
namespace {

using test::digits;
using test::MadeUp;
using test::pictures;

constexpr EngineOptions everything{.predictions = true, .outputs = true};
const Signature pair{.input = {2}, .positions = 1, .classes = 2};

/// What the engine should say, one sample at a time.
Outcome by_hand(const Signature& signature, std::uint64_t samples, std::uint64_t at_once) {
  Outcome outcome;
  const Scale scale{signature.positions, signature.classes};
  const auto wide = static_cast<std::size_t>(scale.positions * scale.classes);
  outcome.counts.confusion.resize(wide * static_cast<std::size_t>(scale.classes));
  for (std::uint64_t at = 0; at < samples; at += at_once) {
    const Samples read = test::random_bytes(signature, 100 + at, std::min(at_once, samples - at));
    const std::size_t elements = read.inputs.size() / read.count;
    for (std::uint64_t sample = 0; sample < read.count; ++sample) {
      std::vector<float> outputs(wide);
      for (std::size_t place = 0; place < wide; ++place) {
        outputs[place] = normalised(static_cast<std::uint8_t>(read.inputs[sample * elements + place]),
                                    static_cast<float>(signature.mean), static_cast<float>(signature.std));
      }
      const auto* labels = read.labels.data() + sample * static_cast<std::uint64_t>(scale.positions);
      std::vector<std::int32_t> predicted(static_cast<std::size_t>(scale.positions));
      const Judgement verdict = judge(outputs.data(), labels, scale, outcome.counts.confusion.data(), predicted.data());
      outcome.counts.correct += verdict.correct;
      outcome.predictions.predicted.insert(outcome.predictions.predicted.end(), predicted.begin(), predicted.end());
      outcome.outputs.insert(outcome.outputs.end(), outputs.begin(), outputs.end());
    }
    outcome.counts.samples += read.count;
    outcome.predictions.labels.insert(outcome.predictions.labels.end(), read.labels.begin(), read.labels.end());
  }
  return outcome;
}

void expect_equal(const Outcome& outcome, const Outcome& expected) {
  EXPECT_EQ(outcome.counts.samples, expected.counts.samples);
  EXPECT_EQ(outcome.counts.correct, expected.counts.correct);
  EXPECT_EQ(outcome.counts.not_finite, expected.counts.not_finite);
  EXPECT_EQ(outcome.counts.confusion, expected.counts.confusion);
  EXPECT_EQ(outcome.predictions.labels, expected.predictions.labels);
  EXPECT_EQ(outcome.predictions.predicted, expected.predictions.predicted);
  EXPECT_EQ(outcome.outputs, expected.outputs);
}

TEST(CpuEngine, counts_and_reads_as_one_sample_after_another_would_be) {
  for (const Signature& signature : {digits, pictures}) {
    const MadeUp model(signature);
    expect_equal(test::run(cpu_engine(model, everything), signature, 1000, 300), by_hand(signature, 1000, 300));
  }
}

TEST(CpuEngine, says_the_same_at_every_batch_size) {
  const MadeUp model(pictures);
  const Outcome expected = by_hand(pictures, 500, 250);
  EXPECT_GT(expected.counts.correct, 0);
  for (const std::uint64_t size : {1, 7, 64, 1000}) {
    EngineOptions options = everything;
    options.batch_size = size;
    expect_equal(test::run(cpu_engine(model, options), pictures, 500, 250), expected);
  }
}

TEST(CpuEngine, puts_results_in_order_whoever_comes_first) {
  std::atomic<int> calls = 0;
  const MadeUp* self = nullptr;
  const MadeUp model(digits, [&](const at::Tensor& inputs) {
    if (calls++ == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return self->first_inputs(inputs);
  });
  self = &model;
  EngineOptions options = everything;
  options.batch_size = 3;
  const Outcome outcome = test::run(cpu_engine(model, options), digits, 100, 100);
  expect_equal(outcome, by_hand(digits, 100, 100));
  EXPECT_EQ(outcome.predictions.first, 100);
}

TEST(CpuEngine, gives_pictures_with_channels_side_by_side) {
  std::atomic<bool> right = true;
  const MadeUp* self = nullptr;
  const MadeUp model(pictures, [&](const at::Tensor& inputs) {
    right = right && inputs.is_contiguous(at::MemoryFormat::ChannelsLast) &&
            inputs.sizes().slice(1) == at::IntArrayRef{3, 4, 5};
    return self->first_inputs(inputs);
  });
  self = &model;
  static_cast<void>(test::run(cpu_engine(model, {}), pictures, 50, 50));
  EXPECT_TRUE(right);
}

TEST(CpuEngine, takes_floats_as_they_are) {
  const MadeUp model(pair);
  const auto engine = cpu_engine(model, everything);
  engine->submit(test::floats(0, {0.25F, 0.5F, -3, -4}, {1, 1}));
  const Outcome outcome = engine->finish();
  EXPECT_EQ(outcome.outputs, (std::vector<float>{0.25F, 0.5F, -3, -4}));
  EXPECT_EQ(outcome.predictions.predicted, (std::vector<std::int32_t>{1, 0}));
  EXPECT_EQ(outcome.counts.correct, 1);
}

TEST(CpuEngine, counts_outputs_that_are_not_finite) {
  const MadeUp model(pair);
  const auto engine = cpu_engine(model, everything);
  engine->submit(test::floats(0, {std::numeric_limits<float>::quiet_NaN(), 0, 1, 0}, {0, 0}));
  const Outcome outcome = engine->finish();
  EXPECT_EQ(outcome.counts.not_finite, 1);
  EXPECT_EQ(outcome.counts.correct, 1);
  EXPECT_EQ(outcome.predictions.predicted, (std::vector<std::int32_t>{-1, 0}));
  EXPECT_EQ(outcome.predictions.confidence[0], 0);
}

TEST(CpuEngine, keeps_nothing_that_nobody_asked_for) {
  const MadeUp model(digits);
  const Outcome outcome = test::run(cpu_engine(model, {}), digits, 100, 100);
  EXPECT_TRUE(outcome.predictions.predicted.empty());
  EXPECT_TRUE(outcome.outputs.empty());
}

TEST(CpuEngine, begins_again_with_nothing_counted) {
  const MadeUp model(digits);
  const auto engine = cpu_engine(model, everything);
  std::vector<Outcome> outcomes;
  for (int round = 0; round < 2; ++round) {
    engine->submit(test::random_bytes(digits, 0, 100));
    outcomes.push_back(engine->finish());
  }
  EXPECT_EQ(outcomes[1].counts.samples, 100);
  EXPECT_EQ(outcomes[1].counts.confusion, outcomes[0].counts.confusion);
  EXPECT_EQ(outcomes[1].predictions.predicted, outcomes[0].predictions.predicted);
  EXPECT_EQ(model.prepared, 1);
}

TEST(CpuEngine, runs_from_the_first_batch_begun) {
  const MadeUp slow(digits, [](const at::Tensor& inputs) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return inputs.narrow(1, 0, 10);
  });
  const auto engine = cpu_engine(slow, {});
  engine->submit(test::random_bytes(digits, 0, 1));
  while (engine->done() == 0) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  engine->submit(test::random_bytes(digits, 1, 1));
  EXPECT_GE(engine->finish().run_seconds, 0.04);  // waiting for data, too
}

TEST(CpuEngine, of_no_samples_counts_none) {
  const MadeUp model(digits);
  const Outcome outcome = cpu_engine(model, everything)->finish();
  EXPECT_EQ(outcome.counts.samples, 0);
  EXPECT_EQ(outcome.counts.confusion.size(), 100);
}

TEST(CpuEngine, may_be_given_up) {
  const MadeUp model(digits);
  const auto engine = cpu_engine(model, {});
  engine->submit(test::random_bytes(digits, 0, 100));
}

TEST(CpuEngine, says_how_far_it_is) {
  const MadeUp model(digits);
  const auto engine = cpu_engine(model, {});
  EXPECT_EQ(engine->done(), 0);
  engine->submit(test::random_bytes(digits, 0, 100));
  static_cast<void>(engine->finish());
  EXPECT_EQ(engine->done(), 100);
}

TEST(CpuEngine, has_a_worker_a_core_with_one_thread_each_and_one_network) {
  std::mutex mutex;
  std::set<std::thread::id> workers;
  std::atomic<bool> right = true;
  const std::size_t cores = usable_cores();
  const MadeUp* self = nullptr;
  const MadeUp model(digits, [&](const at::Tensor& inputs) {
    right = right && at::get_num_threads() == 1 && c10::InferenceMode::is_enabled();
    std::unique_lock lock(mutex);
    workers.insert(std::this_thread::get_id());
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return self->first_inputs(inputs);
  });
  self = &model;
  EngineOptions options;
  options.batch_size = 1;
  static_cast<void>(test::run(cpu_engine(model, options), digits, 8 * cores, 8 * cores));
  EXPECT_TRUE(right);
  EXPECT_EQ(workers.size(), cores);
  EXPECT_EQ(model.prepared, 1);
}

TEST(CpuEngine, leaves_the_number_of_threads_as_it_was) {
  at::set_num_threads(3);
  const MadeUp model(digits);
  static_cast<void>(test::run(cpu_engine(model, {}), digits, 100, 100));
  EXPECT_EQ(at::get_num_threads(), 3);
}

TEST(CpuEngine, throws_at_the_end_what_a_worker_has_thrown) {
  const MadeUp model(digits, [](const at::Tensor& inputs) { return inputs.view({-1, 3}); });
  const auto engine = cpu_engine(model, {});
  engine->submit(test::random_bytes(digits, 0, 4));
  try {
    static_cast<void>(engine->finish());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(error.what()).find("shape '[-1, 3]' is invalid"), std::string::npos) << error.what();
  }
}

TEST(CpuEngine, throws_from_submit_what_a_worker_has_thrown_meanwhile) {
  const MadeUp model(digits, [](const at::Tensor&) -> at::Tensor { throw Error(ErrorCode::unsupported, "no"); });
  const auto engine = cpu_engine(model, {});
  EXPECT_THROW(
      {
        for (;;) engine->submit(test::random_bytes(digits, 0, 4));
      },
      Error);
}

TEST(CpuEngine, refuses_outputs_of_another_shape) {
  const MadeUp model(digits, [](const at::Tensor& inputs) { return inputs.narrow(1, 0, 9); });
  const auto engine = cpu_engine(model, {});
  engine->submit(test::random_bytes(digits, 0, 1));
  try {
    static_cast<void>(engine->finish());
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "for 1 samples the model gives Float [1, 9], expected Float [1, 10]");
  }
}

TEST(CpuEngine, refuses_samples_of_another_size) {
  const MadeUp model(digits);
  const auto engine = cpu_engine(model, {});
  EXPECT_THROW(engine->submit(test::random_bytes(pair, 0, 4)), Error);
}

TEST(CpuEngine, halves_a_batch_for_which_memory_is_too_short) {
  const MadeUp* self = nullptr;
  const MadeUp model(digits, [&](const at::Tensor& inputs) {
    if (inputs.size(0) > 10) throw std::bad_alloc();
    return self->first_inputs(inputs);
  });
  self = &model;
  EngineOptions options = everything;
  options.batch_size = 40;
  const Outcome outcome = test::run(cpu_engine(model, options), digits, 300, 100);
  expect_equal(outcome, by_hand(digits, 300, 100));
  const std::set<std::string> notes(outcome.notes.begin(), outcome.notes.end());  // workers halve by themselves
  EXPECT_EQ(notes, (std::set<std::string>{"out of memory on cpu with 40 samples at once: going on with 20",
                                          "out of memory on cpu with 20 samples at once: going on with 10"}));
  EXPECT_EQ(outcome.notes.size(), notes.size());
}

TEST(CpuEngine, gives_up_when_memory_is_too_short_for_one_sample) {
  const MadeUp model(digits, [](const at::Tensor&) -> at::Tensor {
    TORCH_CHECK(false, "DefaultCPUAllocator: can't allocate memory: you tried to allocate 4096 bytes.");
  });
  const auto engine = cpu_engine(model, {});
  engine->submit(test::random_bytes(digits, 0, 100));
  try {
    static_cast<void>(engine->finish());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_EQ(
        std::string(error.what()).rfind("cpu has too little memory for a single sample: 4096 bytes were needed, ", 0),
        0)
        << error.what();
  }
}

}  // namespace
}  // namespace ckpt::eval
