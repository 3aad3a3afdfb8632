#include "caps/caps_testing.h"
#include "ckpt/diff.h"
#include "ckpt/limits.h"
#include "ckpt/ops.h"
#include "formats/torch_files.h"
#include "model/walk.h"
#include "ops/entry_walk.h"
#include "ops/stats_passes.h"
#include "ops/tensor_bytes.h"
#include "ops/view_sweep.h"

namespace ckpt {
namespace {

using caps_testing::expect_past;
using caps_testing::expect_within;
using torch_testing::storage;
using torch_testing::tensor;

void read_tensor(std::size_t dimensions) {
  const std::vector<std::int64_t> ones(dimensions, 1);
  static_cast<void>(torch_testing::checkpoint_of(tensor(storage(), ones, ones)));
}

TEST(Cap, tensor_dimensions) {
  expect_within([] { read_tensor(limits::tensor_dimensions); });
  expect_past([] { read_tensor(limits::tensor_dimensions + 1); });
}

/// A list of so many tensors, all made of one call's arguments, and of so many lists. Returns how many values it makes.
std::uint64_t make_tensors(std::uint64_t tensors, std::uint64_t lists) {
  const py::Code whole = torch_testing::weight();
  const py::Code kind = py::global("torch._utils", "_rebuild_tensor_v2");
  py::Code code =
      "](" + py::put(kind, 7) + "0" + py::put(whole.substr(kind.size(), whole.size() - kind.size() - 1), 8) + "0";
  const py::Code again = py::get(7) + py::get(8) + "R";
  for (std::uint64_t i = 0; i < tensors; ++i) code += again;
  return torch_testing::checkpoint_of(code + std::string(lists, ']') + "e").values.size();
}

TEST(Cap, pickle_tensors) {
  const std::uint64_t others = make_tensors(1, 0) - 1;
  std::uint64_t most = limits::pickle_tensors;
  while (most < limits::pickle_tensor_cap(others + most)) ++most;
  expect_within([&] { make_tensors(most, 0); });
  expect_past([&] { make_tensors(most + 1, 0); });
}

TEST(Cap, pickle_values_a_tensor) {
  const std::uint64_t others = make_tensors(1, 0) - 1;
  std::uint64_t most = limits::pickle_tensors;
  while (most < limits::pickle_tensor_cap(others + most)) ++most;
  expect_within([&] { make_tensors(most + 1, 2 * limits::pickle_values_a_tensor); });
}

/// A list that holds `tensors` tensors, and the first of them again until there are `names` names.
void name_tensors(std::size_t tensors, std::size_t names) {
  py::Code code = "](" + py::put(torch_testing::weight(), 7);
  for (std::size_t i = 1; i < tensors; ++i) code += torch_testing::weight();
  for (std::size_t i = tensors; i < names; ++i) code += py::get(7);
  static_cast<void>(tensor_names(torch_testing::checkpoint_of(code + "e")));
}

TEST(Cap, tensor_names) {
  const std::size_t most = limits::tensor_names + limits::names_a_tensor;
  expect_within([&] { name_tensors(1, most); });
  expect_past([&] { name_tensors(1, most + 1); });
}

TEST(Cap, names_a_tensor) {
  const std::size_t most = limits::tensor_names + 5 * limits::names_a_tensor;
  expect_within([&] { name_tensors(5, most); });
  expect_past([&] { name_tensors(5, most + 1); });
}

// Names of 64 MiB would be held twice: the walk is given another cap.
TEST(Cap, tensor_name_bytes) {
  EXPECT_EQ(NameCaps().name_bytes, limits::tensor_name_bytes);
  NameCaps caps;
  caps.name_bytes = 7;
  const auto name = [&](const std::string& second) {
    const auto checkpoint = torch_testing::checkpoint_of(
        py::dict({{py::str("abc"), torch_testing::weight()}, {py::str(second), torch_testing::weight()}}));
    static_cast<void>(tensor_names_within(checkpoint, nullptr, caps));
  };
  expect_within([&] { name("defg"); });
  expect_past([&] { name("defgh"); });
}

TEST(Cap, walked_name_bytes) {
  const std::string name(limits::walked_name_bytes / 8, 'x');
  const auto walk = [&](int entries) {
    std::vector<std::pair<py::Code, py::Code>> below;
    for (int i = 0; i < entries; ++i) below.emplace_back(py::integer(i), py::none());
    const Checkpoint checkpoint = torch_testing::checkpoint_of(py::dict({{py::str(name), py::dict(below)}}));
    EntryWalk(checkpoint).run([](const EntryWalk::Place&) { return false; });
  };
  expect_within([&] { walk(6); });
  expect_past([&] { walk(7); });
}

// The names of a whole container are copied at once, those of what is no tensor too.
TEST(TensorNames, OfOtherValuesCountAgainstTheirCapToo) {
  NameCaps caps;
  caps.part_bytes = 7;
  const auto name = [&](const std::string& other) {
    const auto checkpoint = torch_testing::checkpoint_of(
        py::dict({{py::str(other), py::none()}, {py::str("abc"), torch_testing::weight()}}));
    static_cast<void>(tensor_names_within(checkpoint, nullptr, caps));
  };
  expect_within([&] { name("defg"); });
  expect_past([&] { name("defgh"); });
}

class NoVisitor final : public ViewVisitor {
  void begin(std::size_t, std::uint64_t) override {}
  void elements(std::span<const std::byte>, std::uint64_t) override {}
  void end() override {}
  void join() override {}
};

// 8 Mi steps take seconds: the sweep is given another cap.
TEST(Cap, sweep_steps) {
  EXPECT_EQ(SweepOptions().steps, limits::sweep_steps);
  const auto sweep_two_views = [](std::uint64_t steps) {
    const Checkpoint checkpoint =
        torch_testing::checkpoint_of(py::list({torch_testing::weight(), tensor(storage(), {2}, {2})}));
    std::vector<SweptView> views;
    for (const Tensor& each : checkpoint.tensors) {
      auto dense = dense_tensor(checkpoint, "w", each);
      const ViewRuns runs(checkpoint.storages[*each.storage], *dense->placed);
      views.push_back({*std::move(dense), runs});
    }
    sweep(checkpoint.storages, views, [] { return std::make_unique<NoVisitor>(); }, {.on_error = {}, .steps = steps});
  };
  expect_within([&] { sweep_two_views(2); });
  expect_past([&] { sweep_two_views(1); });
}

// What a comparison that goes past it says, Diff.StepsBeyondWhatTheFilesHoldAreRefused tells.
TEST(Cap, histogram_counts) {
  constexpr std::size_t bins = 1024, most = limits::histogram_counts / bins;
  expect_within([] { check_bins(most, bins); });
  expect_past([] { check_bins(most + 1, bins); });
}

TEST(Cap, diff_steps) { EXPECT_EQ(limits::diff_step_cap(0), limits::diff_steps); }

TEST(Cap, diff_steps_a_value) {
  EXPECT_EQ(limits::diff_step_cap(1000), limits::diff_steps + 1000 * limits::diff_steps_a_value);
}

// 4 Mi steps take most of a second (tests/bad has a file that asks for them): the walk is given another cap.
TEST(Cap, walk_steps) {
  EXPECT_EQ(NameCaps().steps, limits::walk_steps);
  NameCaps caps;
  caps.steps = 3;  // the list, and two of its items
  caps.steps_a_value = 0;
  const auto walk = [&](const std::vector<py::Code>& more) {
    std::vector<py::Code> items{torch_testing::weight(), py::none()};
    items.insert(items.end(), more.begin(), more.end());
    static_cast<void>(tensor_names_within(torch_testing::checkpoint_of(py::list(items)), nullptr, caps));
  };
  expect_within([&] { walk({}); });
  expect_past([&] { walk({py::none()}); });
}

// No value is walked twice.
TEST(Cap, walk_steps_a_value) {
  EXPECT_EQ(limits::walk_step_cap(1000), limits::walk_steps + 1000 * NameCaps().steps_a_value);
  const Checkpoint checkpoint = torch_testing::checkpoint_of(py::list({torch_testing::weight()}));
  NameCaps caps;
  caps.steps = 0;
  caps.steps_a_value = 1;
  expect_within([&] { static_cast<void>(tensor_names_within(checkpoint, nullptr, caps)); });
  caps.steps_a_value = 0;
  expect_past([&] { static_cast<void>(tensor_names_within(checkpoint, nullptr, caps)); });
  // Small integers are one value, in however many places they stand.
  py::Code labels = "](";
  for (std::uint64_t i = 0; i < limits::walk_steps + 100; ++i) labels += "K\7";
  const Checkpoint many =
      torch_testing::checkpoint_of(py::dict({{py::str("w"), torch_testing::weight()}, {py::str("l"), labels + "e"}}));
  expect_within([&] { static_cast<void>(select(many, {.keep = {}, .drop = {"none"}})); });
  expect_within([&] { static_cast<void>(diff(many, many)); });
}

void expand(std::uint64_t elements, std::uint64_t storage_bytes) {
  TensorInfo info;
  info.dtype = DType::uint8;
  info.shape = {static_cast<std::int64_t>(elements)};
  info.stride = {0};
  Storage storage;
  storage.nbytes = storage_bytes;
  check_expansion("w", info, storage);
}

TEST(Cap, expansion_floor) {
  expect_within([] { expand(limits::expansion_floor, 1); });
  expect_past([] { expand(limits::expansion_floor + 1, 1); });
}

TEST(Cap, expansion_ratio) {
  expect_within([] { expand(limits::expansion_ratio * limits::gib, limits::gib); });
  expect_past([] { expand(limits::expansion_ratio * limits::gib + 1, limits::gib); });
}

}  // namespace
}  // namespace ckpt
