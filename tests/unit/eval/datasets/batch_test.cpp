#include "datasets/batch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ckpt/error.h"
#include "eval/datasets/dataset_testing.h"

namespace ckpt::eval {
namespace {

using namespace eval_testing;
using io_testing::error_of;
using io_testing::gzipped;
using io_testing::put_file;
using io_testing::TemporaryFolder;

Everything read_batch(const Bytes& file, const Signature& signature = small_model(), std::uint64_t step = 2,
                      const std::string& split = "testing") {
  const TemporaryFolder folder;
  put_file(folder / "any_name", file);
  return read_all(*opened(folder / "any_name", signature, split), step);
}

void expect_five(const Everything& all) {
  EXPECT_EQ(all.inputs, counted(30));
  EXPECT_EQ(all.labels, (std::vector<std::int32_t>{0, 1, 2, 0, 1}));
}

std::vector<std::int32_t> labels_of(const TensorSpec& targets, const Signature& signature = small_model()) {
  return read_batch(saved_tuple({small_inputs(targets.shape[0]), targets}), signature).labels;
}

std::vector<float> floats_of(const TensorSpec& inputs) {
  const Bytes bytes = read_batch(saved_tuple({inputs, small_classes(inputs.shape[0])})).inputs;
  std::vector<float> floats(bytes.size() / sizeof(float));
  if (!floats.empty()) std::memcpy(floats.data(), bytes.data(), bytes.size());
  return floats;
}

std::string complaint(const Bytes& file, const Signature& signature = small_model()) {
  const auto error = error_of([&] { read_batch(file, signature); });
  return error ? error->what() : "";
}

Signature signature_of(std::int64_t positions, std::int64_t classes) {
  Signature signature = small_model();
  signature.positions = positions;
  signature.classes = classes;
  return signature;
}

TEST(Batch, ATupleUnderAnyName) { expect_five(read_batch(batch(5))); }
TEST(Batch, InGzip) { expect_five(read_batch(gzipped(batch(5)))); }
TEST(Batch, AList) { expect_five(read_batch(saved_list({small_inputs(5), small_classes(5)}))); }

TEST(Batch, ADictWhoseKeysSayWhichIsWhich) {
  for (const auto& [inputs, targets] :
       {std::pair{"images", "labels"}, {"inputs", "targets"}, {"x", "y"}, {"data", "targets"}})
    expect_five(read_batch(saved_dict({{targets, small_classes(5)}, {inputs, small_inputs(5)}})));
}

TEST(Batch, OtherTensorsOfADictArePassedOver) {
  expect_five(
      read_batch(saved_dict({{"ids", small_classes(7)}, {"images", small_inputs(5)}, {"labels", small_classes(5)}})));
}

TEST(Batch, NamesThatTellTheSplit) {
  const Bytes file = saved_dict({{"x_train", small_inputs(2)},
                                 {"y_train", small_classes(2)},
                                 {"x_test", small_inputs(5)},
                                 {"y_test", small_classes(5)}});
  expect_five(read_batch(file));
  EXPECT_EQ(read_batch(file, small_model(), 2, "training").labels.size(), 2U);
}

TEST(Batch, NamesThatTellTheSplitGoBeforeOthers) {
  for (const auto& [inputs, targets] : {std::pair{"x", "y"}, {"images", "labels"}}) {
    const Bytes file = saved_dict({{inputs, small_inputs(2)},
                                   {targets, small_classes(2)},
                                   {"x_test", small_inputs(5)},
                                   {"y_test", small_classes(5)}});
    expect_five(read_batch(file));
    EXPECT_EQ(read_batch(file, small_model(), 2, "training").labels.size(), 2U);
  }
}

TEST(Batch, SeveralPairsAreRefusedWithTheCommandThatLeavesOne) {
  const TemporaryFolder folder;
  put_file(folder / "two.pt",
           saved_dict({{"data", small_inputs(5)}, {"targets", small_classes(5)}, {"labels", small_classes(5)}}));
  const auto error = error_of([&] { static_cast<void>(Batch(folder / "two.pt", "testing")); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  EXPECT_STREQ(error->what(), (folder / "two.pt" +
                               ": several pairs of its tensors could be meant: data with targets, data with labels, "
                               "expected one pair of inputs and targets")
                                  .c_str());
  EXPECT_EQ(error->hint(), "leave the others out: ckpt convert " + folder / "two.pt" + " OUT --drop labels");
}

TEST(Batch, AModelInTheirPlaceIsNamed) {
  EXPECT_NE(complaint(saved_dict({{"fc.weight", {"Float", {2, 2}, raw<float>({1, 2, 3, 4})}}}))
                .find("'fc.weight' float32 [2, 2]"),
            std::string::npos);
}

TEST(Batch, ATupleOfThreeIsRefused) {
  EXPECT_NE(complaint(saved_tuple({small_inputs(5), small_classes(5), small_classes(5)})).find("3 tensors"),
            std::string::npos);
}

TEST(Batch, CountsMustAgree) {
  EXPECT_NE(complaint(saved_tuple({small_inputs(5), small_classes(4)})).find("4 targets, expected 5"),
            std::string::npos);
}

TEST(Batch, ASingleNumberHasNoSamples) {
  EXPECT_NE(complaint(saved_tuple({{"Byte", {}, counted(1)}, small_classes(1)})).find("a single number"),
            std::string::npos);
}

TEST(Batch, AnEmptyOneIsRead) { EXPECT_TRUE(read_batch(batch(0)).labels.empty()); }

TEST(Batch, FloatsAreTakenAsTheyAre) {
  const std::vector<float> values{-1, 0.5F, 2, std::numeric_limits<float>::infinity(), 255, 1e-30F};
  EXPECT_EQ(floats_of({"Float", {1, 6}, raw(values)}), values);
}

TEST(Batch, NanPasses) {
  EXPECT_TRUE(std::isnan(floats_of({"Float", {1, 6}, raw<float>({0, 0, std::nanf(""), 0, 0, 0})})[2]));
}

TEST(Batch, DoublesAreRounded) {
  EXPECT_EQ(floats_of({"Double", {1, 6}, raw<double>({0.1, 1e300, 3, 4, 5, 6})}),
            (std::vector<float>{0.1F, std::numeric_limits<float>::infinity(), 3, 4, 5, 6}));
}

TEST(Batch, HalfPrecision) {
  EXPECT_EQ(floats_of({"Half", {1, 6}, raw<std::uint16_t>({0x3C00, 0xC000, 0x0001, 0x7BFF, 0xFC00, 0x3555})}),
            (std::vector<float>{1, -2, 0x1p-24F, 65504, -std::numeric_limits<float>::infinity(), 0.333251953125F}));
}

TEST(Batch, BrainFloats) {
  EXPECT_EQ(floats_of({"BFloat16", {1, 6}, raw<std::uint16_t>({0x3F80, 0xC000, 0, 0x7F80, 0x3EAB, 0x0001})}),
            (std::vector<float>{1, -2, 0, std::numeric_limits<float>::infinity(), 0.333984375F, 0x1p-133F}));
}

TEST(Batch, OtherIntegersThanBytesAreNoInputs) {
  const TensorSpec longs{"Long", {1, 6}, raw<std::int64_t>({0, 1, 2, 3, 4, 5})};
  EXPECT_NE(complaint(saved_tuple({longs, small_classes(1)})).find("inputs are int64, expected uint8"),
            std::string::npos);
}

TEST(Batch, StridedInputsAreReadInTheOrderOfTheirIndices) {
  const TensorSpec transposed{"Byte", {2, 3, 2}, counted(20), {6, 1, 3}, 1};
  const Bytes all = read_batch(saved_tuple({transposed, small_classes(2)}), small_model(), 1).inputs;
  std::vector<int> numbers;
  for (const std::byte byte : all) numbers.push_back(std::to_integer<int>(byte));
  EXPECT_EQ(numbers, (std::vector<int>{1, 4, 2, 5, 3, 6, 7, 10, 8, 11, 9, 12}));
}

TEST(Batch, ExpandedInputsAreReadAsOftenAsTheyShow) {
  const TensorSpec expanded{"Byte", {3, 6}, counted(6), {0, 1}};
  EXPECT_EQ(read_batch(saved_tuple({expanded, small_classes(3)})).inputs.size(), 18U);
}

TEST(Batch, BigEndianIsTurned) {
  torch_testing::ZipFile file{.object = {}, .data = {}, .byteorder = "big"};
  file.data = {{"data/0", counted(6)}, {"data/1", raw<std::uint64_t>({__builtin_bswap64(2)})}};
  file.object = py::tuple(
      {torch_testing::tensor(torch_testing::storage({.type = "ByteStorage", .elements = 6}), {1, 6}, {6, 1}),
       torch_testing::tensor(torch_testing::storage({.key = "1", .type = "LongStorage", .elements = 1}), {1}, {1})});
  EXPECT_EQ(read_batch(torch_testing::bytes_of(file)).labels, std::vector<std::int32_t>{2});
}

TEST(Batch, AFlippedByteOfTheInputsIsFound) {
  Bytes file = batch(50);
  const Bytes needle = counted(100);
  const auto at = std::search(file.begin(), file.end(), needle.begin(), needle.end());
  ASSERT_NE(at, file.end());
  at[50] ^= std::byte{1};
  EXPECT_NE(complaint(file).find("CRC"), std::string::npos) << complaint(file);
}

TEST(Batch, AFlippedByteInGzipIsFound) {
  Bytes file = gzipped(batch(50));
  file[file.size() - 6] ^= std::byte{1};
  EXPECT_FALSE(complaint(file).empty());
}

TEST(Batch, BytesAfterItsGzipStreamAreToldOnce) {
  const TemporaryFolder folder;
  Bytes file = gzipped(batch(5));
  file.resize(file.size() + 7, std::byte{1});
  put_file(folder / "junk.pt.gz", file);
  const auto data = opened(folder / "junk.pt.gz", small_model());
  for (int time = 0; time < 2; ++time) expect_five(read_all(*data));
  EXPECT_EQ(data->warnings(),
            std::vector<std::string>{folder / "junk.pt.gz" +
                                     ": 7 bytes follow the gzip stream, belong to nothing and are left out"});
}

TEST(Targets, AnyIntegerDtype) {
  const std::vector<std::int32_t> expected{0, 2, 1};
  EXPECT_EQ(labels_of({"Byte", {3}, raw<std::uint8_t>({0, 2, 1})}), expected);
  EXPECT_EQ(labels_of({"Char", {3}, raw<std::int8_t>({0, 2, 1})}), expected);
  EXPECT_EQ(labels_of({"Short", {3}, raw<std::int16_t>({0, 2, 1})}), expected);
  EXPECT_EQ(labels_of({"Int", {3}, raw<std::int32_t>({0, 2, 1})}), expected);
  EXPECT_EQ(labels_of({"Long", {3}, raw<std::int64_t>({0, 2, 1})}), expected);
}

TEST(Targets, AColumnOfClasses) {
  EXPECT_EQ(labels_of({"Long", {3, 1}, raw<std::int64_t>({0, 2, 1})}), (std::vector<std::int32_t>{0, 2, 1}));
}

TEST(Targets, AClassAPosition) {
  EXPECT_EQ(labels_of({"Long", {2, 2}, raw<std::int64_t>({0, 2, 1, 0})}, signature_of(2, 3)),
            (std::vector<std::int32_t>{0, 2, 1, 0}));
}

TEST(Targets, OneHotFloats) {
  EXPECT_EQ(labels_of({"Float", {2, 3}, raw<float>({0, 0, 1, 1, 0, 0})}), (std::vector<std::int32_t>{2, 0}));
}

TEST(Targets, OneHotIntegersAndBools) {
  EXPECT_EQ(labels_of({"Long", {2, 3}, raw<std::int64_t>({0, 0, 1, 1, 0, 0})}), (std::vector<std::int32_t>{2, 0}));
  EXPECT_EQ(labels_of({"Bool", {2, 3}, raw<std::uint8_t>({0, 0, 1, 1, 0, 0})}), (std::vector<std::int32_t>{2, 0}));
}

TEST(Targets, OneHotAPositionFlatOrNot) {
  const Bytes numbers = raw<float>({0, 0, 1, 0, 1, 0});
  for (const Shape& shape : {Shape{1, 6}, Shape{1, 2, 3}})
    EXPECT_EQ(labels_of({"Float", shape, numbers}, signature_of(2, 3)), (std::vector<std::int32_t>{2, 1}));
}

TEST(Targets, TheFirstOfEqualOnesDecides) {
  EXPECT_EQ(labels_of({"Float", {2, 3}, raw<float>({0.1F, 0.45F, 0.45F, 0, 0, 0})}), (std::vector<std::int32_t>{1, 0}));
}

TEST(Targets, DoublesAreComparedAsDoubles) {
  EXPECT_EQ(labels_of({"Double", {1, 3}, raw<double>({0.1, 0.1 + 1e-15, 0})}), std::vector<std::int32_t>{1});
}

TEST(Targets, WithoutClassesOfTheModelAnyAreTaken) {
  EXPECT_EQ(labels_of({"Long", {1}, raw<std::int64_t>({999})}, signature_of(1, 0)), std::vector<std::int32_t>{999});
  EXPECT_EQ(labels_of({"Float", {1, 4}, raw<float>({0, 0, 0, 1})}, signature_of(1, 0)), std::vector<std::int32_t>{3});
}

TEST(Targets, OutOfRangeIsNamedWithItsSample) {
  for (const std::int64_t label : {std::int64_t{-1}, std::int64_t{3}, std::int64_t{1} << 32, INT64_MIN}) {
    const std::string said = complaint(saved_tuple({small_inputs(2), {"Long", {2}, raw<std::int64_t>({0, label})}}));
    EXPECT_NE(said.find("sample 1 is of class " + std::to_string(label) + ", expected 0 to 2"), std::string::npos)
        << said;
  }
}

TEST(Targets, NanIsNamedWithItsSample) {
  const std::string said =
      complaint(saved_tuple({small_inputs(2), {"Float", {2, 3}, raw<float>({0, 0, 1, 0, std::nanf(""), 0})}}));
  EXPECT_NE(said.find("the target of sample 1 holds NaN"), std::string::npos) << said;
}

TEST(Targets, NumbersThatDoNotFitAreRefusedWithBoth) {
  const std::string said = complaint(saved_tuple({small_inputs(1), {"Float", {1, 4}, raw<float>({0, 0, 0, 1})}}));
  EXPECT_NE(said.find("float32 of shape [4] a sample, expected one integer a sample, or 3 numbers"), std::string::npos)
      << said;
}

TEST(Targets, FloatsAreNoClasses) {
  EXPECT_NE(complaint(saved_tuple({small_inputs(2), {"Float", {2}, raw<float>({0, 1})}})), "");
}

TEST(Targets, ExpandedPastTheCapAreRefused) {
  constexpr std::int64_t many = std::int64_t{1} << 27;
  const std::string said =
      complaint(saved_tuple({{"Byte", {many, 6}, counted(6), {0, 0}}, {"Byte", {many}, counted(1), {0}}}));
  EXPECT_NE(said.find("at most"), std::string::npos) << said;
}

}  // namespace
}  // namespace ckpt::eval
