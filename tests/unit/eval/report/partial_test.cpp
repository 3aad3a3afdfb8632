#include "report/partial.h"

#include <gtest/gtest.h>

#include <limits>

#include "eval/results.h"
#include "io/io_testing.h"
#include "report/statements.h"

namespace ckpt::eval {
namespace {

using eval_testing::captchas;
using eval_testing::digits;
using eval_testing::part_of;
using io_testing::error_of;

/// Written and read.
Part part(const Result& whole, std::uint64_t index, std::uint64_t count) {
  return parse_part(partial_text(part_of(whole, index, count)), "part" + std::to_string(index) + ".json");
}

std::string replaced(std::string text, const std::string& old, const std::string& now) {
  const std::size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return at == std::string::npos ? text : text.replace(at, old.size(), now);
}

std::string what(const std::function<void()>& work) {
  const auto error = error_of(work);
  return error ? error->what() : "nothing was refused";
}

TEST(Partial, reads_back_as_it_was_written) {
  Result result = part_of(captchas(), 1, 3);
  result.warnings = {"a \"warning\" \x1b[31m"};
  result.layers = {"stem", "body.0"};
  result.predictions.truth[0] = std::numeric_limits<float>::quiet_NaN();
  const std::string text = partial_text(result);
  EXPECT_EQ(partial_text(parse_part(text, "part").result), text);
  EXPECT_EQ(parse_part(text, "part").first, 66U);
}

TEST(Partial, may_lack_the_layers) {
  const std::string text = replaced(partial_text(part_of(digits(), 0, 1)), "\"layers\":[],", "");
  EXPECT_TRUE(parse_part(text, "part").result.layers.empty());
}

TEST(Partial, keeps_integers_to_the_last_bit) {
  Result result = part_of(digits(), 0, 1);
  result.predictions = {};
  result.data_samples = result.counts.samples = UINT64_MAX;
  result.counts.correct = UINT64_MAX - 1;
  result.counts.confusion.assign(100, 0);
  result.counts.confusion[11] = UINT64_MAX - 1;
  const Result read = parse_part(partial_text(result), "part").result;
  EXPECT_EQ(read.counts.samples, UINT64_MAX);
  EXPECT_EQ(read.counts.correct, UINT64_MAX - 1);
  EXPECT_EQ(read.counts.confusion[11], UINT64_MAX - 1);
}

TEST(Partial, of_hostile_json_is_refused) {
  const std::string good = partial_text(part_of(digits(), 1, 4));
  static_cast<void>(parse_part(good, "part"));
  const auto expect = [&](const std::string& text, ErrorCode code) {
    const auto error = error_of([&] { static_cast<void>(parse_part(text, "part")); });
    ASSERT_TRUE(error) << text.substr(0, 300);
    EXPECT_EQ(error->code(), code) << error->what();
    EXPECT_EQ(error->file(), "part");
  };
  const auto broken = [&](const std::string& old, const std::string& now) {
    expect(replaced(good, old, now), ErrorCode::corrupt);
  };
  expect("", ErrorCode::corrupt);
  expect("{\"partial\":1", ErrorCode::corrupt);
  expect("[]", ErrorCode::unsupported);
  expect("{}", ErrorCode::unsupported);
  expect("{\"partial\":1}", ErrorCode::unsupported);
  expect("{\"partial\":" + std::string(1000000, '['), ErrorCode::limit_exceeded);
  broken("\"samples\":250", "\"samples\":-1");
  broken("\"samples\":250", "\"samples\":250.0");
  broken("\"samples\":250", "\"samples\":18446744073709551616");
  broken("\"samples\":250", "\"samples\":1e400");
  broken("\"samples\":250", "\"samples\":\"250\"");
  broken("\"samples\":250", "\"samples\":null");
  broken("\"samples\":250", "\"samples\":251");
  broken("\"samples\":250,", "");
  broken("\"first\":250", "\"first\":249");
  broken("\"first\":250", "\"first\":18446744073709551615");
  broken("\"correct\":250", "\"correct\":251");
  broken("\"correct\":250", "\"correct\":249");
  broken("\"not_finite\":0", "\"not_finite\":1");
  broken("\"shard\":{\"index\":1,\"count\":4}", "\"shard\":{\"index\":1,\"count\":0}");
  broken("\"shard\":{\"index\":1,\"count\":4}", "\"shard\":{\"index\":4,\"count\":4}");
  broken("\"shard\":{\"index\":1,\"count\":4}", "\"shard\":7");
  broken("\"confusion\":[[0,0,0,25]", "\"confusion\":[[0,0,0,26]");
  broken("\"confusion\":[[0,0,0,25]", "\"confusion\":[[0,0,0,18446744073709551615]");
  broken("\"confusion\":[[0,0,0,25]", "\"confusion\":[[0,0,10,25]");
  broken("\"confusion\":[[0,0,0,25]", "\"confusion\":[[1,0,0,25]");
  broken("\"confusion\":[[0,0,0,25]", "\"confusion\":[[0,0,25]");
  broken("\"confusion\":[[0,0,0,25]", "\"confusion\":[{}");
  broken("\"labels\":[0,", "\"labels\":[");
  broken("\"labels\":[0,", "\"labels\":[10,");
  broken("\"labels\":[0,", "\"labels\":[-2,");
  broken("\"labels\":[0,", "\"labels\":[18446744073709551615,");
  broken("\"labels\":[", "\"labels\":3,\"x\":[");
  broken("\"labels\":[0,", "\"labels\":[1,");
  broken("\"predicted\":[0,", "\"predicted\":[1,");
  broken("\"predicted\":[0,", "\"predicted\":[-1,");
  broken("\"truth\":[0.99,", "\"truth\":[\"a\",");
  broken("\"truth\":[0.99,", "\"truth\":[1e300,");
  broken("\"data_digest\":\"", "\"data_digest\":\"g");
  broken("\"warnings\":[]", "\"warnings\":[1]");
  broken("\"layers\":[]", "\"layers\":[1]");
  broken("\"alphabet\":\"\"", "\"alphabet\":{}");
  expect(replaced(good, "\"positions\":1,\"classes\":10", "\"positions\":1,\"classes\":100000"),
         ErrorCode::limit_exceeded);
  expect(replaced(good, "\"positions\":1,\"classes\":10", "\"positions\":16777216,\"classes\":4096"),
         ErrorCode::limit_exceeded);
  expect(replaced(good, "\"positions\":1,\"classes\":10", "\"positions\":0,\"classes\":10"), ErrorCode::limit_exceeded);
}

TEST(Partial, of_an_alphabet_that_is_none_is_refused) {
  const std::string good = partial_text(part_of(captchas(), 0, 1));
  const std::string letters = "\"alphabet\":\"a";
  static_cast<void>(parse_part(replaced(good, letters, "\"alphabet\":\"A"), "part"));
  for (const char* const first : {"", "ab", "\xc3\xa9", "\\u001b", " "})
    EXPECT_THROW(static_cast<void>(parse_part(replaced(good, letters, std::string("\"alphabet\":\"") + first), "part")),
                 Error)
        << first;
}

TEST(Partial, that_is_refused_is_told_what_it_holds) {
  const std::string good = partial_text(part_of(digits(), 1, 4));
  const auto said = [&](const std::string& old, const std::string& now) {
    return what([&] { static_cast<void>(parse_part(replaced(good, old, now), "part")); });
  };
  EXPECT_EQ(said("\"samples\":250", "\"samples\":-1"), "part: samples is -1, expected an integer from 0 to 1,000");
  EXPECT_EQ(said("\"samples\":250", "\"samples\":\"a\""),
            "part: samples is a string, expected an integer from 0 to 1,000");
  EXPECT_EQ(said("\"warnings\":[]", "\"warnings\":{}"), "part: warnings is an object, expected an array");
  EXPECT_EQ(said("\"labels\":[0,", "\"labels\":["), "part: contradicts itself: labels has 249 numbers, expected 250");
}

TEST(Partial, that_is_refused_comes_with_the_command_that_makes_it) {
  for (const char* text : {"", "[]", "{\"partial\":2}"}) {
    const auto error = error_of([&] { static_cast<void>(parse_part(text, "p 1.json")); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->hint(), "make the part anew: ckpt eval MODEL --data PATH --shard i/N > part.json");
  }
}

TEST(Merge, of_any_order_is_the_whole) {
  const Result whole = captchas();
  const Result merged = merge({part(whole, 2, 3), part(whole, 0, 3), part(whole, 1, 3)});
  EXPECT_EQ(merged.counts.samples, 200U);
  EXPECT_EQ(merged.counts.correct, 198U);
  EXPECT_EQ(merged.counts.confusion, whole.counts.confusion);
  EXPECT_EQ(csv_text(merged), csv_text(whole));
  EXPECT_EQ(merged.data_digest, part(whole, 0, 1).result.data_digest);
  EXPECT_FALSE(merged.shard);
}

TEST(Merge, takes_parts_of_different_sizes_that_fit) {
  const Result whole = digits();
  EXPECT_EQ(merge({part(whole, 1, 2), part(whole, 0, 4), part(whole, 1, 4)}).counts.correct, 970U);
}

TEST(Merge, takes_shards_that_got_no_sample) {
  Result few = captchas();
  few.data_samples = 2;
  std::vector<Part> parts;
  for (std::uint64_t index = 0; index < 5; ++index) parts.push_back(part(few, index, 5));
  EXPECT_EQ(merge(parts).counts.samples, 2U);
}

TEST(Merge, adds_up_measures) {
  std::vector<Part> parts{part(digits(), 0, 2), part(digits(), 1, 2)};
  parts[1].result.device = "cuda:0";
  parts[1].result.seconds.run = 9;
  parts[1].result.host_peak = 7;
  parts[0].result.warnings = parts[1].result.warnings = {"f16 weights were widened"};
  const Result merged = merge(parts);
  EXPECT_EQ(merged.device, "cpu, cuda:0");
  EXPECT_EQ(merged.seconds.run, 9);
  EXPECT_EQ(merged.seconds.read, 0.125);
  EXPECT_EQ(merged.host_peak, 120'000'000U);
  EXPECT_EQ(merged.ranks, 2U);
  EXPECT_EQ(merged.warnings.size(), 1U);
}

TEST(Merge, leaves_predictions_out_where_a_part_has_none) {
  std::vector<Part> parts{part(digits(), 0, 2), part(digits(), 1, 2)};
  parts[1].result.predictions = {};
  EXPECT_TRUE(merge(parts).predictions.labels.empty());
}

TEST(Merge, names_the_settings_that_made_the_parts) {
  Result whole = digits();
  whole.arch = "mlp", whole.activation = "tanh";
  whole.signature.mean = 0.5, whole.signature.std = 1e-5;
  EXPECT_EQ(error_of([&] { static_cast<void>(merge({part(whole, 0, 2)})); })->hint(),
            "make the part that is missing: ckpt eval fnn.pt.gz --data data/MNIST/raw --arch mlp --activation tanh "
            "--normalize 0.5,1e-05 --predictions FILE.csv --shard 1/2");
  whole = digits();
  whole.precision = "bf16";
  Options options;
  options.root = "of two", options.split = "training";
  const Part half = parse_part(partial_text(part_of(whole, 0, 2), options), "part0.json");
  EXPECT_EQ(error_of([&] { static_cast<void>(merge({half})); })->hint(),
            "make the part that is missing: ckpt eval fnn.pt.gz --data data/MNIST/raw --split training --root 'of two' "
            "--bf16 --predictions FILE.csv --shard 1/2");
}

TEST(Merge, names_samples_that_are_missing_and_the_command_that_makes_them) {
  const Result whole = digits();
  const auto merge_of = [&](std::vector<std::uint64_t> indices) {
    return error_of([&] {
      std::vector<Part> parts;
      for (const std::uint64_t index : indices) parts.push_back(part(whole, index, 4));
      static_cast<void>(merge(parts));
    });
  };
  const auto middle = merge_of({0, 1, 3}), first = merge_of({1, 2, 3}), last = merge_of({2, 1, 0});
  ASSERT_TRUE(middle && first && last);
  EXPECT_EQ(middle->code(), ErrorCode::invalid_argument);
  EXPECT_STREQ(middle->what(), "samples 500 to 749 of data/MNIST/raw are in no part");
  EXPECT_EQ(
      middle->hint(),
      "make the part that is missing: ckpt eval fnn.pt.gz --data data/MNIST/raw --predictions FILE.csv --shard 2/4");
  EXPECT_STREQ(first->what(), "samples 0 to 249 of data/MNIST/raw are in no part");
  EXPECT_STREQ(last->what(), "samples 750 to 999 of data/MNIST/raw are in no part");
}

TEST(Merge, names_the_files_of_samples_that_are_in_two) {
  const Result whole = digits();
  EXPECT_EQ(what([&] {
              static_cast<void>(merge({part(whole, 0, 2), part(whole, 1, 2), part(whole, 1, 2)}));
            }),
            "part1.json and part1.json both hold samples 500 to 999");
  EXPECT_EQ(what([&] {
              static_cast<void>(merge({part(whole, 0, 2), part(whole, 1, 3), part(whole, 2, 3)}));
            }),
            "part0.json and part1.json both hold samples 333 to 499");
}

TEST(Merge, names_the_files_of_parts_that_do_not_belong_together) {
  const auto with = [](const std::function<void(Result&)>& change) {
    std::vector<Part> parts{part(digits(), 0, 2), part(digits(), 1, 2)};
    change(parts[1].result);
    return what([&] { static_cast<void>(merge(parts)); });
  };
  EXPECT_EQ(with([](Result& r) { r.digest = "beef"; }),
            "part0.json and part1.json are parts of different models: " + std::string(64, 'a') + " and beef");
  EXPECT_EQ(with([](Result& r) { r.version = "9.9"; }),
            "part0.json and part1.json are parts of different versions of ckpt: 0.1.0 and 9.9");
  EXPECT_EQ(with([](Result& r) { r.arch = "mlp"; }),
            "part0.json and part1.json are parts of different architectures: fnn and mlp");
  EXPECT_EQ(with([](Result& r) { r.data_samples = 4; }),
            "part0.json and part1.json are parts of different data: data/MNIST/raw (1000 samples, first and labels "
            "cccccccc) and data/MNIST/raw (4 samples, first and labels cccccccc)");
  EXPECT_EQ(with([](Result& r) { r.data = "other", r.data_fingerprint = std::string(64, 'd'); }),
            "part0.json and part1.json are parts of different data: data/MNIST/raw (1000 samples, first and labels "
            "cccccccc) and other (1000 samples, first and labels dddddddd)");
  EXPECT_EQ(with([](Result& r) { r.activation = "tanh"; }),
            "part0.json and part1.json are parts of different activations:  and tanh");
  EXPECT_EQ(with([](Result& r) {
              r.layers = {"a", "b"};
            }),
            "part0.json and part1.json are parts of different orders of layers:  and a, b");
  EXPECT_EQ(with([](Result& r) { r.precision = "bf16"; }),
            "part0.json and part1.json are parts of different precisions: float32 and bf16");
  EXPECT_EQ(
      with([](Result& r) { r.signature.mean = 1e-9; }),
      "part0.json and part1.json are parts of different normalisations: 0.130700, 0.308100 and 0.000000, 0.308100");
  EXPECT_EQ(with([](Result& r) { r.signature.classes = 11; }),
            "part0.json and part1.json are parts of different outputs: 1 x 10 of \"\" and 1 x 11 of \"\"");
}

TEST(Merge, of_nothing_is_refused) {
  EXPECT_EQ(what([] { static_cast<void>(merge({})); }), "there are no parts to join");
}

TEST(Shard, splits_without_remainder_or_overflow) {
  EXPECT_EQ((Shard{1, 3}.begin(10)), 3U);
  EXPECT_EQ((Shard{3, 3}.begin(10)), 10U);
  EXPECT_EQ((Shard{UINT64_MAX, UINT64_MAX}.begin(UINT64_MAX)), UINT64_MAX);
  EXPECT_THROW(static_cast<void>(Shard{0, 0}.begin(10)), Error);
}

}  // namespace
}  // namespace ckpt::eval
