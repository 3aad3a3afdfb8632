#include "caps/caps_testing.h"
#include "ckpt/limits.h"
#include "eval/results.h"
#include "io/io_testing.h"
#include "report/files.h"
#include "report/json_depth.h"
#include "report/partial.h"

namespace ckpt::eval {
namespace {

using caps_testing::expect_past;
using caps_testing::expect_within;

TEST(Cap, evaluation_bytes) {
  const io_testing::TemporaryFolder folder;
  const std::string path = folder / "large.json";
  const auto read = [&](std::uint64_t size) {
    std::ofstream(path).close();
    std::filesystem::resize_file(path, size);
    static_cast<void>(read_text(path));
  };
  expect_within([&] { read(limits::evaluation_bytes); });
  expect_past([&] { read(limits::evaluation_bytes + 1); });
}

TEST(Cap, evaluation_depth) {
  expect_within([] { check_json_depth(std::string(limits::evaluation_depth, '[') + "\"[[\\\"[[\"]"); });
  expect_past([] { check_json_depth(std::string(limits::evaluation_depth + 1, '[')); });
}

/// A part of no samples, of such answers.
void parse(std::int64_t positions, std::int64_t classes) {
  Result result = eval_testing::part_of(eval_testing::digits(), 0, 1);
  result.signature.positions = positions;
  result.signature.classes = classes;
  result.counts = {};
  result.predictions = {};
  result.data_samples = 0;
  static_cast<void>(parse_part(partial_text(result), "part"));
}

TEST(Cap, confusion_cells) {
  // 4096 * 4096 is the cap.
  expect_within([&] { parse(1, 4096); });
  expect_past([&] { parse(1, 4097); });
}

TEST(Cap, answer_positions) {
  constexpr auto most = static_cast<std::int64_t>(limits::answer_positions);
  expect_within([&] { parse(most, 1); });
  expect_past([&] { parse(most + 1, 1); });
}

}  // namespace
}  // namespace ckpt::eval
