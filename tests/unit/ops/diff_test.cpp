#include "ckpt/diff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

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

py::Code in_dict(const py::Code& value) { return py::dict({{py::str("x"), value}}); }

TEST(Diff, NothingDiffersFromItself) {
  const Checkpoint checkpoint = of_tensors({{"a", {1, 2}}, {"b", {3}}}, "cuda:0", {{py::str("lr"), py::real(0.1)}});
  const CheckpointDiff found = diff(checkpoint, checkpoint);
  EXPECT_TRUE(found.same());
  EXPECT_EQ(found.compared, 2U);
}

TEST(Diff, ToleratesNothingBelowNothing) {
  const Checkpoint checkpoint = Checkpoint();
  for (const double tolerance : {-1.0, std::nan("")}) {
    EXPECT_TRUE(io_testing::error_of([&] { diff(checkpoint, checkpoint, {.rtol = tolerance, .atol = {}}); }));
    EXPECT_TRUE(io_testing::error_of([&] { diff(checkpoint, checkpoint, {.rtol = {}, .atol = tolerance}); }));
  }
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

/// Where the object trees of two files hold a tensor, as names and as torch.load gives it.
Names told(const py::Code& a, const py::Code& b) {
  const CheckpointDiff found = diff(torch_testing::checkpoint_of(a), torch_testing::checkpoint_of(b));
  EXPECT_TRUE(found.only_a.empty() && found.only_b.empty() && found.tensors.empty());
  Names lines;
  for (const OtherDifference& other : found.other) lines.push_back((other.a ? "-" : "+") + other.path);
  return lines;
}

TEST(Diff, ATensorOfOneNameInAnotherPlaceIsTold) {
  EXPECT_EQ(told(py::dict({{py::integer(1), weight()}}), py::dict({{py::str("1"), weight()}})), (Names{"-1", "+1"}));
  const auto state = [](const py::Code& key) { return in_dict(py::dict({{key, weight()}})); };
  EXPECT_EQ(told(state(py::boolean(true)), state(py::str("True"))), (Names{"-x.True", "+x.True"}));
  EXPECT_EQ(told(py::dict({{py::str("a.b"), weight()}, {py::str("a"), py::dict({{py::str("c"), weight()}})}}),
                 py::dict({{py::str("a.c"), weight()}, {py::str("a"), py::dict({{py::str("b"), weight()}})}})),
            (Names{"-a.b", "+a.c", "-a.c", "+a.b"}));
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

/// Whether it is said of "a" and "b", and of nothing else, from both sides.
bool tells_sharing(const Checkpoint& tied, const Checkpoint& apart) {
  const auto lost = diff(tied, apart).sharing, won = diff(apart, tied).sharing;
  return lost.size() == 1 && lost[0].shared_in_a && lost[0].names == Names{"a", "b"} && won.size() == 1 &&
         !won[0].shared_in_a;
}

TEST(Diff, LostSharingIsFoundBothWays) {
  const auto two = torch_testing::storage({"1", "FloatStorage", "cpu", 4});
  ZipFile file{.object = py::dict({{py::str("a"), weight()}, {py::str("b"), weight()}})};
  const auto tied = torch_testing::read_bytes(torch_testing::bytes_of(file));
  file.object = py::dict({{py::str("a"), weight()}, {py::str("b"), tensor(two, {4}, {1})}});
  file.data.push_back({"data/1", floats({0, 1, 2, 3})});
  const auto apart = torch_testing::read_bytes(torch_testing::bytes_of(file));
  EXPECT_TRUE(tells_sharing(tied, apart));
  EXPECT_TRUE(diff(tied, apart).tensors.empty());
}

TEST(Diff, TiedTensorsThatBecameTwoOfOneStorageAreFound) {
  const auto one = [](std::size_t second) {
    const auto whole = torch_testing::storage({"0", "FloatStorage", "cpu", 8});
    ZipFile file{.object = py::dict({{py::str("a"), torch_testing::tensor(whole, {4}, {1}, 0)},
                                     {py::str("b"), torch_testing::tensor(whole, {4}, {1}, second)}})};
    file.data = {{"data/0", floats({0, 1, 2, 3, 0, 1, 2, 3})}};
    return torch_testing::read_bytes(torch_testing::bytes_of(file));
  };
  const auto tied = one(0), apart = one(4);
  EXPECT_TRUE(tells_sharing(tied, apart));
  EXPECT_TRUE(diff(tied, tied).same());
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

// Of two files, the one that is inflated is read in the order of its bytes, on whichever side it is.
TEST(Diff, ReadsWhatIsCompressedForward) {
  const auto of_order = [](std::size_t step) {
    return io_testing::bytes_of(safetensors_testing::shuffled(100, 40'000, step));
  };
  const Checkpoint plain = torch_testing::read_bytes(of_order(1));
  const Checkpoint legacy = torch_testing::read_bytes(torch_testing::written_as(plain, "torch-legacy"));
  const auto packed = std::make_shared<io_testing::CountingSource>(io_testing::gzipped(of_order(37)));
  for (const Checkpoint* other : {&plain, &legacy}) {
    packed->read = 0;
    EXPECT_TRUE(diff(*other, read(packed)).tensors.empty());
    EXPECT_LT(packed->read, 3 * packed->size());
    packed->read = 0;
    EXPECT_TRUE(diff(read(packed), *other).tensors.empty());
    EXPECT_LT(packed->read, 3 * packed->size());
  }
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
