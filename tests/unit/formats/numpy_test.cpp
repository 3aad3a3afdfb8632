#include "numpy/numpy.h"

#include <gtest/gtest.h>

#include "ckpt/assemble.h"
#include "ckpt/ops.h"
#include "container/zip_builder.h"
#include "container/zip_reader.h"
#include "formats/numpy_files.h"
#include "formats/torch_files.h"
#include "io/checksum.h"

namespace ckpt {
namespace {

using io_testing::Bytes;
using io_testing::error_of;
using io_testing::gzipped;
using io_testing::has;
using numpy_testing::line;
using numpy_testing::npy;
using torch_testing::floats;
using torch_testing::names;
using torch_testing::read_bytes;
using torch_testing::refusal;
using torch_testing::source_of;
using torch_testing::values;
using torch_testing::written_as;
using zip_testing::ZipPart;
using Shape = std::vector<std::int64_t>;

const std::string six(as_text(floats({0, 1, 2, 3, 4, 5})));
const std::string array = npy(line("<f4", "(2, 3)"), six);

Bytes zip(const std::vector<ZipPart>& parts) { return io_testing::bytes_of(zip_testing::build_zip(parts)); }
Bytes raw(const std::string& text) { return io_testing::bytes_of(text); }

TensorSource source(const std::string& name, const Shape& shape, const std::vector<float>& numbers) {
  return {.name = name, .dtype = DType::float32, .shape = shape, .bytes = memory_source(floats(numbers), name)};
}

std::string unsupported(const Checkpoint& checkpoint, const std::string& format) {
  const auto error = error_of([&] { written_as(checkpoint, format); });
  EXPECT_TRUE(error) << format;
  if (!error) return {};
  EXPECT_EQ(error->code(), ErrorCode::unsupported) << error->what();
  EXPECT_FALSE(error->hint().empty());
  return error->what();
}

std::string findings(const Bytes& bytes) {
  std::string out;
  for (const Finding& finding : verify(source_of(bytes)))
    if (finding.fault) out += finding.what + " [" + finding.where + "]\n";
  return out;
}

TEST(Npy, IsABareTensor) {
  const Checkpoint read = read_bytes(raw(array));
  EXPECT_EQ(read.format, "npy");
  EXPECT_FALSE(read.pickled);
  EXPECT_EQ(names(read), std::vector<std::string>{""});
  EXPECT_EQ(read.tensors.front().info.shape, (Shape{2, 3}));
  EXPECT_EQ(values(read, 0), (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

TEST(Npy, OfFortransOrderIsAViewWithItsStrides) {
  const Checkpoint read = read_bytes(raw(npy(line("<f4", "(2, 3)", "True"), six)));
  EXPECT_EQ(read.tensors.front().info.stride, (Shape{1, 2}));
  EXPECT_EQ(values(read, 0), (std::vector<float>{0, 2, 4, 1, 3, 5}));
}

TEST(Npy, OfBigEndianNumbersHasTheSameValues) {
  const Checkpoint big = read_bytes(raw(npy(line(">u2", "(2,)"), std::string("\1\2\3\4", 4))));
  const Checkpoint little = read_bytes(raw(npy(line("<u2", "(2,)"), std::string("\2\1\4\3", 4))));
  EXPECT_EQ(digest(big).total, digest(little).total);
  const Checkpoint typed = read_bytes(raw(npy(line(">i2", "(2,)"), std::string("\1\2\3\4", 4))));
  EXPECT_EQ(typed.storages.front().byte_order, ByteOrder::big);
  const Checkpoint plain = read_bytes(raw(npy(line("<i2", "(2,)"), std::string("\2\1\4\3", 4))));
  EXPECT_EQ(digest(typed).total, digest(plain).total);
}

TEST(Npy, ThatIsCutIsTruncated) {
  const auto error = refusal(raw(array.substr(0, array.size() - 1)));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::truncated);
  EXPECT_TRUE(has(findings(raw(array.substr(0, array.size() - 1))), "the file ends at byte"));
}

TEST(Npy, ThatIsCutInsideGzipIsTruncatedOnceItIsReadToItsEnd) {
  const Checkpoint cut = read_bytes(gzipped(raw(array.substr(0, array.size() - 1))));
  const auto error = error_of([&] { finish_reading(cut); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::truncated);
  EXPECT_TRUE(error_of([&] { written_as(cut, "torch"); }));
}

TEST(Npy, IsTheFirstOfSeveralArraysInAFile) {
  const Checkpoint read = read_bytes(raw(array + array));
  ASSERT_EQ(read.warnings.size(), 1U);
  EXPECT_EQ(read.warnings.front(), std::to_string(array.size()) + " bytes follow the array and are left out");
  EXPECT_EQ(values(read, 0).size(), 6U);
}

TEST(Npy, IsWrittenWithTheElementsAtAMultipleOf64) {
  const Bytes bytes = written_as(read_bytes(raw(array)), "npy");
  EXPECT_EQ(bytes.size(), 128 + six.size());
  EXPECT_EQ(as_text(bytes).substr(128), six);
  EXPECT_EQ(written_as(read_bytes(bytes), "npy"), bytes);
}

TEST(Npy, KeepsFortransOrderAndItsBytes) {
  const Bytes bytes = written_as(read_bytes(raw(npy(line("<f4", "(2, 3)", "True"), six))), "npy");
  EXPECT_TRUE(has(std::string(as_text(bytes)), "'fortran_order': True"));
  EXPECT_EQ(as_text(bytes).substr(128), six);
}

TEST(Npy, HoldsNoTensorsByName) {
  EXPECT_TRUE(has(unsupported(assemble({source("w", {1}, {1})}), "npy"), "tensors under names, as 'w'"));
}

TEST(Npz, HoldsTensorsByNameInTheFilesOrder) {
  const Checkpoint read = read_bytes(zip({{.name = "b.npy", .data = array}, {.name = "a/x.npy", .data = array}}));
  EXPECT_EQ(read.format, "npz");
  EXPECT_EQ(names(read), (std::vector<std::string>{"b", "a/x"}));
  EXPECT_EQ(values(read, 1), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_TRUE(read.globals.empty());
}

TEST(Npz, MayBeDeflated) {
  const ZipPart part{.name = "w.npy",
                     .data = zip_testing::deflate_stored(array),
                     .method = 8,
                     .inflated_size = array.size(),
                     .inflated_crc = crc32(0, as_bytes(array))};
  EXPECT_EQ(values(read_bytes(zip({part})), 0), (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

TEST(Npz, MayLieInGzip) {
  const Checkpoint read = read_bytes(gzipped(zip({{.name = "w.npy", .data = array}})));
  EXPECT_TRUE(read.gzip);
  EXPECT_EQ(read.format, "npz");
  EXPECT_EQ(values(read, 0).size(), 6U);
}

TEST(Npz, TellsNamesApartByCase) {
  const Checkpoint read = read_bytes(zip({{.name = "W.npy", .data = array}, {.name = "w.npy", .data = array}}));
  EXPECT_EQ(names(read), (std::vector<std::string>{"W", "w"}));
  const auto error = refusal(zip({{.name = "w.npy", .data = array}, {.name = "w.npy", .data = array}}));
  ASSERT_TRUE(error);
  EXPECT_TRUE(has(error->what(), "two members named"));
}

TEST(Npz, IsNoTorchFileThatHoldsArrays) {
  const auto is = [](const std::vector<ZipPart>& parts) { return detect(source_of(zip(parts))).format; };
  EXPECT_EQ(is({{.name = "w.npy", .data = array}, {.name = "r/data.pkl", .data = "."}}), "torch");
  EXPECT_EQ(is({{.name = "r/data.pkl", .data = "."}, {.name = "w.npy", .data = array}}), "torch");
  EXPECT_EQ(is({{.name = "notes.txt", .data = "."}, {.name = "w.npy", .data = array}}), "npz");
  EXPECT_EQ(is({{.name = "notes.txt", .data = "."}}), "");
}

TEST(Npz, ThatIsCutIsStillAnNpz) {
  Bytes cut = zip({{.name = "w.npy", .data = array}});
  cut.resize(cut.size() - 10);
  EXPECT_EQ(detect(source_of(cut)).format, "npz");
  EXPECT_EQ(refusal(cut).value().code(), ErrorCode::truncated);
}

TEST(Npz, ComparesTheCrcOfTheElements) {
  const Checkpoint sound = read_bytes(zip({{.name = "w.npy", .data = array}}));
  EXPECT_EQ(sound.storages.front().bytes->recorded_crc32(), crc32(0, as_bytes(six)));
  const Checkpoint damaged = read_bytes(zip({{.name = "w.npy", .data = array, .crc = 7}}));
  for (const char* format : {"npz", "torch"}) {
    const auto error = error_of([&] { written_as(damaged, format); });
    ASSERT_TRUE(error) << format;
    EXPECT_EQ(error->code(), ErrorCode::corrupt) << error->what();
  }
}

TEST(Npz, HoldsNoMoreAndNoFewerElementsThanItsShapeSays) {
  EXPECT_EQ(refusal(zip({{.name = "w.npy", .data = array + "x"}})).value().code(), ErrorCode::corrupt);
  const Error shorter = refusal(zip({{.name = "w.npy", .data = array.substr(0, array.size() - 1)}})).value();
  EXPECT_EQ(shorter.code(), ErrorCode::truncated);
  EXPECT_TRUE(has(shorter.what(), "member 'w.npy': the array has 23 bytes, expected 24")) << shorter.what();
}

TEST(Npz, NamesTheArrayThatItCannotRead) {
  const std::string objects = npy(line("|O", "(1,)"), "\x80\4N.");
  const Error error = refusal(zip({{.name = "w.npy", .data = array}, {.name = "labels.npy", .data = objects}})).value();
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_TRUE(has(error.what(), "member 'labels.npy': the array holds Python objects")) << error.what();
}

TEST(Npz, HasEveryFaultFoundByVerify) {
  const std::string found = findings(zip({{.name = "a.npy", .data = array + "x"},
                                          {.name = "b.npy", .data = array, .crc = 1},
                                          {.name = "c.npy", .data = "no array"},
                                          {.name = "d.npy", .data = array}}));
  EXPECT_TRUE(has(found, "[member 'a.npy']")) << found;
  EXPECT_TRUE(has(found, "[member 'b.npy']")) << found;
  EXPECT_TRUE(has(found, "[member 'c.npy']")) << found;
  EXPECT_FALSE(has(found, "d.npy")) << found;
}

TEST(Npz, KeepsMembersThatAreNoArraysAndSaysSo) {
  const Checkpoint read = read_bytes(zip({{.name = "w.npy", .data = array}, {.name = "notes.txt", .data = "hello"}}));
  EXPECT_EQ(names(read), std::vector<std::string>{"w"});
  ASSERT_EQ(read.warnings.size(), 1U);
  EXPECT_TRUE(has(read.warnings.front(), "'notes.txt' is no array"));
  const Bytes again = written_as(read, "npz");
  const ZipReader back = ZipReader::open(source_of(again));
  ASSERT_NE(back.find("notes.txt"), nullptr);
  EXPECT_EQ(zip_testing::text_of(*back.read(*back.find("notes.txt"))), "hello");
}

TEST(Npz, RefusesNamesThatAreNotUtf8) {
  EXPECT_TRUE(has(refusal(zip({{.name = "\xff.npy", .data = array}})).value().what(), "UTF-8"));
}

TEST(Npz, LeavesOutOthersWhoseNamesAreNotUtf8) {
  const Checkpoint read = read_bytes(zip({{.name = "a.npy", .data = array}, {.name = "\xe9.txt", .data = "x"}}));
  ASSERT_EQ(read.warnings.size(), 1U);
  EXPECT_TRUE(has(read.warnings[0], "is left out"));
  EXPECT_EQ(findings(written_as(read, "npz")), "");
}

/// numpy takes "x.npy" for "x".
TEST(Npz, RefusesANameThatIsAnotherWithTheSuffix) {
  const Checkpoint made = assemble({source("x", {1}, {1}), source("x.npy", {1}, {2})});
  const auto error = io_testing::error_of([&] { written_as(made, "npz"); });
  ASSERT_TRUE(error);
  EXPECT_TRUE(has(error->what(), "'x.npy'")) << error->what();
}

TEST(Npz, IsWrittenTheSameEachTimeAndReadBack) {
  const Checkpoint made = assemble({source("b", {2, 2}, {1, 2, 3, 4}), source("a", {}, {5}), source("c", {0, 3}, {})});
  const Bytes bytes = written_as(made, "npz");
  EXPECT_EQ(written_as(made, "npz"), bytes);
  const Checkpoint back = read_bytes(bytes);
  EXPECT_EQ(names(back), (std::vector<std::string>{"b", "a", "c"}));
  EXPECT_EQ(digest(back).total, digest(made).total);
  EXPECT_EQ(findings(bytes), "");
  EXPECT_EQ(written_as(back, "npz"), bytes);
}

TEST(Npz, PutsElementsAtMultiplesOf64) {
  const Bytes bytes = written_as(assemble({source("a", {1}, {7}), source("b", {1}, {8})}), "npz");
  const ZipReader back = ZipReader::open(source_of(bytes));
  for (const ZipMember& member : back.members()) EXPECT_EQ(member.data_offset % 64, 0U) << member.name;
}

TEST(Npz, HoldsViewsWithTheirOwnElementsOnly) {
  const auto view = torch_testing::tensor(torch_testing::storage(), {2}, {2}, 1);
  const Checkpoint read = torch_testing::checkpoint_of(py::dict({{py::str("v"), view}}));
  EXPECT_EQ(values(read_bytes(written_as(read, "npz")), 0), (std::vector<float>{1, 3}));
}

TEST(Npz, HoldsNoTensorWithoutAName) {
  EXPECT_TRUE(has(unsupported(read_bytes(raw(array)), "npz"), "a tensor without a name"));
  for (const char* const format : {"npy", "npz"})
    EXPECT_TRUE(has(unsupported(torch_testing::checkpoint_of(py::dict({})), format), "no tensor, expected one"));
}

TEST(Npz, RefusesValuesThatAreNoTensorsByName) {
  const Checkpoint trainer =
      torch_testing::checkpoint_of(py::dict({{py::str("model"), py::dict({{py::str("w"), torch_testing::weight()}})},
                                             {py::str("epoch"), py::integer(3)},
                                             {py::str("lr"), py::list({py::none()})}}));
  EXPECT_EQ(unsupported(trainer, "npz"),
            "test.pt: 'epoch', 'lr.0' are no tensors, expected tensors alone, which is what this format holds");
  EXPECT_TRUE(has(unsupported(torch_testing::checkpoint_of(py::integer(3)), "npz"), "the object itself is no tensor"));
}

/// What is left once they are dropped is written.
TEST(Npz, NamesWhatToDropOfValuesThatAreNoTensors) {
  const auto hint_of = [](const py::Code& b) {
    const Checkpoint made =
        torch_testing::checkpoint_of(py::dict({{py::str("a"), torch_testing::weight()}, {py::str("b"), b}}));
    return error_of([&] { written_as(made, "npz"); })->hint();
  };
  const py::Code number = py::integer(1);
  EXPECT_TRUE(has(hint_of(py::dict({{py::str("c"), number}, {py::str("d"), py::dict({})}})), "--drop b leaves those"));
  const py::Code mixed = py::dict({{py::str("w"), torch_testing::weight()}, {py::str("c"), py::list({number})}});
  EXPECT_TRUE(has(hint_of(mixed), "--drop b.c leaves that out"));
  EXPECT_TRUE(
      has(hint_of(py::list({number, torch_testing::weight()})), "--drop b leaves that out, and tensors beside"));
}

TEST(Npz, RefusesDTypesThatNumpyLacksByTheTensorsName) {
  for (const DType dtype : {DType::bfloat16, DType::float8_e4m3fn, DType::complex32, DType::bits8}) {
    TensorSource odd{.name = "w", .dtype = dtype, .shape = {0}, .bytes = memory_source({}, "w")};
    EXPECT_TRUE(has(unsupported(assemble({odd}), "npz"), "tensor 'w' is " + std::string(dtype_name(dtype))));
  }
  const auto quantised = torch_testing::storage({.type = "QInt8Storage", .elements = 16});
  const Checkpoint odd =
      torch_testing::checkpoint_of(py::dict({{py::str("w"), torch_testing::tensor(quantised, {2}, {1})}}));
  EXPECT_TRUE(has(unsupported(odd, "npz"), "tensor 'w' is qint8"));
}

TEST(Npz, RefusesNamesThatNoArchiveHolds) {
  for (const char* name : {"../w", "/w", "a\\b", "c:/w"})
    EXPECT_TRUE(has(unsupported(assemble({source(name, {1}, {1})}), "npz"), "cannot be a member")) << name;
}

std::string left_out(const py::Code& object) {
  const io_testing::TemporaryFolder folder;
  std::string all;
  for (const std::string& what : save(torch_testing::checkpoint_of(object), folder / "out.npz").left_out)
    all += what + "\n";
  return all;
}

TEST(Npz, RefusesTwoTensorsOfOneName) {
  const auto weight = torch_testing::weight();
  const auto fault = [](const py::Code& object, const std::string& format) {
    const io_testing::TemporaryFolder folder;
    SaveOptions options;
    options.format = format;
    const auto error =
        io_testing::error_of([&] { save(torch_testing::checkpoint_of(object), folder / "out", options); });
    return error && error->code() == ErrorCode::invalid_argument ? std::string(error->what()) : std::string();
  };
  const py::Code nested = py::dict({{py::str("a"), py::dict({{py::str("b"), weight}})}, {py::str("a.b"), weight}});
  for (const char* format : {"npz", "safetensors", "safetensors-index", "torch-index"})
    EXPECT_TRUE(has(fault(nested, format), "two tensors are named 'a.b': ['a']['b'] and ['a.b']")) << format;
  EXPECT_TRUE(has(fault(py::dict({{py::integer(0), weight}, {py::str("0"), weight}}), "npz"), "'0': [0] and ['0']"));
}

TEST(Npz, RefusesKeysThatOnlyCodeCouldPrint) {
  const io_testing::TemporaryFolder folder;
  const py::Code key = py::call(py::global("torch", "device"), {py::str("cpu")});
  const auto checkpoint = torch_testing::checkpoint_of(py::dict({{key, torch_testing::weight()}}));
  for (const char* format : {"npz", "safetensors", "safetensors-index", "dcp"}) {
    SaveOptions options;
    options.format = format;
    const auto error = io_testing::error_of([&] { save(checkpoint, folder / "out", options); });
    ASSERT_TRUE(error) << format;
    EXPECT_TRUE(has(error->what(), "is an object, which only running code could print")) << error->what();
  }
}

TEST(Npz, TellsWhatItCannotSay) {
  const auto weight = torch_testing::weight();
  EXPECT_EQ(left_out(py::dict({{py::str("w"), weight}})), "");
  EXPECT_TRUE(has(left_out(py::dict({{py::str("m"), py::dict({{py::str("w"), weight}})}})), "nested"));
  EXPECT_TRUE(
      has(left_out(py::dict({{py::str("a"), weight}, {py::str("b"), weight}})), "share storage, such as 'a' and 'b'"));
  EXPECT_TRUE(has(left_out(py::dict({{py::integer(0), weight}})), "keys that are no strings become strings"));
  const auto on_gpu = torch_testing::tensor(torch_testing::storage({.location = "cuda:0"}), {4}, {1});
  EXPECT_TRUE(has(left_out(py::dict({{py::str("w"), on_gpu}})), "devices"));
  const auto parameter =
      py::call(py::global("torch._utils", "_rebuild_parameter"), {weight, py::boolean(true), py::ordered_dict({})});
  EXPECT_TRUE(has(left_out(py::dict({{py::str("w"), parameter}})), "Parameter"));
}

TEST(Npz, BecomesADictThatTorchLoadsLittleEndianWhateverItWas) {
  const Checkpoint read =
      read_bytes(zip({{.name = "b.npy", .data = npy(line(">i2", "(2,)"), std::string("\1\2\3\4", 4))},
                      {.name = "l.npy", .data = npy(line("<i2", "(2,)"), std::string("\2\1\4\3", 4))}}));
  const Checkpoint back = read_bytes(written_as(read, "torch"));
  EXPECT_EQ(back.values.kind(back.root), ValueKind::dict);
  for (const Storage& storage : back.storages) EXPECT_EQ(storage.byte_order, ByteOrder::little);
  EXPECT_EQ(digest(back).total, digest(read).total);
  EXPECT_EQ(digest(read_bytes(written_as(read, "torch-legacy"))).total, digest(read).total);
}

}  // namespace
}  // namespace ckpt
