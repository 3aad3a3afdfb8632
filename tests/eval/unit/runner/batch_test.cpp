#include "runner/batch.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "runner/made_up.h"

namespace ckpt::eval {
namespace {

std::vector<std::uint64_t> sizes(std::uint64_t samples, const BatchSize& size, std::size_t workers) {
  std::vector<std::uint64_t> sizes;
  std::uint64_t at = 0;
  for (const Batch& batch : cut(test::random_bytes(test::digits, 0, samples), size, workers)) {
    EXPECT_EQ(batch.offset, at);
    at += batch.count;
    sizes.push_back(batch.count);
  }
  EXPECT_EQ(at, samples);
  return sizes;
}

using Sizes = std::vector<std::uint64_t>;

TEST(Cut, gives_the_size_that_the_user_named_and_the_rest) { EXPECT_EQ(sizes(25, {10, true}, 2), (Sizes{10, 10, 5})); }

TEST(Cut, gives_every_worker_something) { EXPECT_EQ(sizes(10, {512, false}, 3), (Sizes{3, 3, 4})); }

TEST(Cut, evens_batches_out) { EXPECT_EQ(sizes(33, {16, false}, 1), (Sizes{11, 11, 11})); }

TEST(Cut, takes_fewer_samples_than_workers) { EXPECT_EQ(sizes(2, {16, false}, 8), (Sizes{1, 1})); }

TEST(Batch, names_its_samples_inputs_and_labels) {
  const auto batches = cut(test::random_bytes(test::pictures, 7, 5), {2, true}, 1);
  const Batch& second = batches[1];
  EXPECT_EQ(second.first(), 9);
  EXPECT_EQ(second.inputs(), second.samples->inputs.data() + 2 * 60);
  EXPECT_EQ(second.labels(), second.samples->labels.data() + 2 * 4);
  EXPECT_EQ(second.part(1, 9).first(), 10);
  EXPECT_EQ(second.part(1, 9).count, 1);
}

TEST(BatchSize, is_the_users_own) {
  const BatchSize size = batch_size(test::digits, 7, false);
  EXPECT_EQ(size.most, 7);
  EXPECT_TRUE(size.exact);
}

TEST(BatchSize, is_smaller_for_pictures_than_for_flat_inputs) {
  const Signature fnn{.input = {784}, .classes = 10}, captcha{.input = {3, 56, 24}, .positions = 4, .classes = 36};
  EXPECT_EQ(batch_size(fnn, {}, false).most, 512);
  EXPECT_EQ(batch_size(captcha, {}, false).most, 16);
  EXPECT_EQ(batch_size(fnn, {}, true).most, 8192);
  EXPECT_EQ(batch_size(captcha, {}, true).most, 1024);
}

TEST(BatchSize, is_at_least_some_but_for_the_greatest_inputs) {
  EXPECT_EQ(batch_size({.input = {3, 224, 224}}, {}, false).most, 16);
  EXPECT_EQ(batch_size({.input = {3, 224, 224}}, {}, true).most, 64);
  EXPECT_EQ(batch_size({.input = {3, 1000, 1000}}, {}, false).most, 1);
  EXPECT_EQ(batch_size({.input = {3, 4096, 4096}}, {}, true).most, 1);
  EXPECT_EQ(batch_size({.input = {}}, {}, false).most, 512);
}

TEST(BatchQueue, gives_in_the_order_in_which_it_took) {
  BatchQueue queue;
  ASSERT_TRUE(queue.push(cut(test::random_bytes(test::digits, 0, 4), {2, true}, 1)));
  ASSERT_TRUE(queue.push(cut(test::random_bytes(test::digits, 4, 2), {2, true}, 1)));
  queue.close();
  EXPECT_EQ(queue.pop()->first(), 0);
  EXPECT_EQ(queue.pop()->first(), 2);
  EXPECT_EQ(queue.pop()->first(), 4);
  EXPECT_FALSE(queue.pop());
}

TEST(BatchQueue, waits_while_it_is_full) {
  BatchQueue queue;
  const auto submission = [] {
    Samples samples{.count = 1, .dtype = DType::uint8, .labels = {0}};
    samples.inputs.resize(40 << 20);
    return cut(std::move(samples), {1, true}, 1);
  };
  ASSERT_TRUE(queue.push(submission()));
  bool pushed = false;
  std::thread second([&] { pushed = queue.push(submission()); });
  EXPECT_TRUE(queue.pop());  // makes room
  second.join();
  EXPECT_TRUE(pushed);
}

TEST(BatchQueue, lets_everybody_go_when_it_is_aborted) {
  BatchQueue queue;
  std::thread waiting([&] { EXPECT_FALSE(queue.pop()); });
  queue.abort();
  waiting.join();
  EXPECT_FALSE(queue.push(cut(test::random_bytes(test::digits, 0, 4), {2, true}, 1)));
}

}  // namespace
}  // namespace ckpt::eval
