#include <gtest/gtest.h>

#include "ckpt/error.h"
#include "ckpt/ops.h"
#include "formats/torch_files.h"
#include "pickle/emitter.h"
#include "pickle/opcodes.h"
#include "pickle/scanner.h"

namespace ckpt {
namespace {

using Names = std::vector<std::string>;
using torch_testing::checkpoint_of;
using torch_testing::names;
using torch_testing::storage;
using torch_testing::tensor;
using torch_testing::weight;
using torch_testing::ZipFile;

const py::Code danger = py::call(py::global("os", "system"), {py::str("true")});

Checkpoint without(const Checkpoint& checkpoint, const std::string& glob) {
  return select(checkpoint, {.keep = {}, .drop = {glob}}).first;
}

/// Two tensors, "a" and "b", in storages "0" and "1", which hold 0, 1 and 2, 3.
Checkpoint two(const std::string& format = "") {
  const auto part = [](const std::string& key) { return tensor(storage({.key = key, .elements = 2}), {2}, {1}); };
  const auto checkpoint = torch_testing::read_bytes(bytes_of(
      ZipFile{.object = py::dict({{py::str("a"), part("0")}, {py::str("b"), part("1")}}),
              .data = {{"data/0", torch_testing::floats({0, 1})}, {"data/1", torch_testing::floats({2, 3})}}}));
  return format.empty() ? checkpoint : torch_testing::read_bytes(torch_testing::written_as(checkpoint, format));
}

TEST(Prune, TakesStoragesAway) {
  for (const char* format : {"torch", "torch-legacy"}) {
    const auto left = without(two(format), "a");
    ASSERT_EQ(left.storages.size(), 1U);
    EXPECT_EQ(left.storages[0].key, "1");
    EXPECT_EQ(torch_testing::values(left, 0), (std::vector<float>{2, 3}));
    for (const char* target : {"torch", "torch-legacy"}) {
      const auto back = torch_testing::read_bytes(torch_testing::written_as(left, target));
      EXPECT_EQ(names(back), (Names{"b"}));
      ASSERT_EQ(back.storages.size(), 1U);
      EXPECT_EQ(torch_testing::values(back, 0), (std::vector<float>{2, 3}));
    }
  }
}

TEST(Prune, KeepsAStorageThatAnotherTensorUses) {
  const auto code = py::dict({{py::str("a"), weight()}, {py::str("b"), tensor(storage(), {1}, {1}, 3)}});
  const auto left = without(checkpoint_of(code), "a");
  EXPECT_EQ(left.storages.size(), 1U);
  EXPECT_EQ(torch_testing::values(left, 0), (std::vector<float>{3}));
}

TEST(Prune, TakesTheGlobalsOfWhatGoes) {
  const auto checkpoint = checkpoint_of(py::dict({{py::str("w"), weight()}, {py::str("x"), danger}}));
  const auto left = without(checkpoint, "x");
  for (const GlobalUse& global : left.globals) EXPECT_NE(global.name, "system");
  EXPECT_EQ(left.globals.size() + 1, checkpoint.globals.size());
  torch_testing::written(left);  // not refused
}

TEST(Prune, KeepsAGlobalThatIsUsedElsewhere) {
  const auto checkpoint = checkpoint_of(
      py::dict({{py::str("w"), py::list({weight(), py::global("os", "system")})}, {py::str("x"), danger}}));
  EXPECT_TRUE(io_testing::error_of([&] { torch_testing::written(without(checkpoint, "x")); }));
}

TEST(Prune, KeepsAGlobalOfThePicklesAroundTheObject) {
  auto checkpoint = checkpoint_of(py::dict({{py::str("w"), weight()}, {py::str("x"), danger}}));
  checkpoint.globals.push_back({"os", "system", Verdict::dangerous, 7});
  checkpoint.globals.push_back({"os", "popen", Verdict::dangerous, 9});
  const auto left = without(checkpoint, "x");
  ASSERT_GE(left.globals.size(), 2U);
  EXPECT_EQ(left.globals[left.globals.size() - 2].offset, 7U);
  EXPECT_EQ(left.globals.back().name, "popen");
}

TEST(Prune, TakesExtensionCodes) {
  const auto left = without(checkpoint_of(py::dict({{py::str("w"), weight()}, {py::str("x"), "\x82\x07"}})), "x");
  for (const GlobalUse& global : left.globals) EXPECT_NE(global.module, "copyreg.extension");
}

/// A dict, before which the program has made and dropped a value.
py::Code after_dropping(const py::Code& dropped, const py::Code& root) {
  return dropped + std::string(1, static_cast<char>(pickle::POP)) + root;
}

TEST(Prune, TakesDroppedCallsThatTouchNothing) {
  const auto checkpoint =
      checkpoint_of(after_dropping(danger, py::dict({{py::str("w"), weight()}, {py::str("v"), weight()}})));
  ASSERT_EQ(checkpoint.discarded.size(), 1U);
  EXPECT_TRUE(without(checkpoint, "v").discarded.empty());
}

TEST(Prune, KeepsDroppedCallsThatTouchWhatStays) {
  const auto call = py::call(py::global("mylab", "fill"), {py::put(py::list({}), 7)});
  const auto code =
      after_dropping(call, py::dict({{py::str("w"), weight()}, {py::str("l"), py::get(7)}, {py::str("v"), weight()}}));
  ASSERT_EQ(checkpoint_of(code).discarded.size(), 1U);
  const auto back = torch_testing::read_bytes(torch_testing::written(without(checkpoint_of(code), "v")));
  EXPECT_EQ(back.discarded.size(), 1U);
  EXPECT_TRUE(without(checkpoint_of(code), "[lv]").discarded.empty()) << "nor where what it touches goes";
}

TEST(Prune, KeepsDroppedCallsThatAreGivenATupleThatStays) {
  const auto pair = py::put(py::tuple({py::list({})}), 7);
  const auto call = py::global("mylab", "fill") + pair + std::string(1, static_cast<char>(pickle::REDUCE));
  const auto code =
      after_dropping(call, py::dict({{py::str("w"), weight()}, {py::str("t"), py::get(7)}, {py::str("v"), weight()}}));
  EXPECT_EQ(without(checkpoint_of(code), "v").discarded.size(), 1U);
  EXPECT_TRUE(without(checkpoint_of(code), "[tv]").discarded.empty());
}

std::size_t count_opcodes(const Checkpoint& checkpoint, std::uint8_t code) {
  const std::string text = pickle::emit(checkpoint.values, checkpoint.root, {checkpoint.protocol, {}, {}});
  const auto source = torch_testing::source_of(io_testing::bytes_of(text));
  pickle::Scanner scanner(*source, 0);
  std::size_t count = 0;
  for (pickle::Op op = scanner.next(); op.code != pickle::STOP; op = scanner.next()) count += op.code == code ? 1 : 0;
  return count;
}

TEST(Prune, MakesWhatADroppedPartMadeWhereItIsNeededFirst) {
  // PyTorch's weights_only knows no POP, which making it early would take.
  const auto code = py::dict({{py::str("x"), py::dict({{py::str("s"), py::put(weight(), 9)}})},
                              {py::str("y"), py::dict({{py::str("a"), weight()}, {py::str("s"), py::get(9)}})}});
  const auto left = without(checkpoint_of(code), "x");
  EXPECT_EQ(names(left), (Names{"y.a", "y.s"}));
  EXPECT_EQ(count_opcodes(left, pickle::POP), 0U);
}

TEST(Prune, KeepsTheOrderOfChangesThatCameLate) {
  // l = []; o = Net(l); l.append(1): the call sees the empty list.
  const auto net = py::call(py::global("mylab", "Net"), {py::put(py::list({}), 5)});
  const auto code =
      py::dict({{py::str("v"), weight()}, {py::str("o"), net}, {py::str("l"), py::get(5) + py::integer(1) + "a"}});
  const auto back = torch_testing::read_bytes(torch_testing::written(without(checkpoint_of(code), "v")));
  std::size_t late = 0;
  for (ValueId id = 0; id < back.values.size(); ++id)
    for (auto handle = back.values.first_effect(id); handle != 0; handle = back.values.effect(handle).next)
      late += back.values.effect(handle).late ? 1 : 0;
  EXPECT_EQ(late, 1U);
}

}  // namespace
}  // namespace ckpt
