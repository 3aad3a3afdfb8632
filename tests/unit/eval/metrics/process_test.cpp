#include "metrics/process.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace ckpt::eval {
namespace {

TEST(Process, peak_grows_with_what_is_touched) {
  const std::uint64_t before = host_peak();
  constexpr std::size_t size = 64 << 20;
  const auto memory = std::make_unique<unsigned char[]>(size + before);
  std::memset(memory.get(), 1, size + before);
  EXPECT_GE(host_peak(), before + size / 2);
}

TEST(Process, started_before_now_and_after_the_machine) {
  const double seconds = seconds_since_start();
  EXPECT_GE(seconds, 0);
  EXPECT_LT(seconds, 24 * 3600);
  EXPECT_GE(seconds_since_start(), seconds);
}

TEST(Process, names_its_processor) { EXPECT_NE(processor_text(), ""); }

}  // namespace
}  // namespace ckpt::eval
