#include "loading.h"

#include <gtest/gtest.h>

#include "ckpt/error.h"

namespace ckpt::eval {
namespace {

TEST(LoadForEvaluation, waits_for_cuda_before_torchscript_is_touched) {
  Options options;
  options.arch = "torchscript";
  options.model = "/nowhere/model.pt";
  int asked = 0;
  EXPECT_THROW(static_cast<void>(load_for_evaluation(options, [&] { return ++asked > 0; })), Error);
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace ckpt::eval
