#include <gtest/gtest.h>

#include "ckpt/error.h"
#include "ckpt/eval.h"

namespace ckpt::eval {
namespace {

/// What evaluate() refuses before it looks for a model.
std::string refusal(const Options& options) {
  try {
    static_cast<void>(evaluate(options));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_argument) return error.what();
  }
  return "no invalid argument";
}

TEST(Evaluate, refuses_a_shard_that_is_none) {
  Options options;
  options.shard = Shard{5, 2};
  EXPECT_EQ(refusal(options), "shard 5 of 2, expected an index from 0 to one less than the count");
  options.shard = Shard{0, 0};
  EXPECT_EQ(refusal(options), "shard 0 of 0, expected an index from 0 to one less than the count");
}

TEST(Evaluate, refuses_batches_of_nothing) {
  Options options;
  options.batch_size = 0;
  EXPECT_EQ(refusal(options), "a batch size of 0, expected 1 sample or more");
}

TEST(Evaluate, refuses_a_scale_that_is_none) {
  Options options;
  options.normalize = std::pair(0.5, 0.0);
  EXPECT_EQ(refusal(options),
            "a normalisation by 0.500000 and 0.000000, expected a mean and a standard deviation above 0");
}

}  // namespace
}  // namespace ckpt::eval
