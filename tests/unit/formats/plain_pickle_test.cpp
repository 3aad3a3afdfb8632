#include <gtest/gtest.h>

#include <algorithm>

#include "ckpt/assemble.h"
#include "ckpt/error.h"
#include "ckpt/formats.h"
#include "ckpt/limits.h"
#include "formats/pickled_arrays.h"
#include "formats/torch_files.h"

namespace ckpt {
namespace {

using io_testing::Bytes;
using io_testing::bytes_of;
using io_testing::has;
using pickled_arrays::Array;
using pickled_arrays::array;
using pickled_arrays::dtype;
using pickled_arrays::load_from_bytes;
using pickled_arrays::nested;
using torch_testing::values;
using Floats = std::vector<float>;
using Names = std::vector<std::string>;

Checkpoint read_pickle(const std::string& pickle) { return torch_testing::read_bytes(bytes_of(pickle)); }

std::string refused(const std::string& pickle) {
  const auto error = torch_testing::refusal(bytes_of(pickle));
  return error ? error->what() : "read";
}

Verdict verdict_of(const Checkpoint& checkpoint, const std::string& name) {
  for (const GlobalUse& global : checkpoint.globals)
    if (global.name == name) return global.verdict;
  ADD_FAILURE() << "no global " << name;
  return Verdict::unknown;
}

std::string format_of(const std::string& bytes) { return detect(memory_source(bytes_of(bytes), "test")).format; }

TEST(PlainPickle, IsFoundInEveryProtocol) {
  EXPECT_EQ(format_of(std::string("\x80\4\x95\0\0\0\0\0\0\0\0N.", 13)), "pickle");
  EXPECT_EQ(format_of("\x80\2N."), "pickle");
  EXPECT_EQ(format_of("(dp0\nS'a'\np1\nI1\ns."), "pickle");
  EXPECT_EQ(format_of("ccollections\nOrderedDict\n)R."), "pickle");
  EXPECT_EQ(format_of(std::string("}q\1X\1\0\0\0aK\1s.", 13)), "pickle");
}

TEST(PlainPickle, TextIsNone) {
  for (const std::string text :
       {"config = 1\nfoo bar baz\nN.", "import os\nimport sys\n", "Name: a model\n", "(see below)\n", "{\"a\": 1}",
        "]\n", "# README\n", "1.0\n2.0\n", "V\n", "cats and dogs\nand more\n", "I am text\n"})
    EXPECT_EQ(format_of(text), "") << text;
}

TEST(PlainPickle, AnUnknownProtocolIsNone) { EXPECT_EQ(format_of("\x80\6N."), ""); }

TEST(PlainPickle, ALongOneOfProtocol0NeedNotEndInWhatIsLookedAt) {
  std::string pickle = "(lp0\n";
  for (int i = 0; i < 10000; ++i) pickle += "I" + std::to_string(i) + "\na";
  EXPECT_EQ(format_of(pickle + "."), "pickle");
}

TEST(PlainPickle, StoragesComeFromTheFilesInIt) {
  const auto checkpoint =
      read_pickle(py::pickle(py::dict({{py::str("w"), torch_testing::tensor(nested(), {2, 2}, {2, 1})}})));
  EXPECT_EQ(checkpoint.format, "pickle");
  EXPECT_EQ(torch_testing::names(checkpoint), (Names{"w"}));
  EXPECT_EQ(values(checkpoint, 0), (Floats{0, 1, 2, 3}));
  EXPECT_EQ(checkpoint.storages[0].location, "cuda:0");
  EXPECT_EQ(verdict_of(checkpoint, "_load_from_bytes"), Verdict::known);
  EXPECT_EQ(verdict_of(checkpoint, "FloatStorage"), Verdict::known);
}

TEST(PlainPickle, AGlobalInAFileInItIsAtItsOwnByte) {
  const std::string pickle = py::pickle(nested());
  const auto checkpoint = read_pickle(pickle);
  const auto global = std::find_if(checkpoint.globals.begin(), checkpoint.globals.end(),
                                   [](const GlobalUse& each) { return each.name == "FloatStorage"; });
  ASSERT_NE(global, checkpoint.globals.end());
  EXPECT_EQ(global->offset, pickle.find("ctorch\nFloatStorage"));
}

TEST(PlainPickle, ACallThatIsFetchedAgainIsOneStorage) {
  const auto checkpoint = read_pickle(py::pickle(
      py::list({torch_testing::tensor(py::put(nested(), 1), {4}, {1}), torch_testing::tensor(py::get(1), {2}, {1})})));
  EXPECT_EQ(checkpoint.storages.size(), 1U);
  const auto back = torch_testing::read_bytes(torch_testing::written_as(checkpoint, "torch"));
  EXPECT_EQ(back.storages.size(), 1U);
  EXPECT_EQ(values(back, 1), (Floats{0, 1}));
}

TEST(PlainPickle, TwoCallsAreTwoStorages) {
  const auto checkpoint = read_pickle(
      py::pickle(py::list({torch_testing::tensor(nested(), {4}, {1}), torch_testing::tensor(nested(), {4}, {1})})));
  EXPECT_EQ(checkpoint.storages.size(), 2U);
}

TEST(PlainPickle, BytesMayBeEncodedInLatin1) {
  std::string utf8;
  for (const unsigned char c : pickled_arrays::storage_file())
    c < 0x80 ? utf8 += static_cast<char>(c)
             : (utf8 += static_cast<char>(0xC0 | c >> 6), utf8 += static_cast<char>(0x80 | (c & 0x3F)));
  const py::Code encoded = py::call(py::global("_codecs", "encode"), {py::str(utf8), py::str("latin1")});
  const auto checkpoint = read_pickle(py::pickle(torch_testing::tensor(load_from_bytes(encoded), {4}, {1})));
  EXPECT_EQ(values(checkpoint, 0), (Floats{0, 1, 2, 3}));
}

TEST(PlainPickle, WhatIsNoFileOfTorchesStaysDangerous) {
  for (const std::string& bytes : {std::string("nothing"), std::string("\x80\2N."), std::string()}) {
    const auto checkpoint = read_pickle(py::pickle(py::list({load_from_bytes(py::bytes(bytes))})));
    EXPECT_EQ(verdict_of(checkpoint, "_load_from_bytes"), Verdict::dangerous);
    EXPECT_TRUE(has(checkpoint.warnings.at(0), "stays dangerous"));
  }
}

TEST(PlainPickle, DangerInAFileInItIsDanger) {
  const Bytes inner = torch_testing::bytes_of(torch_testing::LegacyFile{
      .object = py::list({torch_testing::legacy_storage(), py::call(py::global("os", "system"), {py::str("id")})})});
  const auto checkpoint = read_pickle(py::pickle(load_from_bytes(py::bytes(as_text(inner)))));
  EXPECT_EQ(verdict_of(checkpoint, "_load_from_bytes"), Verdict::dangerous);
  EXPECT_EQ(verdict_of(checkpoint, "system"), Verdict::dangerous);
}

TEST(PlainPickle, TheFunctionGivenToAnotherStaysDangerous) {
  const py::Code function = py::global("torch.storage", "_load_from_bytes");
  const py::Code caller =
      py::call(py::global("torch._tensor", "_rebuild_from_type_v2"),
               {function, py::global("torch", "Tensor"), py::tuple({py::bytes("x")}), py::dict({})});
  for (const py::Code& other : {caller, py::list({function}), py::call(function, {py::bytes("a"), py::bytes("b")})}) {
    const auto checkpoint = read_pickle(py::pickle(py::list({nested(), other})));
    EXPECT_EQ(verdict_of(checkpoint, "_load_from_bytes"), Verdict::dangerous);
  }
}

TEST(PlainPickle, AFileInItThatIsMoreThanAStorageStaysACall) {
  const Bytes inner = torch_testing::bytes_of(torch_testing::LegacyFile{
      .object = py::dict({{py::str("w"), torch_testing::tensor(torch_testing::legacy_storage(), {4}, {1})}})});
  const auto checkpoint = read_pickle(py::pickle(load_from_bytes(py::bytes(as_text(inner)))));
  EXPECT_EQ(verdict_of(checkpoint, "_load_from_bytes"), Verdict::known);
  EXPECT_TRUE(torch_testing::names(checkpoint).empty());
  EXPECT_TRUE(has(checkpoint.warnings.at(0), "kept as it is"));
}

TEST(PlainPickle, FilesInFilesEnd) {
  std::string file = pickled_arrays::storage_file();
  for (int i = 0; i < 100; ++i) {
    const Bytes outer =
        torch_testing::bytes_of(torch_testing::LegacyFile{.object = load_from_bytes(py::bytes(file)), .data = {}});
    file = as_text(outer);
  }
  const auto checkpoint = read_pickle(py::pickle(load_from_bytes(py::bytes(file))));
  EXPECT_EQ(verdict_of(checkpoint, "_load_from_bytes"), Verdict::dangerous);
}

TEST(PlainPickle, TheSameBytesLoadedWithoutEndAreRefused) {
  const std::string half(1 << 20, '\1');
  const py::Code bytes = py::put(py::bytes(half), 1);
  std::vector<py::Code> arrays{array({.code = "u1", .shape = {1 << 20}, .data = bytes})};
  for (int i = 0; i < 1100; ++i) arrays.push_back(array({.code = "u1", .shape = {1 << 20}, .data = py::get(1)}));
  EXPECT_TRUE(has(refused(py::pickle(py::list(arrays))), "bytes of storages out of 1048576"));
}

TEST(PlainPickle, ArraysAreTensors) {
  const auto checkpoint =
      read_pickle(py::pickle(py::dict({{py::str("model"), py::dict({{py::str("w"), array({})}})}})));
  EXPECT_EQ(torch_testing::names(checkpoint), (Names{"model.w"}));
  EXPECT_EQ(checkpoint.tensors[0].info.dtype, DType::float32);
  EXPECT_TRUE(checkpoint.tensors[0].array);
  EXPECT_EQ(values(checkpoint, 0), (Floats{0, 1, 2, 3}));
}

TEST(PlainPickle, ArraysInFortransOrderAreTransposed) {
  const auto checkpoint = read_pickle(py::pickle(array({.shape = {2, 2}, .fortran = true})));
  EXPECT_EQ(checkpoint.tensors[0].info.stride, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(values(checkpoint, 0), (Floats{0, 2, 1, 3}));
}

TEST(PlainPickle, BigEndianArraysAreRead) {
  Bytes big = torch_testing::floats({0, 1, 2, 3});
  for (std::size_t i = 0; i < big.size(); i += 4) std::reverse(big.begin() + i, big.begin() + i + 4);
  const auto checkpoint = read_pickle(py::pickle(array({.order = ">", .data = py::bytes(as_text(big))})));
  EXPECT_EQ(values(checkpoint, 0), (Floats{0, 1, 2, 3}));
}

TEST(PlainPickle, BuffersOfProtocol5AreArrays) {
  const py::Code data = py::bytes(as_text(torch_testing::floats({0, 1, 2, 3})));
  const py::Code call = py::call(py::global("numpy._core.numeric", "_frombuffer"),
                                 {data, dtype("f4", "<"), torch_testing::sizes({2, 2}), py::str("F")});
  const auto checkpoint = read_pickle(py::pickle(call));
  EXPECT_EQ(values(checkpoint, 0), (Floats{0, 2, 1, 3}));
}

TEST(PlainPickle, BuffersInAnotherOrderOfAxesAreArrays) {
  const auto read_with = [](const std::vector<std::int64_t>& axes) {
    const py::Code data = py::bytes(as_text(torch_testing::floats({0, 1, 2, 3})));
    const auto sizes = torch_testing::sizes({1, 2, 2}), order = torch_testing::sizes(axes);
    return read_pickle(py::pickle(py::list({py::call(py::global("numpy._core.numeric", "_frombuffer"),
                                                     {data, dtype("f4", "<"), sizes, py::str("K"), order}),
                                            array({})})));
  };
  const auto checkpoint = read_with({2, 0, 1});
  EXPECT_EQ(checkpoint.tensors.at(0).info.shape, (std::vector<std::int64_t>{2, 1, 2}));
  EXPECT_EQ(values(checkpoint, 0), (Floats{0, 2, 1, 3}));
  for (const auto& axes : std::vector<std::vector<std::int64_t>>{{0, 1}, {0, 0, 1}, {0, 1, 3}, {0, 1, -1}})
    EXPECT_EQ(read_with(axes).tensors.size(), 1U);
}

TEST(PlainPickle, DtypesOfMlDtypesAreTorchs) {
  const py::Code bfloat16 = py::build(py::call(py::global("numpy", "dtype"), {py::global("ml_dtypes", "bfloat16"),
                                                                              py::boolean(false), py::boolean(true)}),
                                      pickled_arrays::dtype_state("<"));
  const auto checkpoint = read_pickle(py::pickle(array({.data = py::bytes("abcdefgh"), .dtype = bfloat16})));
  EXPECT_EQ(checkpoint.tensors.at(0).info.dtype, DType::bfloat16);
}

TEST(PlainPickle, ArraysThatAreNoTensorsAreCounted) {
  const auto objects = array({.code = "O", .data = py::list({py::none()})});
  const auto text = array({.code = "U2", .data = py::bytes("")});
  const auto checkpoint = read_pickle(py::pickle(py::list({objects, text, array({})})));
  EXPECT_EQ(torch_testing::names(checkpoint), (Names{"2"}));
  ASSERT_EQ(checkpoint.warnings.size(), 2U);
  EXPECT_TRUE(has(checkpoint.warnings[0], "1 array is of Python objects"));
  EXPECT_TRUE(has(checkpoint.warnings[1], "1 array is of Unicode text"));
}

TEST(PlainPickle, RefusesArraysOfAnotherSize) {
  EXPECT_TRUE(has(refused(py::pickle(py::dict({{py::str("w"), array({.shape = {5}})}}))), "array 'w'"));
  EXPECT_TRUE(has(refused(py::pickle(array({.shape = {1LL << 62, 2}}))), "overflows"));
  EXPECT_TRUE(has(refused(py::pickle(array({.shape = {-4}}))), "a size that is no number"));
}

TEST(PlainPickle, ArraysStayArraysInAZipOfTorchs) {
  const auto checkpoint = read_pickle(py::pickle(py::dict({{py::str("w"), array({})}})));
  const io_testing::TemporaryFolder folder;
  const SaveReport report = save(checkpoint, folder / "w.pt", {.read_back = ReadBack::full});
  EXPECT_TRUE(has(report.left_out.at(0), "1 array of numpy's stays what it is"));
  const Checkpoint back = load(folder / "w.pt");
  EXPECT_TRUE(back.tensors.empty());
  EXPECT_TRUE(std::any_of(back.globals.begin(), back.globals.end(),
                          [](const GlobalUse& global) { return global.name == "_reconstruct"; }));
}

TEST(PlainPickle, ArraysBecomeTensors) {
  for (const std::string code : {"f4", "u4"}) {
    const auto checkpoint =
        arrays_as_tensors(read_pickle(py::pickle(py::dict({{py::str("w"), array({.code = code})}}))));
    const auto back = torch_testing::read_bytes(torch_testing::written_as(checkpoint, "torch"));
    EXPECT_EQ(torch_testing::names(back), (Names{"w"}));
    EXPECT_EQ(back.tensors[0].info.dtype, code == "f4" ? DType::float32 : DType::uint32);
    EXPECT_FALSE(back.tensors[0].array);
    EXPECT_EQ(as_text(read_all(*back.storages[0].bytes, 100)), as_text(torch_testing::floats({0, 1, 2, 3})));
    EXPECT_FALSE(std::any_of(back.globals.begin(), back.globals.end(),
                             [](const GlobalUse& global) { return global.module.starts_with("numpy"); }));
  }
}

TEST(PlainPickle, ALongTextStaysInTheFile) {
  const std::string long_text(limits::pickle_far_text, 'x');
  const auto checkpoint = read_pickle(py::pickle(py::list({py::bytes(long_text), py::str(long_text)})));
  std::size_t far = 0;
  for (ValueId id = 0; id < checkpoint.values.size(); ++id) far += checkpoint.values.far_text(id) != nullptr ? 1 : 0;
  EXPECT_EQ(far, 2U);
  EXPECT_LT(checkpoint.values.text_size(), 100U);
  const auto back = torch_testing::read_bytes(torch_testing::written_as(checkpoint, "torch"));
  EXPECT_GE(back.values.text_size(), 2 * limits::pickle_far_text);
}

TEST(PlainPickle, ALongTextMustBeUtf8) {
  const std::string text(limits::pickle_far_text, 'x');
  EXPECT_EQ(refused(py::pickle(py::str(text + "\xE2\x82\xAC"))), "read");
  EXPECT_TRUE(has(refused(py::pickle(py::str(text + "\xE2\x82"))), "not UTF-8"));
}

TEST(PlainPickle, ALongTextThatIsCutIsSaidSo) {
  const std::string pickle = py::pickle(py::bytes(std::string(100000, 'x')));
  EXPECT_TRUE(has(refused(pickle.substr(0, 50000)), "ends within a string of 100000 bytes"));
}

TEST(PlainPickle, WhatFollowsIsCountedAndJudged) {
  const std::string more = py::pickle(py::call(py::global("os", "system"), {py::str("id")}));
  const auto checkpoint = read_pickle(py::pickle(array({})) + more + "rubbish");
  EXPECT_EQ(torch_testing::names(checkpoint).size(), 1U);
  EXPECT_EQ(checkpoint.warnings.at(0), std::to_string(more.size() + 7) +
                                           " bytes follow the pickle and are left out: pickle.load reads one object a "
                                           "call, and there is 1 more");
  EXPECT_EQ(verdict_of(checkpoint, "system"), Verdict::dangerous);
}

TEST(PlainPickle, PersistentIdsBelongToAnArchive) {
  EXPECT_TRUE(has(refused(py::pickle(torch_testing::storage())), "names storages which it does not hold"));
}

TEST(PlainPickle, BuffersOutsideAreUnsupportedByName) { EXPECT_TRUE(has(refused("\x80\5\x97."), "NEXT_BUFFER")); }

TEST(TorchZip, FilesInItsPickleAreJudged) {
  const auto checkpoint = torch_testing::checkpoint_of(py::list({torch_testing::weight(), nested()}));
  EXPECT_EQ(verdict_of(checkpoint, "_load_from_bytes"), Verdict::known);
  EXPECT_EQ(checkpoint.storages.size(), 1U);  // it stays a call
  const auto evil = torch_testing::checkpoint_of(py::list({load_from_bytes(py::bytes("x"))}));
  EXPECT_EQ(verdict_of(evil, "_load_from_bytes"), Verdict::dangerous);
}

}  // namespace
}  // namespace ckpt
