#include "ckpt/diff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "ckpt/error.h"
#include "formats/safetensors_files.h"
#include "formats/torch_files.h"

namespace ckpt {
namespace {

using torch_testing::floats;
using torch_testing::tensor;
using torch_testing::weight;
using torch_testing::ZipFile;
using Names = std::vector<std::string>;

/// A checkpoint of named tensors, each with floats of its own.
Checkpoint of_tensors(const std::vector<std::pair<std::string, std::vector<float>>>& tensors,
                      const std::string& location = "cpu", const py::Pairs& more = {}) {
  py::Pairs pairs;
  ZipFile file{.object = {}, .data = {}};
  for (const auto& [name, values] : tensors) {
    const std::string key = std::to_string(file.data.size());
    const auto count = static_cast<std::int64_t>(values.size());
    pairs.emplace_back(py::str(name),
                       tensor(torch_testing::storage({key, "FloatStorage", location, count}), {count}, {1}));
    file.data.push_back({"data/" + key, floats(values)});
  }
  pairs.insert(pairs.end(), more.begin(), more.end());
  file.object = py::dict(pairs);
  return torch_testing::read_bytes(torch_testing::bytes_of(file));
}

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

TEST(Diff, NothingDiffersFromItself) {
  const Checkpoint checkpoint = of_tensors({{"a", {1, 2}}, {"b", {3}}}, "cuda:0", {{py::str("lr"), py::real(0.1)}});
  const CheckpointDiff found = diff(checkpoint, checkpoint);
  EXPECT_TRUE(found.same());
  EXPECT_EQ(found.compared, 2U);
}

TEST(Diff, ValuesOfATensorAreFound) {
  const CheckpointDiff found = diff(of_tensors({{"a", {1, 2}}}), of_tensors({{"a", {1, 3}}}));
  ASSERT_EQ(found.tensors.size(), 1U);
  EXPECT_EQ(found.tensors[0].name, "a");
  EXPECT_EQ(found.tensors[0].values->first, (std::vector<std::int64_t>{1}));
  EXPECT_FALSE(found.tensors[0].shape || found.tensors[0].dtype || found.tensors[0].device);
}

TEST(Diff, AViewIsComparedByWhatItShows) {
  const auto storage = torch_testing::storage({"0", "FloatStorage", "cpu", 4});
  const auto a = torch_testing::checkpoint_of(in_dict(tensor(storage, {2, 2}, {2, 1})));
  const auto b = torch_testing::checkpoint_of(in_dict(tensor(storage, {2, 2}, {1, 2})));
  const CheckpointDiff found = diff(a, b);
  ASSERT_EQ(found.tensors.size(), 1U);
  EXPECT_EQ(found.tensors[0].values->different, 2U);
  EXPECT_EQ(found.tensors[0].values->first, (std::vector<std::int64_t>{0, 1}));
}

TEST(Diff, ShapesAreTold) {
  const CheckpointDiff found = diff(of_tensors({{"a", {1, 2}}}), of_tensors({{"a", {1}}}));
  ASSERT_EQ(found.tensors.size(), 1U);
  EXPECT_EQ(found.tensors[0].shape->b, (std::vector<std::int64_t>{1}));
  EXPECT_FALSE(found.tensors[0].values);
}

TEST(Diff, DevicesAreToldUnlessIgnored) {
  const Checkpoint a = of_tensors({{"a", {1}}}, "cuda:0"), b = of_tensors({{"a", {1}}});
  const CheckpointDiff found = diff(a, b);
  ASSERT_EQ(found.tensors.size(), 1U);
  EXPECT_EQ(found.tensors[0].device->a, "cuda:0");
  DiffOptions options;
  options.ignore_devices = true;
  EXPECT_TRUE(diff(a, b, options).same());
}

TEST(Diff, NamesOfOneFileOnlyAreListed) {
  const CheckpointDiff found = diff(of_tensors({{"a", {1}}, {"b", {2}}}), of_tensors({{"a", {1}}, {"c", {3}}}));
  ASSERT_EQ(found.only_a.size(), 1U);
  EXPECT_EQ(found.only_a[0].name, "b");
  EXPECT_EQ(found.only_b[0].name, "c");
  EXPECT_TRUE(found.renamed.empty());
  EXPECT_TRUE(found.other.empty()) << "told as tensors already";
}

TEST(Diff, EqualContentUnderAnotherNameIsRenamed) {
  const CheckpointDiff found =
      diff(of_tensors({{"module.a", {1}}, {"module.b", {2}}}), of_tensors({{"a", {1}}, {"b", {2}}}, "cuda:0"));
  EXPECT_TRUE(found.only_a.empty() && found.only_b.empty());
  ASSERT_EQ(found.renamed.size(), 2U);
  EXPECT_EQ(found.renamed[1].a, "module.b");
  EXPECT_EQ(found.prefix->a, "module.");
  EXPECT_EQ(found.tensors.size(), 2U) << "their devices differ all the same";
  EXPECT_FALSE(found.same());
}

TEST(Diff, LostSharingIsFoundBothWays) {
  const auto two = torch_testing::storage({"1", "FloatStorage", "cpu", 4});
  ZipFile file{.object = py::dict({{py::str("a"), weight()}, {py::str("b"), weight()}})};
  const auto tied = torch_testing::read_bytes(torch_testing::bytes_of(file));
  file.object = py::dict({{py::str("a"), weight()}, {py::str("b"), tensor(two, {4}, {1})}});
  file.data.push_back({"data/1", floats({0, 1, 2, 3})});
  const auto apart = torch_testing::read_bytes(torch_testing::bytes_of(file));
  const CheckpointDiff lost = diff(tied, apart), won = diff(apart, tied);
  ASSERT_EQ(lost.sharing.size(), 1U);
  EXPECT_TRUE(lost.sharing[0].shared_in_a);
  EXPECT_EQ(lost.sharing[0].names, (Names{"a", "b"}));
  ASSERT_EQ(won.sharing.size(), 1U);
  EXPECT_FALSE(won.sharing[0].shared_in_a);
  EXPECT_TRUE(lost.tensors.empty());
}

TEST(Diff, DamageIsAnErrorOfItsFile) {
  const auto damaged = [](const std::string& name) {
    auto bytes = torch_testing::bytes_of(ZipFile{.object = in_dict(weight())});
    const auto data = floats({0, 1, 2, 3});
    const auto at = std::search(bytes.begin(), bytes.end(), data.begin(), data.end());
    at[4] ^= std::byte{1};
    Checkpoint checkpoint = read(torch_testing::source_of(std::move(bytes), name));
    checkpoint.file = name;
    return checkpoint;
  };
  const Checkpoint good = torch_testing::checkpoint_of(in_dict(weight())), bad = damaged("bad.pt");
  for (const auto& [a, b] : {std::pair(&good, &bad), std::pair(&bad, &good)}) {
    try {
      diff(*a, *b);
      FAIL() << "was compared";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::corrupt);
      EXPECT_EQ(std::string(error.what()).rfind("bad.pt", 0), 0U) << error.what();
    }
  }
}

TEST(Diff, DamageWhereNothingIsComparedIsAnErrorToo) {
  auto bytes = torch_testing::bytes_of(ZipFile{.object = py::dict({{py::str("only here"), weight()}})});
  const auto data = floats({0, 1, 2, 3});
  std::search(bytes.begin(), bytes.end(), data.begin(), data.end())[4] ^= std::byte{1};
  EXPECT_THROW(diff(torch_testing::read_bytes(bytes), torch_testing::checkpoint_of(py::none())), Error);
}

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

// Of two files, the one that is inflated is read in the order of its bytes, on whichever side it is.
TEST(Diff, ReadsWhatIsCompressedForward) {
  constexpr std::size_t count = 100, size = 40'000;
  const auto of_order = [](std::size_t step) {
    std::string header = "{", data;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t number = i * step % count;
      header += (i == 0 ? "\"" : ",\"") + std::to_string(number) +
                "\":" + safetensors_testing::entry("U8", "[" + std::to_string(size) + "]", i * size, (i + 1) * size);
      data += as_text(io_testing::random_bytes(size, static_cast<std::uint32_t>(number)));
    }
    return io_testing::bytes_of(safetensors_testing::file(header + "}", data));
  };
  const Checkpoint plain = torch_testing::read_bytes(of_order(1));
  const auto packed = std::make_shared<io_testing::CountingSource>(io_testing::gzipped(of_order(37)));
  EXPECT_TRUE(diff(plain, read(packed)).tensors.empty());
  EXPECT_LT(packed->read, 3 * packed->size());
  packed->read = 0;
  EXPECT_TRUE(diff(read(packed), plain).tensors.empty());
  EXPECT_LT(packed->read, 3 * packed->size());
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
      {"numpy's module", py::call(py::global("numpy._core.multiarray", "scalar"), {"N"}),
       py::call(py::global("numpy.core.multiarray", "scalar"), {"N"})},
      {"NaNs", py::real(std::numeric_limits<double>::quiet_NaN()), py::real(-std::numeric_limits<double>::quiet_NaN())},
  };
  for (const Spelling& spelling : spellings)
    EXPECT_EQ(others(in_dict(spelling.a), in_dict(spelling.b)), Names{}) << spelling.what;
}

TEST(Diff, FormatAndCompressionAreNoDifference) {
  const auto zip = torch_testing::checkpoint_of(in_dict(weight()));
  const auto legacy = torch_testing::read_bytes(torch_testing::bytes_of(
      torch_testing::LegacyFile{.object = in_dict(tensor(torch_testing::legacy_storage(), {4}, {1}))}));
  EXPECT_TRUE(diff(zip, legacy).same());
}

TEST(Diff, StoragesOutsideOfTensorsAreCompared) {
  const auto holding = [](float last) {
    return torch_testing::read_bytes(torch_testing::bytes_of(
        ZipFile{.object = in_dict(torch_testing::storage()), .data = {{"data/0", floats({0, 1, 2, last})}}}));
  };
  EXPECT_TRUE(diff(holding(3), holding(3)).same());
  const CheckpointDiff found = diff(holding(3), holding(4));
  ASSERT_EQ(found.tensors.size(), 1U);
  EXPECT_EQ(found.tensors[0].name, "x");
}

TEST(Diff, OtherValuesMayBeIgnored) {
  DiffOptions options;
  options.ignore_other = true;
  const auto a = torch_testing::checkpoint_of(in_dict(py::integer(1)));
  EXPECT_TRUE(diff(a, torch_testing::checkpoint_of(in_dict(py::integer(2))), options).same());
}

TEST(Diff, RefusesViewsThatStandTogetherForTooMuch) {
  const auto of = [](float value) {
    const auto one = torch_testing::storage({.elements = 1});
    return torch_testing::read_bytes(torch_testing::bytes_of(ZipFile{
        .object = py::dict({{py::str("wide"), tensor(one, {1 << 28}, {0})}, {py::str("more"), tensor(one, {1}, {1})}}),
        .data = {{"data/0", floats({value})}}}));
  };
  const Checkpoint a = of(1), b = of(2);
  const auto error = io_testing::error_of([&] { static_cast<void>(diff(a, b)); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::limit_exceeded);
  EXPECT_EQ(std::string(error->what()).find(a.file + ": "), 0U) << error->what();
}

TEST(Diff, IsTheSameWhateverTheThreads) {
  std::vector<std::pair<std::string, std::vector<float>>> a, b;
  for (int i = 0; i < 400; ++i) {
    std::vector<float> values(i % 100 == 3 ? 200'000 : 5, static_cast<float>(i));
    a.emplace_back("t" + std::to_string(i), values);
    for (std::size_t at = 1; at < values.size() && i % 3 == 0; at += 1000) values[at] += 0.1F;
    b.emplace_back("t" + std::to_string(i), std::move(values));
  }
  const Checkpoint first = of_tensors(a), second = of_tensors(b);
  const auto compared = [&](std::size_t threads) {
    DiffOptions options;
    options.threads = threads;
    return diff(first, second, options).tensors;
  };
  const auto one = compared(1);
  EXPECT_EQ(one.size(), 134U);
  for (const std::size_t threads : {2U, 8U}) {
    const auto found = compared(threads);
    ASSERT_EQ(found.size(), one.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
      EXPECT_EQ(found[i].name, one[i].name);
      EXPECT_EQ(found[i].values->different, one[i].values->different);
      EXPECT_EQ(found[i].values->first, one[i].values->first);
      EXPECT_EQ(found[i].values->mean_error, one[i].values->mean_error);
    }
  }
}

}  // namespace
}  // namespace ckpt
