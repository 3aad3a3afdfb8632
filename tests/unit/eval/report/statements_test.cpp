#include "report/statements.h"

#include <gtest/gtest.h>

#include <limits>

#include "eval/results.h"
#include "io/io_testing.h"

namespace ckpt::eval {
namespace {

using io_testing::error_of;

Result three() {
  Result out;
  out.signature = {{2}, 0, 1, 2, 3, "a,\""};
  out.predictions = {
      7, {0, 1, 2, 0, 1, 1}, {0, 1, 2, 2, -1, -1}, {0.5F, 0.1F, std::numeric_limits<float>::quiet_NaN()}, {}};
  return out;
}

TEST(Csv, has_a_line_a_sample_with_fields_quoted_where_needed) {
  EXPECT_EQ(csv_text(three()),
            "index,label,prediction,confidence\n"
            "7,\"a,\",\"a,\",0.5\n"
            "8,\"\"\"a\",\"\"\"\"\"\",0.1\n"
            "9,\",,\",??,nan\n");
}

TEST(Csv, reads_back_as_it_was_written) {
  const auto parsed = parse_csv(csv_text(three()), "old.csv");
  const auto expected = statements(three());
  ASSERT_EQ(parsed.size(), 3U);
  for (std::size_t at = 0; at < 3; ++at) {
    EXPECT_EQ(parsed[at].index, 7 + at);
    EXPECT_EQ(parsed[at].label, expected[at].label);
    EXPECT_EQ(parsed[at].prediction, expected[at].prediction);
  }
}

TEST(Csv, reads_lines_that_end_as_on_windows) {
  EXPECT_EQ(parse_csv("index,label,prediction,confidence\r\n0,7,7,0.5\r\n", "old.csv").at(0).label, "7");
}

TEST(Csv, names_the_line_that_it_does_not_understand) {
  const std::string head = "index,label,prediction,confidence\n0,1,1,0.5\n";
  for (const char* const line : {"x,1,1,0.5", "1,1,1", "1,1,1,0.5,9", "99999999999999999999,1,1,1", "1,\"1,1,1",
                                 "-1,1,1,1", "", "1,\"1\"1,1,1"}) {
    const auto error = error_of([&] { static_cast<void>(parse_csv(head + line + "\n", "old.csv")); });
    ASSERT_TRUE(error) << line;
    EXPECT_EQ(error->code(), ErrorCode::corrupt);
    EXPECT_NE(std::string(error->what()).find("old.csv: line 3 is"), std::string::npos) << error->what();
  }
}

TEST(Discordant, counts_what_was_lost_and_gained) {
  const std::vector<Statement> old{{0, "1", "1"}, {1, "2", "1"}, {2, "3", "3"}, {3, "4", "1"}};
  const std::vector<Statement> now{{0, "1", "7"}, {1, "2", "2"}, {2, "3", "3"}, {3, "4", "4"}};
  EXPECT_EQ(discordant(old, now).lost, 1U);
  EXPECT_EQ(discordant(old, now).gained, 2U);
}

TEST(Discordant, names_the_first_difference_of_the_samples) {
  const std::vector<Statement> old{{0, "1", "1"}, {1, "2", "2"}};
  const auto what = [&](const std::vector<Statement>& now) {
    const auto error = error_of([&] { static_cast<void>(discordant(old, now)); });
    return error ? std::string(error->what()) : "nothing";
  };
  EXPECT_EQ(what({{0, "1", "1"}, {2, "2", "2"}}), "has sample 1 where this run has sample 2");
  EXPECT_EQ(what({{0, "1", "1"}, {1, "3", "2"}}), "labels sample 1 \"2\", and this run's data \"3\"");
  EXPECT_EQ(what({{0, "1", "1"}}), "has 2 samples, and this run 1");
}

}  // namespace
}  // namespace ckpt::eval
