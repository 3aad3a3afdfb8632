#include "io/workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>

namespace ckpt {
namespace {

std::vector<int> squares(std::size_t threads) {
  Workers workers(threads);
  std::vector<int> out(100);
  std::vector<Workers::TaskPtr> tasks;
  for (int i = 0; i < 100; ++i) tasks.push_back(workers.start([&out, i] { out[static_cast<std::size_t>(i)] = i * i; }));
  for (const auto& task : tasks) workers.finish(task);
  return out;
}

TEST(Workers, do_all_the_work_however_many_they_are) {
  const std::vector<int> alone = squares(0);
  EXPECT_EQ(alone[99], 99 * 99);
  EXPECT_EQ(squares(1), alone);
  EXPECT_EQ(squares(8), alone);
  EXPECT_EQ(squares(SIZE_MAX), alone);
}

TEST(Workers, that_are_none_leave_the_work_to_who_waits) {
  Workers workers(0);
  bool done = false;
  const auto task = workers.start([&] { done = true; });
  EXPECT_FALSE(done);
  workers.finish(task);
  EXPECT_TRUE(done);
}

TEST(Workers, hand_what_the_work_throws_to_who_waits) {
  for (const std::size_t threads : {0, 2}) {
    Workers workers(threads);
    const auto task = workers.start([] { throw std::runtime_error("no"); });
    EXPECT_THROW(workers.finish(task), std::runtime_error) << threads;
  }
}

TEST(Workers, end_without_the_work_that_nobody_has_begun) {
  auto held = std::make_shared<int>();
  std::atomic<int> begun = 0;
  {
    Workers workers(1);
    // Runs until the work behind it is dropped, which holds `held`.
    static_cast<void>(workers.start([&begun, waits = std::weak_ptr(held)] {
      ++begun;
      while (!waits.expired()) std::this_thread::yield();
    }));
    while (begun == 0) std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) static_cast<void>(workers.start([&begun, held] { ++begun; }));
    held = nullptr;
  }
  EXPECT_EQ(begun, 1);
}

TEST(Workers, may_wait_for_each_other) {
  Workers workers(1);
  int sum = 0;
  const auto inner = workers.start([&] { sum += 1; });
  const auto outer = workers.start([&] {
    workers.finish(inner);
    sum += 2;
  });
  workers.finish(outer);
  EXPECT_EQ(sum, 3);
}

}  // namespace
}  // namespace ckpt
