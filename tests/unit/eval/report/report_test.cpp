#include "report/report.h"

#include <gtest/gtest.h>

#include <limits>

#include "eval/results.h"
#include "io/io_testing.h"
#include "report/words.h"

namespace ckpt::eval {
namespace {

using eval_testing::captchas;
using eval_testing::digits;

Bars failing() {
  Bars bars;
  bars.min_accuracy = 0.99;
  return bars;
}

/// A result whose every text comes from someone who means harm.
Result hostile() {
  Result out = digits();
  const std::string text = "</script><b a='\"&>|`*_\x1b[31m\x01\xff\xe2\x80\xae";
  out.model = out.data = out.device = out.machine = out.digest = text;
  out.warnings = {text};
  return out;
}

TEST(Words, never_round_to_all_or_nothing_what_is_neither) {
  EXPECT_EQ(percent_text(0.9771), "97.71 %");
  EXPECT_EQ(percent_text(1), "100.00 %");
  EXPECT_EQ(percent_text(0.99999), "99.999 %");
  EXPECT_EQ(percent_text(0.9999999), "99.99999 %");
  EXPECT_EQ(percent_text(0), "0.00 %");
  EXPECT_EQ(percent_text(0.00001), "0.001 %");
  EXPECT_EQ(percent_text(std::numeric_limits<double>::quiet_NaN()), "unknown");
}

TEST(Words, list_the_lowest_of_many_classes) {
  Result result = captchas();
  result.signature.positions = 1;
  result.counts.confusion.resize(std::size_t{36} * 36);
  const auto rows = part_rows(result, 3);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].name, "class d");
  EXPECT_EQ(rows[3].detail, "33, none of them lower");
}

TEST(TableText, of_classes) {
  EXPECT_EQ(table_text(digits(), judge(digits(), failing()), {}),
            R"(fnn.pt.gz: fnn on data/MNIST/raw

accuracy          97.00 %   970 of 1,000, 95 % interval 95.75 % to 97.89 %
class 0           97.00 %   97 of 100
class 1           97.00 %   97 of 100
class 2           97.00 %   97 of 100
class 3           97.00 %   97 of 100
class 4           97.00 %   97 of 100
class 5           97.00 %   97 of 100
class 6           97.00 %   97 of 100
class 7           97.00 %   97 of 100
class 8           97.00 %   97 of 100
class 9           97.00 %   97 of 100
samples a second  4,000     while the model ran
time              0.42 s    start 0.05 s, read 0.12 s, upload 0.00 s, run 0.25 s
memory            120.0 MB  at most
device            cpu       a processor, 2 cores

passed: all outputs are finite
FAILED: accuracy 97.00 % (970 of 1,000) is below 99.00 %
)");
}

TEST(TableText, of_positions_and_a_shard) {
  Result result = captchas();
  result.data_samples = 400;
  result.warnings = {"float16 weights were widened"};
  EXPECT_EQ(table_text(result, judge(result, {}), {}),
            R"(captcha.pt: captcha-resnet on captchas, 200 of its 400 samples

accuracy          99.00 %   198 of 200, 95 % interval 96.43 % to 99.73 %
position 1        99.50 %   199 of 200
position 2        100.00 %  200 of 200
position 3        100.00 %  200 of 200
position 4        99.50 %   199 of 200
samples a second  800       while the model ran
time              0.42 s    start 0.05 s, read 0.12 s, upload 0.00 s, run 0.25 s
memory            120.0 MB  at most
device            cpu       a processor, 2 cores

passed: all outputs are finite
)");
}

TEST(TableText, of_hostile_texts_steers_no_terminal) {
  Result result = digits();
  result.model = result.arch = result.data = result.device = result.machine = "\x1b[2J";
  const std::string text = table_text(result, judge(result, {}), {});
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
}

TEST(TableText, lists_the_lowest_of_many_positions) {
  Result result = captchas();
  result.signature.positions = 1000;
  result.counts.confusion.resize(1000 * 36 * 36);
  EXPECT_EQ(part_rows(result, 12).size(), 13U);
  EXPECT_EQ(part_rows(result, 12).back().name, "other positions");
}

TEST(JsonText, has_the_keys_of_the_manual_in_their_order) {
  Result result = captchas();
  result.signature = {{3}, 0, 1, 2, 2, "ab"};
  result.counts = {10, 5, 1, {4, 1, 2, 2, 3, 0, 0, 6}};
  result.shard = Shard{1, 20};
  Bars bars;
  bars.max_drop = 0.25;
  bars.baseline = {BaselineKind::predictions, "old.csv", 0.75, "", {}};
  result.digest = "short";
  result.data_digest = "digests";
  EXPECT_EQ(
      json_text(result, judge(result, bars)),
      R"({"model":"captcha.pt","digest":"short","data":"captchas","data_digest":"digests","version":"0.1.0","arch":"captcha-resnet","device":"cpu","precision":"float32",)"
      R"("samples":10,"correct":5,"accuracy":0.5,"interval":[0.236593090512564,0.763406909487436],"per_class":[{"class":"a",)"
      R"("samples":8,"correct":7,"accuracy":0.875},{"class":"b",)"
      R"("samples":10,"correct":8,"accuracy":0.8}],)"
      R"("per_position":[{"position":1,)"
      R"("samples":10,"correct":6,"accuracy":0.6},{"position":2,)"
      R"("samples":10,"correct":9,"accuracy":0.9}],)"
      R"("seconds":{"start":0.05,"read":0.125,"upload":0.0,"run":0.25},"samples_per_second":40.0,"warnings":[],)"
      R"("not_finite":1,"memory":{"host":120000000,"gpu":0},"ranks":1,"shard":{"index":1,"count":20},"data_samples":200,)"
      R"("baseline":{"file":"old.csv","kind":"predictions","accuracy":0.75,"drop":0.25,"same_data":null,"lost":null,"gained":null,"p":null},"verdict":{"passed":false,"failures":["1 of 10 samples have NaN or infinity among their outputs"]}}
)");
}

TEST(JsonText, says_null_where_there_is_no_number) {
  Result result = digits();
  result.counts = {};
  result.seconds.run = 0;
  const std::string text = json_text(result, judge(result, {}));
  EXPECT_NE(text.find("\"accuracy\":null,\"interval\":[0.0,1.0]"), std::string::npos) << text;
  EXPECT_NE(text.find("\"samples_per_second\":null"), std::string::npos);
}

TEST(JsonText, shows_what_hides) {
  const std::string text = json_text(hostile(), {});
  EXPECT_NE(text.find("\\u001b[31m\\u0001\\\\xff\\u202e"), std::string::npos) << text.substr(0, 200);
}

TEST(JUnitText, has_a_case_a_check) {
  EXPECT_EQ(junit_text(digits(), judge(digits(), failing())),
            R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3" failures="1" errors="0" skipped="0" time="0.425">
  <testsuite name="ckpt eval fnn.pt.gz" tests="3" failures="1" errors="0" skipped="0" time="0.425">
    <properties>
      <property name="accuracy" value="0.970000"/>
      <property name="correct" value="970"/>
      <property name="samples" value="1000"/>
      <property name="data" value="data/MNIST/raw"/>
      <property name="device" value="cpu"/>
      <property name="digest" value="aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"/>
      <property name="data_digest" value="bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"/>
      <property name="version" value="0.1.0"/>
    </properties>
    <testcase classname="ckpt.eval.fnn.pt.gz" name="loads into fnn" time="0.425"/>
    <testcase classname="ckpt.eval.fnn.pt.gz" name="outputs are finite" time="0.000"/>
    <testcase classname="ckpt.eval.fnn.pt.gz" name="accuracy reaches the bar" time="0.000">
      <failure type="verdict" message="accuracy 97.00 % (970 of 1,000) is below 99.00 %"/>
    </testcase>
  </testsuite>
</testsuites>
)");
}

TEST(JUnitText, has_the_warnings) {
  Result result = digits();
  result.warnings = {"a < b", "c"};
  EXPECT_NE(junit_text(result, judge(result, {}))
                .find("    <system-err>warning: a &lt; b\nwarning: c\n</system-err>\n  </testsuite>"),
            std::string::npos);
}

TEST(JUnitText, of_a_model_that_does_not_load) {
  const auto error =
      Error(ErrorCode::unsupported, "Missing key(s) in state_dict: \"fc.weight\"").in("m.pt").hint("ckpt inspect m.pt");
  EXPECT_EQ(junit_text("m.pt", error),
            R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="1" failures="1" errors="0" skipped="0" time="0.000">
  <testsuite name="ckpt eval m.pt" tests="1" failures="1" errors="0" skipped="0" time="0.000">
    <testcase classname="ckpt.eval.m.pt" name="loads" time="0.000">
      <failure type="error" message="m.pt: Missing key(s) in state_dict: &quot;fc.weight&quot;; hint: ckpt inspect m.pt"/>
    </testcase>
  </testsuite>
</testsuites>
)");
}

TEST(JUnitText, spells_out_what_xml_cannot_say) {
  const std::string text = junit_text(hostile(), judge(hostile(), {}));
  EXPECT_NE(text.find("&lt;/script&gt;&lt;b a=&#39;&quot;&amp;&gt;|`*_\\x1b[31m\\x01\\xff\\u202e"), std::string::npos)
      << text.substr(0, 300);
}

TEST(MarkdownText, of_classes) {
  EXPECT_EQ(markdown_text(digits(), judge(digits(), failing())),
            R"(### ❌ fnn.pt.gz: 97.00 %

- ✅ all outputs are finite
- ❌ accuracy 97.00 % (970 of 1,000) is below 99.00 %

| fnn on data/MNIST/raw | | |
|---|--:|---|
| accuracy | 97.00 % | 970 of 1,000, 95 % interval 95.75 % to 97.89 % |
| samples a second | 4,000 | while the model ran |
| time | 0.42 s | start 0.05 s, read 0.12 s, upload 0.00 s, run 0.25 s |
| memory | 120.0 MB | at most |
| device | cpu | a processor, 2 cores |

<details><summary>Accuracy of the parts</summary>

| part | accuracy | |
|---|--:|---|
| class 0 | 97.00 % | 97 of 100 |
| class 1 | 97.00 % | 97 of 100 |
| class 2 | 97.00 % | 97 of 100 |
| class 3 | 97.00 % | 97 of 100 |
| class 4 | 97.00 % | 97 of 100 |
| class 5 | 97.00 % | 97 of 100 |
| class 6 | 97.00 % | 97 of 100 |
| class 7 | 97.00 % | 97 of 100 |
| class 8 | 97.00 % | 97 of 100 |
| class 9 | 97.00 % | 97 of 100 |

</details>

Weights `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`, data `bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb`, ckpt 0.1.0
)");
}

TEST(MarkdownText, leaves_no_markup_to_files) {
  const std::string text = markdown_text(hostile(), judge(hostile(), {}));
  EXPECT_EQ(text.find("<b"), std::string::npos);
  EXPECT_NE(text.find("&gt;&#124;&#96;&#42;&#95;"), std::string::npos) << text.substr(0, 300);
}

}  // namespace
}  // namespace ckpt::eval
