#include <gtest/gtest.h>

#include "ckpt/error.h"
#include "formats/torch_files.h"

namespace ckpt {
namespace {

using Names = std::vector<std::string>;
using torch_testing::checkpoint_of;
using torch_testing::names;
using torch_testing::weight;

TEST(TensorNames, ArePathsJoinedByDots) {
  const auto checkpoint = checkpoint_of(py::dict(
      {{py::str("optimizer"),
        py::dict({{py::str("state"), py::dict({{py::integer(0), py::dict({{py::str("exp_avg"), weight()}})}})}})},
       {py::str("net.fc"), weight()}}));
  EXPECT_EQ(names(checkpoint), (Names{"optimizer.state.0.exp_avg", "net.fc"}));
}

TEST(TensorNames, KeysThatAreNoStringsAreAsPythonPrintsThem) {
  const auto checkpoint = checkpoint_of(py::dict({{py::integer(-3), weight()},
                                                  {py::tuple({py::integer(1), py::str("a")}), weight()},
                                                  {py::tuple({py::integer(1)}), weight()},
                                                  {py::real(1), weight()},
                                                  {py::none(), weight()},
                                                  {py::boolean(true), weight()}}));
  EXPECT_EQ(names(checkpoint), (Names{"-3", "(1, 'a')", "(1,)", "1.0", "None", "True"}));
}

TEST(TensorNames, PositionsOfListsAndTuplesAreNumbers) {
  const auto checkpoint = checkpoint_of(py::list({py::none(), weight(), py::tuple({weight(), py::list({weight()})})}));
  EXPECT_EQ(names(checkpoint), (Names{"1", "2.0", "2.1.0"}));
}

/// Protocol 4 has opcodes for sets; before it a set is a call that is given a list.
TEST(TensorNames, MembersOfASetAreNumberedInEveryProtocol) {
  const std::string frozenset = "(" + py::none() + weight() + "\x91", members = py::list({py::none(), weight()});
  EXPECT_EQ(names(checkpoint_of(frozenset)), (Names{"1"}));
  EXPECT_EQ(names(checkpoint_of("\x8f(" + py::none() + weight() + "\x90")), (Names{"1"}));
  EXPECT_EQ(names(checkpoint_of(py::call(py::global("builtins", "frozenset"), {members}))), (Names{"1"}));
  EXPECT_EQ(names(checkpoint_of(py::call(py::global("__builtin__", "set"), {members}))), (Names{"1"}));
  EXPECT_EQ(names(checkpoint_of(py::call(py::global("__builtin__", "set"), {"(" + weight() + "l" + weight() + "a"}))),
            (Names{"0", "1"}));
  EXPECT_EQ(names(checkpoint_of(py::call(py::global("zoo", "set"), {members}))), (Names{"0.1"}));
}

TEST(TensorNames, AttributesStandByName) {
  const auto object = py::call(py::global("zoo", "Net"), {});
  const auto state = py::dict({{py::str("_parameters"), py::ordered_dict({{py::str("weight"), weight()}})}});
  EXPECT_EQ(names(checkpoint_of(py::build(object, state))), (Names{"_parameters.weight"}));
}

TEST(TensorNames, SlotsAreAttributesToo) {
  const auto object = py::call(py::global("zoo", "Net"), {});
  const auto both = py::tuple({py::dict({{py::str("a"), weight()}}), py::dict({{py::str("b"), weight()}})});
  EXPECT_EQ(names(checkpoint_of(py::build(object, both))), (Names{"a", "b"}));
  const auto slots = py::tuple({py::none(), py::dict({{py::str("b"), weight()}})});
  EXPECT_EQ(names(checkpoint_of(py::build(object, slots))), (Names{"b"}));
}

TEST(TensorNames, APairThatIsNoPairOfAttributesIsNamedState) {
  const auto object = py::call(py::global("zoo", "Net"), {});
  const auto pair = py::tuple({py::list({weight()}), py::dict({{py::str("b"), weight()}})});
  EXPECT_EQ(names(checkpoint_of(py::build(object, pair))), (Names{"state.0.0", "state.1.b"}));
}

TEST(TensorNames, StateOfAnotherShapeIsNamedState) {
  const auto object = py::call(py::global("zoo", "Net"), {});
  EXPECT_EQ(names(checkpoint_of(py::build(object, py::list({weight()})))), (Names{"state.0"}));
}

TEST(TensorNames, ArgumentsOfUnknownCallsAreNumbered) {
  const auto object =
      py::call(py::global("zoo", "Net"), {py::integer(1), weight(), py::dict({{py::str("w"), weight()}})});
  EXPECT_EQ(names(checkpoint_of(object)), (Names{"1", "2.w"}));
}

TEST(TensorNames, ArgumentsOfNewObjectsAreNamedTheSameInEveryProtocol) {
  const std::string name = "lab\nPair\n";
  const std::string newobj = "c" + name + py::tuple({weight()}) + "\x81";
  const std::string newobj_ex = "c" + name + py::tuple({weight()}) + py::dict({{py::str("bias"), weight()}}) + "\x92";
  for (const int protocol : {0, 1, 2, 3, 4}) {
    const auto names_in = [&](const std::string& object) {
      const auto checkpoint = checkpoint_of(object);
      return names(torch_testing::read_bytes(torch_testing::written_as(checkpoint, "torch", protocol)));
    };
    EXPECT_EQ(names_in(newobj), (Names{"0"})) << protocol;
    EXPECT_EQ(names_in(newobj_ex), (Names{"0", "bias"})) << protocol;
  }
}

TEST(TensorNames, ABareTensorsNameIsEmpty) { EXPECT_EQ(names(checkpoint_of(weight())), (Names{""})); }

TEST(TensorNames, TheEmptyKeyIsAPartLikeOthers) {
  const auto checkpoint = checkpoint_of(py::dict(
      {{py::str(""), py::dict({{py::str("x"), weight()}})}, {py::str("x"), py::dict({{py::str(""), weight()}})}}));
  EXPECT_EQ(names(checkpoint), (Names{".x", "x."}));
}

TEST(TensorNames, AWrappedTensorHasOneName) {
  const auto parameter =
      py::call(py::global("torch._utils", "_rebuild_parameter"), {weight(), py::boolean(true), py::ordered_dict({})});
  const auto checkpoint = checkpoint_of(py::dict({{py::str("w"), parameter}}));
  EXPECT_EQ(names(checkpoint), (Names{"w"}));
  EXPECT_EQ(tensor_names(checkpoint)[0].tensor->value, checkpoint.tensors[1].value);
}

TEST(TensorNames, ASecondTensorOfANameIsNumberedWithAWarning) {
  const auto checkpoint =
      checkpoint_of(py::dict({{py::integer(1), weight()}, {py::str("1"), weight()}, {py::tuple({}), py::none()}}));
  std::vector<std::string> warnings;
  EXPECT_EQ(names(checkpoint, &warnings), (Names{"1", "1#2"}));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0], "two tensors are named '1'; one is shown as '1#2'");
}

TEST(TensorNames, ATensorHeldTwiceHasTwoNames) {
  const auto checkpoint = checkpoint_of(py::dict({{py::str("a"), py::put(weight(), 9)}, {py::str("b"), py::get(9)}}));
  EXPECT_EQ(checkpoint.tensors.size(), 1U);
  const auto named = tensor_names(checkpoint);
  ASSERT_EQ(named.size(), 2U);
  EXPECT_EQ(named[0].name + named[1].name, "ab");
  EXPECT_EQ(named[0].tensor, named[1].tensor);
}

TEST(TensorNames, ASharedContainerIsWalkedOnceAPath) {
  const auto checkpoint =
      checkpoint_of(py::dict({{py::str("a"), py::put(py::list({weight()}), 9)}, {py::str("b"), py::get(9)}}));
  EXPECT_EQ(names(checkpoint), (Names{"a.0", "b.0"}));
}

TEST(TensorNames, AValueThatWasReplacedHasNone) {
  const auto checkpoint = checkpoint_of(py::dict({{py::str("a"), weight()}, {py::str("a"), py::list({weight()})}}));
  EXPECT_EQ(names(checkpoint), (Names{"a.0"}));
}

TEST(TensorNames, ACycleEnds) {
  const auto checkpoint = checkpoint_of(py::put("]", 9) + "(" + weight() + py::get(9) + "e");
  EXPECT_EQ(names(checkpoint), (Names{"0"}));
}

TEST(TensorNames, DepthTakesNoStack) {
  constexpr std::size_t depth = 200'000;
  std::string before, after;
  for (std::size_t i = 0; i < depth; ++i) before += "]", after += "a";
  EXPECT_EQ(names(checkpoint_of(before + weight() + after)).front().size(), 2 * depth - 1);
}

TEST(TensorNames, ExponentialSharingIsRefused) {
  py::Code code = py::put(py::list({weight()}), 0);
  for (std::uint8_t i = 1; i < 60; ++i) code += "0" + py::put(py::list({py::get(i - 1), py::get(i - 1)}), i);
  const auto checkpoint = checkpoint_of(code);
  const auto error = io_testing::error_of([&] { static_cast<void>(tensor_names(checkpoint)); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::limit_exceeded);
  EXPECT_EQ(error->file(), "test.pt");
}

TEST(TensorNames, NamesThatGrowWithTheSquareOfTheFileAreRefused) {
  constexpr std::size_t depth = 30'000;
  std::string before, after;
  for (std::size_t i = 0; i < depth; ++i) before += "](" + py::get(9), after += "e";
  const auto checkpoint = checkpoint_of(py::list({py::put(weight(), 9), before + after}));
  const auto error = io_testing::error_of([&] { static_cast<void>(tensor_names(checkpoint)); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::limit_exceeded);
}

TEST(TensorNames, ATensorMayHaveManyNames) {
  py::Code code = py::list({py::put(weight(), 9)}) + "(";
  for (int i = 0; i < 100'000; ++i) code += py::get(9);
  EXPECT_EQ(names(checkpoint_of(code + "e")).size(), 100'001U);
}

TEST(TensorNames, SharingWithoutTensorsCostsNothing) {
  py::Code code = py::put(py::list({py::none()}), 0);
  for (std::uint8_t i = 1; i < 60; ++i) code += "0" + py::put(py::list({py::get(i - 1), py::get(i - 1)}), i);
  EXPECT_EQ(names(checkpoint_of(py::list({code, weight()}))), (Names{"1"}));
}

TEST(DeviceOf, IsTheTagOfTheStorage) {
  const auto checkpoint =
      checkpoint_of(torch_testing::tensor(torch_testing::storage({.location = "cuda:1"}), {4}, {1}));
  EXPECT_EQ(device_of(checkpoint, checkpoint.tensors[0]), "cuda:1");
}

TEST(TensorNames, AKeyThatLooksLikeANumberedNameIsNumberedItself) {
  const auto checkpoint = checkpoint_of(py::dict({{py::str("x.y"), weight()},
                                                  {py::str("x"), py::dict({{py::str("y"), weight()}})},
                                                  {py::str("x.y#2"), weight()}}));
  EXPECT_EQ(names(checkpoint), (Names{"x.y", "x.y#2", "x.y#2#2"}));
}

}  // namespace
}  // namespace ckpt
