#include "ranks.h"

#include <gtest/gtest.h>

#include "ckpt/error.h"

namespace ckpt::eval {
namespace {

Result one() {
  Result result;
  result.version = "1.2.3";
  result.digest = "beef";
  result.device = "cuda:1";
  result.precision = "bf16";
  result.data_samples = 7;
  result.counts = {3, 2, 1, {1, 0, 1, 0}};
  result.seconds.run = 0.5;
  result.predictions.labels = {1, 0, -1};
  result.predictions.truth = {0.5F, 1, 0};
  result.outputs = {1, -2};
  result.warnings = {"out of memory on cuda:1 with 8 samples at once: going on with 4", "", "no kernels"};
  return result;
}

void expect_refused(const std::string& bytes) {
  try {
    static_cast<void>(unpacked(bytes));
    ADD_FAILURE() << bytes.size() << " bytes were taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::corrupt);
  }
}

TEST(Packed, comes_back_as_it_was) {
  const Result sent = one(), got = unpacked(packed(sent));
  EXPECT_EQ(got.version, sent.version);
  EXPECT_EQ(got.digest, sent.digest);
  EXPECT_EQ(got.device, sent.device);
  EXPECT_EQ(got.precision, sent.precision);
  EXPECT_EQ(got.data_samples, sent.data_samples);
  EXPECT_EQ(got.counts.correct, sent.counts.correct);
  EXPECT_EQ(got.counts.confusion, sent.counts.confusion);
  EXPECT_EQ(got.seconds.run, sent.seconds.run);
  EXPECT_EQ(got.predictions.labels, sent.predictions.labels);
  EXPECT_EQ(got.predictions.truth, sent.predictions.truth);
  EXPECT_EQ(got.outputs, sent.outputs);
  EXPECT_EQ(got.warnings, sent.warnings);
}

TEST(Packed, that_is_cut_anywhere_is_refused) {
  const std::string whole = packed(one());
  for (std::size_t size = 0; size < whole.size(); ++size) expect_refused(whole.substr(0, size));
}

TEST(Packed, that_claims_more_warnings_than_bytes_is_refused) {
  std::string bytes = packed({});
  for (std::size_t at = 1; at <= sizeof(std::uint64_t); ++at) bytes[bytes.size() - at] = '\xff';  // their number
  expect_refused(bytes);
}

}  // namespace
}  // namespace ckpt::eval
