#include "io/cores.h"

#include <gtest/gtest.h>

namespace ckpt {
namespace {

TEST(Cores, of_a_quota_are_rounded_up) {
  EXPECT_EQ(cores_of_quota("200000 100000"), 2);
  EXPECT_EQ(cores_of_quota("150000 100000"), 2);
  EXPECT_EQ(cores_of_quota("5000 100000"), 1);
}

TEST(Cores, without_a_quota_are_not_bounded) {
  EXPECT_EQ(cores_of_quota("max 100000"), std::nullopt);
  EXPECT_EQ(cores_of_quota(""), std::nullopt);
  EXPECT_EQ(cores_of_quota("-1 100000"), std::nullopt);
}

TEST(Cores, of_omp_num_threads_are_its_first_number) {
  EXPECT_EQ(threads_of_omp("4"), 4);
  EXPECT_EQ(threads_of_omp("4,2"), 4);
}

TEST(Cores, of_a_variable_that_is_no_number_are_not_bounded) {
  EXPECT_EQ(threads_of_omp(nullptr), std::nullopt);
  EXPECT_EQ(threads_of_omp(""), std::nullopt);
  EXPECT_EQ(threads_of_omp("many"), std::nullopt);
  EXPECT_EQ(threads_of_omp("0"), std::nullopt);
  EXPECT_EQ(threads_of_omp("4 of them"), std::nullopt);
}

TEST(Cores, are_at_least_one) { EXPECT_GE(usable_cores(), 1); }

}  // namespace
}  // namespace ckpt
