#include "report/verdict.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "eval/results.h"
#include "io/io_testing.h"
#include "report/report.h"

namespace ckpt::eval {
namespace {

using eval_testing::digits;
using io_testing::error_of;

/// The sentence of the check that failed, of one at most.
std::string failure(const Verdict& verdict) {
  std::string out;
  for (const auto& check : verdict.checks)
    if (!check.passed) out += (out.empty() ? "" : "; AND ") + check.sentence;
  EXPECT_EQ(out.empty(), verdict.passed());
  return out;
}

Bars against(const Result& old, std::optional<double> max_drop) {
  Bars bars;
  bars.baseline = baseline_of(old);
  bars.max_drop = max_drop;
  return bars;
}

TEST(Verdict, passes_without_bars) { EXPECT_EQ(failure(judge(digits(), {})), ""); }

TEST(Verdict, compares_with_the_bar_exactly) {
  EXPECT_EQ(failure(judge(digits(970), {0.97, {}, {}})), "");
  EXPECT_EQ(failure(judge(digits(969), {0.97, {}, {}})), "accuracy 96.90 % (969 of 1,000) is below 97.00 %");
}

TEST(Verdict, fails_where_there_is_no_accuracy) {
  Result empty = digits();
  empty.counts = {};
  EXPECT_EQ(failure(judge(empty, {})), "the accuracy is unknown: there are no samples");
}

TEST(Verdict, fails_where_outputs_are_not_finite) {
  Result result = digits();
  result.counts.not_finite = 3;
  EXPECT_EQ(failure(judge(result, {})), "3 of 1,000 samples have NaN or infinity among their outputs");
}

TEST(Verdict, allows_a_drop_of_just_so_much) {
  Bars bars = against(digits(980), 0.01);  // 0.98 - 0.97 is 0.010000000000000009
  bars.baseline->statements.clear();
  EXPECT_EQ(failure(judge(digits(970), bars)), "");
  EXPECT_EQ(failure(judge(digits(969), bars)),
            "accuracy 96.90 % is 1.10 % below that of fnn.pt.gz, 98.00 %; at most 1.00 % was allowed");
  EXPECT_EQ(failure(judge(digits(990), bars)), "");
}

TEST(Verdict, compares_sample_by_sample_where_it_can) {
  const Verdict verdict = judge(digits(970), against(digits(980), 0));
  ASSERT_TRUE(verdict.baseline && verdict.baseline->pairs);
  EXPECT_EQ(verdict.baseline->pairs->lost, 10U);
  EXPECT_EQ(verdict.baseline->pairs->gained, 0U);
  EXPECT_EQ(failure(verdict),
            "accuracy 97.00 % is 1.00 % below that of fnn.pt.gz, 98.00 % (10 samples lost, 0 gained, "
            "McNemar p = 0.0020); at most 0.00 % was allowed");
}

TEST(Verdict, asks_whether_a_drop_is_significant_where_none_is_named) {
  EXPECT_EQ(failure(judge(digits(975), against(digits(980), {}))), "");  // p = 0.0625
  EXPECT_EQ(
      failure(judge(digits(974), against(digits(980), {}))),
      "accuracy 97.40 % is 0.60 % below that of fnn.pt.gz, 98.00 % (6 samples lost, 0 gained, McNemar p = 0.0312); "
      "the difference is significant");
  EXPECT_EQ(failure(judge(digits(999), against(digits(980), {}))), "");  // significant, and better
}

TEST(Verdict, needs_a_drop_where_there_is_nothing_to_compare_sample_by_sample) {
  Bars bars = against(digits(980), {});
  bars.baseline->statements.clear();
  const auto error = error_of([&] { static_cast<void>(judge(digits(), bars)); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error->hint(), "say how much lower the accuracy may be: --max-drop 0.5%");
}

TEST(Verdict, needs_a_baseline_for_a_drop) {
  EXPECT_TRUE(error_of([] { static_cast<void>(judge(digits(), {{}, {}, 0.1})); }));
}

TEST(Verdict, fails_where_the_baseline_has_no_accuracy) {
  Bars bars = against(digits(), 0.5);
  bars.baseline->accuracy = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(failure(judge(digits(), bars)), "the baseline fnn.pt.gz has no accuracy");
}

TEST(Verdict, says_where_the_data_was_another) {
  Bars bars = against(digits(980), 0.001);
  bars.baseline->data_digest = std::string(64, 'c');
  const Verdict verdict = judge(digits(), bars);
  EXPECT_NE(failure(verdict).find("which was measured on other data"), std::string::npos);
  EXPECT_EQ(verdict.baseline->same_data, false);
  bars.baseline->data_digest = digits().data_digest;
  EXPECT_EQ(judge(digits(), bars).baseline->same_data, true);
  bars.baseline->data_digest.clear();
  EXPECT_EQ(judge(digits(), bars).baseline->same_data, std::nullopt);
}

TEST(Verdict, names_the_file_whose_samples_are_others) {
  Bars bars = against(digits(), 0.1);
  bars.baseline->statements[5].label = "77";
  const auto error = error_of([&] { static_cast<void>(judge(digits(), bars)); });
  ASSERT_TRUE(error);
  EXPECT_STREQ(error->what(), "fnn.pt.gz: labels sample 5 \"77\", and this run's data \"5\"");
}

class BaselineFile : public testing::Test {
 protected:
  std::string write(const std::string& text) {
    const std::string path = folder_ / "old";
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  Baseline read(const std::string& text) { return read_baseline(write(text)).value(); }

 private:
  io_testing::TemporaryFolder folder_;
};

TEST_F(BaselineFile, is_recognised_by_its_content) {
  EXPECT_EQ(read(csv_text(digits())).kind, BaselineKind::predictions);
  EXPECT_EQ(read(json_text(digits(), {})).kind, BaselineKind::json);
  EXPECT_EQ(read("\n {}").kind, BaselineKind::json);
  for (const std::string& model : {std::string("{\0\0\0\0\0\0\0{\"a\":", 13), std::string("PK\3\4"), std::string(),
                                   std::string(R"({"metadata":{},"weight_map":{"w":"a.bin"}})")})
    EXPECT_FALSE(read_baseline(write(model))) << model;
  EXPECT_FALSE(read_baseline(std::filesystem::path(write("")).parent_path()));
}

TEST_F(BaselineFile, of_json_gives_accuracy_and_digest) {
  const Baseline old = read(json_text(digits(), judge(digits(), {})));
  EXPECT_EQ(old.accuracy, 0.97);
  EXPECT_EQ(old.data_digest, digits().data_digest);
  EXPECT_TRUE(old.statements.empty());
}

TEST_F(BaselineFile, of_json_may_lack_an_accuracy) {
  EXPECT_TRUE(std::isnan(read("{}").accuracy));
  EXPECT_TRUE(std::isnan(read(R"({"accuracy":null})").accuracy));
  EXPECT_TRUE(std::isnan(read(R"({"accuracy":"0.9"})").accuracy));
}

TEST_F(BaselineFile, of_json_is_refused_where_it_is_damaged) {
  const auto code = [&](const std::string& text) {
    const auto error = error_of([&] { static_cast<void>(read(text)); });
    return error ? std::optional(error->code()) : std::nullopt;
  };
  EXPECT_EQ(code("{\"accuracy\":"), ErrorCode::corrupt);
  EXPECT_EQ(code("{\"accuracy\":97}"), ErrorCode::corrupt);
  EXPECT_EQ(code("{\"accuracy\":1e999}"), ErrorCode::corrupt);
  EXPECT_EQ(code("{\"partial\":1}"), ErrorCode::unsupported);
  EXPECT_EQ(code("{\"a\":" + std::string(100000, '[')), ErrorCode::limit_exceeded);
}

TEST_F(BaselineFile, of_predictions_counts_them) {
  const Baseline old = read(csv_text(digits(940)));
  EXPECT_EQ(old.accuracy, 0.94);
  EXPECT_EQ(old.statements.size(), 1000U);
}

}  // namespace
}  // namespace ckpt::eval
