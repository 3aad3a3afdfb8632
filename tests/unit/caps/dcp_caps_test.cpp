#include "caps/caps_testing.h"
#include "ckpt/folder_sink.h"
#include "ckpt/limits.h"
#include "dcp/dcp.h"
#include "dcp/record.h"
#include "dcp/steps.h"
#include "dcp/tiling.h"
#include "dcp/tree.h"

namespace ckpt::dcp {
namespace {

using caps_testing::expect_past;
using caps_testing::expect_within;

/// Rows take two steps each: themselves, and the cut behind them.
void tile_rows(std::uint64_t steps) {
  Steps left(0);
  const auto rows = static_cast<std::int64_t>(steps / 2);
  std::vector<std::int64_t> boxes;
  for (std::int64_t row = 0; row < rows; ++row) boxes.insert(boxes.end(), {row, 1});
  const std::int64_t shape[] = {rows};
  const Tiling tiling(shape, boxes, left);
  left.spend(steps % 2);
}

/// A list with so many places that hold nothing, and a path of two parts.
void leave_holes(std::uint64_t steps) {
  ValueGraph values;
  Steps left(0);
  Tree tree(left);
  const ValueId path[] = {values.make_str("l"), values.make_integer(static_cast<std::int64_t>(steps - 2))};
  tree.put(values, path, 0);
}

TEST(Cap, dcp_steps) {
  for (const auto& work : {tile_rows, leave_holes}) {
    expect_within([&] { work(limits::dcp_steps); });
    expect_past([&] { work(limits::dcp_steps + 1); });
  }
}

TEST(Cap, dcp_steps_an_item) {
  expect_within([] { Steps(3).spend(limits::dcp_steps + 3 * limits::dcp_steps_an_item); });
  expect_past([] { Steps(3).spend(limits::dcp_steps + 3 * limits::dcp_steps_an_item + 1); });
}

TEST(Cap, dcp_copies) {
  const auto write_one_text_as = [](std::uint64_t names) {
    Checkpoint checkpoint;
    const ValueId text = checkpoint.values.make_str(std::string(8 * limits::mib, 'x'));
    std::vector<ValueId> pairs;
    for (std::uint64_t i = 0; i < names; ++i)
      pairs.insert(pairs.end(), {checkpoint.values.make_str("n" + std::to_string(i)), text});
    checkpoint.root = checkpoint.values.make_container(ValueKind::dict, pairs);
    FolderSink sink(temporary_folder() + "/ckpt-caps", {.dry_run = true});
    static_cast<void>(dcp_format.write_folder(checkpoint, sink, {}));
  };
  expect_within([&] { write_one_text_as(limits::dcp_copies); });
  expect_past([&] { write_one_text_as(limits::dcp_copies + 1); });
}

TEST(Cap, dcp_record_fields) {
  const auto record_of = [](std::size_t fields) {
    ValueGraph values;
    std::vector<ValueId> pairs;
    for (std::size_t i = 0; i < fields; ++i)
      pairs.insert(pairs.end(), {values.make_str("f" + std::to_string(i)), values.make_none()});
    const ValueId state = values.make_container(ValueKind::dict, pairs);
    const ValueId object = values.make_container(ValueKind::dict);
    values.add_effect(object, EffectKind::build, std::span(&state, 1));
    static_cast<void>(Record(values, object));
  };
  expect_within([&] { record_of(limits::dcp_record_fields); });
  expect_past([&] { record_of(limits::dcp_record_fields + 1); });
}

}  // namespace
}  // namespace ckpt::dcp
