#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "ckpt/error.h"
#include "io/io_testing.h"

/// Each cap of ckpt/limits.h has a test here that bears its name, `TEST(Cap, pickle_line)`, at the cap and one past it.
/// tests/bad/run.py asks for one a constant. Where the cap itself would need more memory than a test should take, the
/// check is given a smaller number, and the test says so and that the number is the constant where nobody gives one.
namespace ckpt::caps_testing {

inline void expect_within(const std::function<void()>& work) {
  const auto error = io_testing::error_of(work);
  EXPECT_FALSE(error) << error->what();
}

inline void expect_past(const std::function<void()>& work) {
  const auto error = io_testing::error_of(work);
  ASSERT_TRUE(error) << "nothing was refused";
  EXPECT_EQ(error->code(), ErrorCode::limit_exceeded) << error->what();
}

}  // namespace ckpt::caps_testing
