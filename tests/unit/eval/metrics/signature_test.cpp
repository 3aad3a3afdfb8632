#include "metrics/signature.h"

#include <gtest/gtest.h>

#include <limits>

#include "ckpt/error.h"

namespace ckpt::eval {
namespace {

bool counts(std::int64_t positions, std::int64_t classes) {
  Signature signature;
  signature.positions = positions;
  signature.classes = classes;
  try {
    check_signature(signature);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::limit_exceeded);
    return false;
  }
  return true;
}

TEST(CheckSignature, goes_up_to_the_cap) {
  EXPECT_TRUE(counts(1, 4096));
  EXPECT_FALSE(counts(1, 4097));
  EXPECT_FALSE(counts(2, 4096));
  EXPECT_TRUE(counts(4, 2048));
}

TEST(CheckSignature, wraps_nowhere) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE(counts(1, std::int64_t{1} << 32));
  EXPECT_FALSE(counts(std::int64_t{1} << 32, std::int64_t{1} << 16));
  EXPECT_FALSE(counts(1, most));
  EXPECT_FALSE(counts(most, 2));
}

TEST(CheckSignature, wants_outputs) {
  EXPECT_FALSE(counts(1, 0));
  EXPECT_FALSE(counts(0, 10));
  EXPECT_FALSE(counts(-1, 10));
}

}  // namespace
}  // namespace ckpt::eval
