#include <gtest/gtest.h>

#include <limits>

#include "ckpt/diff.h"
#include "ckpt/error.h"
#include "formats/torch_files.h"

/// What is no tensor, in `diff`.
namespace ckpt {
namespace {

using Names = std::vector<std::string>;

/// What differs in two objects without tensors: "path: a -> b", "-" for what is not there.
Names others(const py::Code& a, const py::Code& b) {
  const CheckpointDiff found = diff(torch_testing::checkpoint_of(a), torch_testing::checkpoint_of(b));
  Names lines;
  for (const OtherDifference& other : found.other)
    lines.push_back(other.path + ": " + other.a.value_or("-") + " -> " + other.b.value_or("-"));
  for (const std::string& path : found.reordered) lines.push_back("order of " + path);
  return lines;
}

py::Code in_dict(const py::Code& value) { return py::dict({{py::str("x"), value}}); }

TEST(Diff, OtherValuesAreToldByTheirPath) {
  const auto object = [](double lr, const py::Code& more) {
    return py::dict({{py::str("groups"), py::list({py::dict({{py::str("lr"), py::real(lr)}})})}, {py::str("m"), more}});
  };
  EXPECT_EQ(others(object(0.1, py::none()), object(0.2, py::none())), (Names{"groups.0.lr: 0.1 -> 0.2"}));
  EXPECT_EQ(others(object(0.1, py::none()), object(0.1, py::integer(0))), (Names{"m: None -> 0"}));
}

TEST(Diff, TypesDifferThoughPythonCallsTheValuesEqual) {
  EXPECT_EQ(others(in_dict(py::integer(1)), in_dict(py::real(1))), (Names{"x: 1 -> 1.0"}));
  EXPECT_EQ(others(in_dict(py::integer(1)), in_dict(py::boolean(true))), (Names{"x: 1 -> True"}));
  EXPECT_EQ(others(in_dict(py::list({})), in_dict(py::tuple({}))), (Names{"x: list of 0 -> ()"}));
  EXPECT_EQ(others(py::dict({}), py::ordered_dict({})), (Names{": dict of 0 -> collections.OrderedDict of 0"}));
}

TEST(Diff, WhatBothHoldIsComparedAcrossTypes) {
  EXPECT_EQ(others(py::dict({{py::str("a"), py::integer(1)}}), py::ordered_dict({{py::str("a"), py::integer(2)}})),
            (Names{": dict of 1 -> collections.OrderedDict of 1", "a: 1 -> 2"}));
}

TEST(Diff, AdditionsAndRemovals) {
  EXPECT_EQ(others(py::list({py::integer(1), py::integer(2)}), py::list({py::integer(1)})), (Names{"1: 2 -> -"}));
  EXPECT_EQ(others(py::dict({}), in_dict(py::str("y"))), (Names{"x: - -> 'y'"}));
}

TEST(Diff, AnotherOrderOfKeysIsARemark) {
  const py::Code a = py::str("a"), b = py::str("b"), one = py::integer(1);
  EXPECT_EQ(others(in_dict(py::dict({{a, one}, {b, one}})), in_dict(py::dict({{b, one}, {a, one}}))),
            (Names{"order of x"}));
}

TEST(Diff, KeysOfOtherTypesAreOtherKeys) {
  const py::Code value = py::none();
  EXPECT_EQ(others(py::dict({{py::integer(1), value}}), py::dict({{py::str("1"), value}})),
            (Names{"1: None -> -", "1: - -> None"}));
}

TEST(Diff, KeysThatOnlyCodeCouldPrintAreComparedAsValues) {
  const auto colour = [](const char* name) {
    return py::dict({{py::call(py::global("lab", "Colour"), {py::str(name)}), py::none()}});
  };
  EXPECT_EQ(others(colour("red"), colour("red")), Names{});
  EXPECT_EQ(others(colour("red"), colour("blue")), (Names{"<object>.0: 'red' -> 'blue'"}));
}

TEST(Diff, AttributesAndArgumentsOfCallsCount) {
  const auto object = [](std::int64_t argument, std::int64_t attribute) {
    return in_dict(py::build(py::call(py::global("lab", "Net"), {py::integer(argument)}),
                             py::dict({{py::str("width"), py::integer(attribute)}})));
  };
  EXPECT_EQ(others(object(1, 2), object(1, 3)), (Names{"x.width: 2 -> 3"}));
  EXPECT_EQ(others(object(1, 2), object(4, 2)), (Names{"x.0: 1 -> 4"}));
  EXPECT_EQ(others(in_dict(py::call(py::global("lab", "Net"), {})), in_dict(py::call(py::global("lab", "Web"), {}))),
            (Names{"x: lab.Net -> lab.Web"}));
}

TEST(Diff, ValuesThatHoldThemselvesEnd) {
  // l = []; l.append(l); and with one more list in between.
  const py::Code direct = py::put("]", 0) + py::get(0) + "a";
  const py::Code around = py::put("]", 0) + "(" + "]" + py::get(0) + "a" + "1" + "]" + py::get(0) + "aa";
  EXPECT_EQ(others(direct, direct), Names{});
  EXPECT_EQ(others(direct, around), Names{}) << "no walk can tell them apart";
}

TEST(Diff, ContainersSharedExponentiallyEnd) {
  py::Code code = "]";
  for (int i = 0; i < 60; ++i)
    code = "]" + py::put(code, static_cast<std::uint8_t>(i)) + "a" + py::get(static_cast<std::uint8_t>(i)) + "a";
  EXPECT_EQ(others(code, code), Names{});
}

TEST(Diff, DeepNestingNeedsNoStack) {
  const py::Code deep = std::string(200'000, ']') + std::string(199'999, 'a');
  EXPECT_EQ(others(deep, deep), Names{});
}

TEST(Diff, PartialsThatMakePartialsNeedNoStack) {
  // functools.partial() with the state (the one before, (class,), {}, None), called, again and again.
  const py::Code name = py::global("lab", "Net");
  py::Code before, after;
  for (int i = 0; i < 30'000; ++i) {
    before += py::global("functools", "partial") + ")R(";
    after += "(" + name + "t}Ntb)R";
  }
  const py::Code deep = before + py::global("lab", "Net.__new__") + after;
  EXPECT_EQ(others(deep, deep), Names{});
}

TEST(Diff, ArraysOfArraysNeedNoStack) {
  // bytearray(_frombuffer(bytearray(_frombuffer(…, dtype, shape, order)), …))
  py::Code before, after;
  for (int i = 0; i < 30'000; ++i) {
    before += py::global("builtins", "bytearray") + "(" + py::global("numpy.core.numeric", "_frombuffer") + "(";
    after += "N)" + py::str("C") + "tRtR";
  }
  const py::Code deep = before + py::bytes("ab") + after;
  EXPECT_EQ(others(deep, deep), Names{});
}

/// What the error says, "compared" where there is none.
std::string refused(const py::Code& a, const py::Code& b) {
  try {
    others(a, b);
    return "compared";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::limit_exceeded);
    return error.what();
  }
}

TEST(Diff, StepsBeyondWhatTheFilesHoldAreRefused) {
  // One list of many, again and again beside values of their own: each pair is new, and the list is looked at each
  // time.
  const std::size_t count = 5000;
  py::Code many, again, apart;
  for (std::size_t i = 0; i < count; ++i) many += "F0\n";
  again = py::put("](" + many + "e", 0) + "0](";
  apart = "](" + many + "e";
  for (std::size_t i = 0; i < count; ++i) again += py::get(0);
  EXPECT_EQ(refused(again + "e", again + "e"), "compared");
  EXPECT_NE(refused(again + "e", apart).find("steps"), std::string::npos);
}

TEST(Diff, PathsThatGrowWithTheSquareOfTheFilesAreRefused) {
  const std::size_t depth = 20'000;
  const auto nested = [&](const char* value) {
    py::Code code = std::string(depth, ']');
    for (std::size_t i = 0; i < depth; ++i) code += std::string(i == 0 ? "" : "a") + value + "a";
    return code;
  };
  const py::Code a = nested("K\1"), b = nested("K\2");
  EXPECT_NE(refused(a, b).find("paths"), std::string::npos);
}

TEST(Diff, PairsThatAreNoPairsAreCompared) {
  const auto made = [](const std::string& third) {
    return py::call(py::global("collections", "OrderedDict"), {"](](" + py::str("a") + "NK" + third + "ee"});
  };
  EXPECT_EQ(others(made("\1"), made("\1")), Names{});
  EXPECT_EQ(others(made("\1"), made("\2")).size(), 1U);
}

TEST(Diff, KeywordsAreNoAttributes) {
  const auto made = [](const std::string& keyword) {
    const py::Code keywords = py::dict({{py::str("a"), "K" + keyword}});
    return py::build(py::global("lab", "Net") + ")" + keywords + "\x92", py::dict({{py::str("a"), py::integer(7)}}));
  };
  EXPECT_EQ(others(made("\1"), made("\1")), Names{});
  EXPECT_EQ(others(made("\1"), made("\2")), (Names{"a: 1 -> 2"}));
}

/// Two spellings of one value.
struct Spelling {
  const char* what;
  py::Code a, b;
};

TEST(Diff, SpellingIsNoDifference) {
  const auto pair = [](const py::Code& key, const py::Code& value) { return "](" + key + value + "e"; };
  const Spelling spellings[] = {
      {"SETITEM and SETITEMS", "}" + py::str("a") + "Ns", "}(" + py::str("a") + "Nu"},
      {"LONG1 and BININT", "\x8a\x01\x07", py::integer(7)},
      {"INT's booleans", "I01\n", py::boolean(true)},
      {"str of Python 2", py::py2_str("a"), py::str("a")},
      {"bytes by _codecs.encode", py::call(py::global("_codecs", "encode"), {py::str("\xc3\xbf"), py::str("latin1")}),
       py::bytes("\xff")},
      {"empty bytes", py::call(py::global("__builtin__", "bytes"), {}), py::bytes("")},
      {"bytearray", py::call(py::global("__builtin__", "bytearray"), {py::str("ab"), py::str("latin-1")}),
       py::call(py::global("builtins", "bytearray"), {py::bytes("ab")})},
      {"sets in another order",
       py::call(py::global("__builtin__", "set"), {py::list({py::integer(1), py::integer(2)})}),
       py::call(py::global("builtins", "set"), {py::list({py::integer(2), py::integer(1)})})},
      {"set and EMPTY_SET", py::call(py::global("__builtin__", "set"), {py::list({py::integer(1)})}), "\x8f(K\1\x90"},
      {"_reconstructor and NEWOBJ",
       py::call(py::global("copy_reg", "_reconstructor"),
                {py::global("lab", "Net"), py::global("__builtin__", "object"), "N"}),
       py::global("lab", "Net") + ")\x81"},
      {"INST and REDUCE", "(K\1ilab\nNet\n", py::call(py::global("lab", "Net"), {py::integer(1)})},
      {"names of Python 2", py::global("__builtin__", "xrange"), py::global("builtins", "range")},
      {"nested classes", py::call(py::global("__builtin__", "getattr"), {py::global("lab", "Net"), py::str("Part")}),
       py::global("lab", "Net.Part")},
      {"OrderedDict of pairs",
       py::call(py::global("collections", "OrderedDict"), {"]" + pair(py::str("a"), "K\1") + "a"}),
       py::ordered_dict({{py::str("a"), py::integer(1)}})},
      {"OrderedDict of pairs in protocol 0",
       py::call(py::global("collections", "OrderedDict"), {"]](" + py::str("a") + "K\1ea"}),
       py::call(py::global("collections", "OrderedDict"), {"]]" + py::str("a") + "aK\1aa"})},
      {"numpy's module", py::call(py::global("numpy._core.multiarray", "scalar"), {"N"}),
       py::call(py::global("numpy.core.multiarray", "scalar"), {"N"})},
      {"NaNs", py::real(std::numeric_limits<double>::quiet_NaN()), py::real(-std::numeric_limits<double>::quiet_NaN())},
  };
  for (const Spelling& spelling : spellings)
    EXPECT_EQ(others(in_dict(spelling.a), in_dict(spelling.b)), Names{}) << spelling.what;
}

TEST(Diff, WhatATensorSaysIsToldUnderEachOfItsNames) {
  const auto tied = [](std::int64_t tag) {
    const py::Code attributes = py::dict({{py::str("tag"), py::integer(tag)}, {py::str("by"), py::list({})}});
    const py::Code tensor = py::build(torch_testing::weight(), attributes);
    return py::dict({{py::str("a"), py::put(tensor, 9)}, {py::str("b"), py::get(9)}, {py::str(""), py::get(9)}});
  };
  const auto of = [](const py::Code& object) {
    return torch_testing::read_bytes(torch_testing::bytes_of(torch_testing::ZipFile{.object = object}));
  };
  const CheckpointDiff found = diff(of(tied(1)), of(tied(2)));
  Names paths;
  for (const OtherDifference& other : found.other) {
    paths.push_back(other.path);
    EXPECT_EQ(other.a, "1");
    EXPECT_EQ(other.b, "2");
  }
  EXPECT_EQ(paths, (Names{"a.tag", "b.tag", "tag"}));
  EXPECT_TRUE(diff(of(tied(1)), of(tied(1))).same());
}

/// Of one name, or of none: another tensor is another value.
TEST(Diff, TensorsThatArePointedToAreCompared) {
  const auto tensors = [](std::uint8_t pointed) {
    const auto at = [](int offset) { return torch_testing::tensor(torch_testing::storage(), {1}, {1}, offset); };
    const py::Code holder = py::build(at(0), py::dict({{py::str("best"), py::get(pointed)}}));
    return py::dict({{py::str("x"), py::put(at(1), 8)}, {py::str("y"), py::put(at(2), 9)}, {py::str("h"), holder}});
  };
  const auto compared = [&](std::uint8_t a, std::uint8_t b) {
    return diff(torch_testing::checkpoint_of(tensors(a)), torch_testing::checkpoint_of(tensors(b)));
  };
  EXPECT_TRUE(compared(8, 8).same());
  ASSERT_EQ(compared(8, 9).tensors.size(), 1U);
  EXPECT_EQ(compared(8, 9).tensors[0].name, "h.best");
}

TEST(Diff, StatesThatAClassReadsItselfAreComparedToTheLetter) {
  const auto object = [](const py::Code& state) {
    return in_dict(py::build(py::call(py::global("lab", "Layer"), {}), state));
  };
  const auto named = [](const char* name, int value) { return py::dict({{py::str(name), py::integer(value)}}); };
  EXPECT_EQ(others(object(py::dict({{py::integer(1), py::none()}})), object(py::dict({{py::str("1"), py::none()}}))),
            (Names{"x.1: None -> -", "x.1: - -> None"}));
  EXPECT_EQ(
      others(object(py::tuple({named("a", 1), named("a", 2)})), object(py::tuple({named("a", 3), named("a", 2)}))),
      (Names{"x.a: 1 -> 3"}));
}

/// A wrapper's class, such as DTensor, keeps its elements where only that finds them.
TEST(Diff, WrappedTensorsAreNeitherIgnoredNorRenamed) {
  const auto wrapped = [](const char* name, int offset) {
    const py::Code inner = torch_testing::tensor(torch_testing::storage(), {1}, {1}, offset);
    const py::Code outer =
        py::call(py::global("torch._utils", "_rebuild_wrapper_subclass"),
                 {py::global("m", "Sharded"), py::global("torch", "float32"), torch_testing::sizes({1}),
                  torch_testing::sizes({1}), py::integer(0), py::global("torch", "strided"),
                  py::call(py::global("torch", "device"), {py::str("cpu")}), py::boolean(false)});
    return torch_testing::checkpoint_of(
        py::dict({{py::str(name), py::build(outer, py::dict({{py::str("inner"), inner}}))}}));
  };
  DiffOptions options;
  options.ignore_other = true;
  EXPECT_TRUE(diff(wrapped("d", 0), wrapped("d", 0), options).same());
  EXPECT_FALSE(diff(wrapped("d", 0), wrapped("d", 1), options).same());
  const CheckpointDiff moved = diff(wrapped("d", 0), wrapped("e", 0));
  EXPECT_EQ(moved.only_a.size() + moved.only_b.size(), 2U);
}

TEST(Diff, OtherValuesMayBeIgnored) {
  DiffOptions options;
  options.ignore_other = true;
  const auto a = torch_testing::checkpoint_of(in_dict(py::integer(1)));
  EXPECT_TRUE(diff(a, torch_testing::checkpoint_of(in_dict(py::integer(2))), options).same());
}

/// Python before protocol 4 makes a set that an object of it holds twice, and drops one.
TEST(Diff, AContainerThatIsThrownAwayChangesNothing) {
  const py::Code object = py::put(py::call(py::global("lab", "Layer"), {}), 7);
  const py::Code set = py::call(py::global("__builtin__", "set"), {py::list({py::get(7)})});
  EXPECT_EQ(others(object + "0" + set + "0" + in_dict(py::get(7)), object + "0" + in_dict(py::get(7))), Names{});
}

/// Python makes a Parameter that an attribute of its own holds twice, and drops one.
TEST(Diff, ATensorThatIsThrownAwayChangesNothing) {
  const py::Code data = py::put(torch_testing::weight(), 7) + "0";
  const py::Code parameter =
      py::call(py::global("torch._utils", "_rebuild_parameter"),
               {py::get(7), py::boolean(true), py::call(py::global("collections", "OrderedDict"), {})});
  EXPECT_EQ(others(data + parameter + "0" + in_dict(py::get(7)), data + in_dict(py::get(7))), Names{});
}

TEST(Diff, StateThatADroppedCallSetsCounts) {
  const auto object = [](std::int64_t width) {
    return py::put(py::call(py::global("lab", "Layer"), {}), 7) + "0" +
           py::call(py::global("lab", "fill"), {py::get(7), py::dict({{py::str("width"), py::integer(width)}})}) + "0" +
           in_dict(py::get(7));
  };
  EXPECT_EQ(others(object(1), object(1)), Names{});
  EXPECT_EQ(others(object(1), object(2)), (Names{"(thrown away).0.1.width: 1 -> 2"}));
  const Names lost = others(object(1), in_dict(py::call(py::global("lab", "Layer"), {})));
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_TRUE(lost[0].starts_with("(thrown away).0: lab.fill")) << lost[0];
}

}  // namespace
}  // namespace ckpt
