#include "metrics/join.h"

#include <gtest/gtest.h>

#include "eval/results.h"

namespace ckpt::eval {
namespace {

using eval_testing::captchas;
using eval_testing::part_of;

TEST(Join, of_parts_is_the_whole) {
  const Result whole = captchas();
  Result out = part_of(whole, 0, 2);
  join(out, part_of(whole, 1, 2));
  EXPECT_EQ(out.counts.samples, whole.counts.samples);
  EXPECT_EQ(out.counts.confusion, whole.counts.confusion);
  EXPECT_EQ(out.predictions.predicted, whole.predictions.predicted);
}

TEST(Join, keeps_what_any_part_warned_of_once) {
  Result out = part_of(captchas(), 0, 2), next = part_of(captchas(), 1, 2);
  out.warnings = {"a", "b"};
  next.warnings = {"b", "c"};
  join(out, next);
  EXPECT_EQ(out.warnings, (std::vector<std::string>{"a", "b", "c"}));
}

}  // namespace
}  // namespace ckpt::eval
