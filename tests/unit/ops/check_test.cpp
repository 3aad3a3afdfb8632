#include "ckpt/check.h"

#include <gtest/gtest.h>

#include "ckpt/error.h"
#include "formats/torch_files.h"
#include "ops/check_fix.h"

namespace ckpt {
namespace {

using Names = std::vector<std::string>;
using Shape = std::vector<std::int64_t>;
using torch_testing::ZipFile;

py::Code of_shape(const Shape& shape, const std::string& type = "FloatStorage") {
  Shape stride(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) stride[i - 1] = stride[i] * shape[i];
  return torch_testing::tensor(torch_testing::storage({type, type, "cpu", 4}), shape, stride);
}

using Keys = std::vector<std::pair<std::string, Shape>>;

py::Code dict_of(const Keys& keys, const py::Pairs& more = {}) {
  py::Pairs pairs;
  for (const auto& [name, shape] : keys) pairs.emplace_back(py::str(name), of_shape(shape));
  pairs.insert(pairs.end(), more.begin(), more.end());
  return py::ordered_dict(pairs);
}

Checkpoint file_of(const py::Code& object) {
  ZipFile file{.object = object, .data = {{"data/FloatStorage", torch_testing::floats({0, 1, 2, 3})}}};
  if (object.find("HalfStorage") != std::string::npos)
    file.data.push_back({"data/HalfStorage", torch_testing::floats({0, 1})});
  return torch_testing::read_bytes(torch_testing::bytes_of(file));
}

CheckReport checked(const py::Code& object, const py::Code& like) { return check(file_of(object), file_of(like)); }

/// With `_metadata` that names modules and their versions.
py::Code with_versions(const py::Code& dict, const std::vector<std::pair<std::string, std::int64_t>>& versions) {
  py::Pairs modules;
  for (const auto& [name, version] : versions)
    modules.emplace_back(py::str(name), py::dict({{py::str("version"), py::integer(version)}}));
  return py::build(dict, py::dict({{py::str("_metadata"), py::ordered_dict(modules)}}));
}

TEST(Check, TheSameKeysAndShapesLoad) {
  const auto report = checked(dict_of({{"a", {2}}, {"b", {1, 2}}}), dict_of({{"b", {1, 2}}, {"a", {2}}}));
  EXPECT_TRUE(report.loads());
  EXPECT_EQ(report.keys, 2U);
  EXPECT_TRUE(load_errors(report).empty());
}

TEST(Check, AStateDictUnderTwoPathsIsFoundAtEither) {
  const auto both =
      file_of(py::dict({{py::str("model"), py::put(dict_of({{"a", {1}}}), 9)}, {py::str("best"), py::get(9)}}));
  EXPECT_TRUE(check(both, file_of(dict_of({{"a", {1}}})), {"best", "auto"}).loads());
}

TEST(Check, OfUnusualPathsOfOneStateDictAutoTakesTheFirst) {
  const auto both =
      file_of(py::dict({{py::str("best"), py::put(dict_of({{"a", {1}}}), 9)}, {py::str("ema"), py::get(9)}}));
  EXPECT_EQ(check(both, file_of(dict_of({{"a", {1}}}))).root, "best");
}

TEST(Check, AutoPrefersAUsualPathOfAStateDictUnderTwo) {
  const auto both = file_of(py::dict({{py::str("best"), py::put(dict_of({{"a", {1}}}), 9)},
                                      {py::str("state_dict"), py::get(9)},
                                      {py::str("model"), dict_of({{"a", {2}}})}}));
  EXPECT_EQ(check(both, file_of(dict_of({{"a", {1}}}))).root, "state_dict");
}

TEST(Check, WhatAQuantisedLayerPacksLoads) {
  const auto packed =
      dict_of({{"fc.scale", {1}}}, {{py::str("fc._packed_params.dtype"), py::integer(1)},
                                    {py::str("fc._packed_params._packed_params"), py::tuple({of_shape({1})})}});
  EXPECT_TRUE(checked(packed, packed).loads());
  EXPECT_EQ(checked(dict_of({{"fc.scale", {1}}}), packed).missing.size(), 2U);
}

TEST(Check, NoDropOfAValueWithTensorsIsProposed) {
  const auto nested = dict_of({{"a.weight", {1}}}, {{py::str("b.weight"), py::list({of_shape({1})})}});
  const auto error = io_testing::error_of([&] { checked(nested, nested); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->hint().find("--drop"), std::string::npos) << error->hint();
}

TEST(Check, MissingKeysAreInTheModelsOrder) {
  EXPECT_EQ(checked(dict_of({{"b", {1}}}), dict_of({{"c", {1}}, {"b", {1}}, {"a", {1}}})).missing, (Names{"c", "a"}));
}

TEST(Check, UnexpectedKeysAreInTheOrderOfTheModulesThatMeetThem) {
  const Keys like{{"stem.w", {1}}, {"block.fc.w", {1}}};
  const auto report = checked(dict_of({{"block.fc.x", {1}},
                                       {"other.deep.y", {1}},
                                       {"block.z", {1}},
                                       {"stem.q", {1}},
                                       {"top", {1}},
                                       {"stem.w", {1}},
                                       {"block.fc.w", {1}}}),
                              dict_of(like));
  EXPECT_EQ(report.unexpected, (Names{"other.deep.y", "top", "stem.q", "block.z", "block.fc.x"}));
}

TEST(Check, ModulesWithoutParametersAreKnownFromMetadata) {
  const py::Code like = with_versions(dict_of({{"a.w", {1}}, {"b.w", {1}}}), {{"", 1}, {"act", 1}, {"a", 1}, {"b", 1}});
  const auto report = checked(dict_of({{"a.w", {1}}, {"b.w", {1}}, {"b.x", {1}}, {"act.slope", {1}}}), like);
  EXPECT_EQ(report.unexpected, (Names{"act.slope", "b.x"}));
}

TEST(Check, LinesArePyTorchs) {
  const auto report =
      checked(dict_of({{"x", {1}}, {"fc.w", {2, 1}}}), dict_of({{"y", {1}}, {"z", {1}}, {"fc.w", {1, 2}}}));
  EXPECT_EQ(
      load_errors(report),
      (Names{"Missing key(s) in state_dict: \"y\", \"z\". ", "Unexpected key(s) in state_dict: \"x\". ",
             "size mismatch for fc.w: copying a param with shape torch.Size([2, 1]) from checkpoint, the shape in "
             "current model is torch.Size([1, 2])."}));
}

TEST(Check, OneElementLoadsIntoAScalarAndNotTheOtherWay) {
  EXPECT_TRUE(checked(dict_of({{"s", {1}}}), dict_of({{"s", {}}})).loads());
  EXPECT_FALSE(checked(dict_of({{"s", {}}}), dict_of({{"s", {1}}})).loads());
  EXPECT_FALSE(checked(dict_of({{"s", {2}}}), dict_of({{"s", {}}})).loads());
  EXPECT_FALSE(checked(dict_of({{"s", {1, 1}}}), dict_of({{"s", {}}})).loads());
}

TEST(Check, BatchesMayBeMissingFromBeforeTheyWereTracked) {
  const Keys old{{"bn.running_mean", {1}}}, like{{"bn.running_mean", {1}}, {"bn.num_batches_tracked", {}}};
  EXPECT_EQ(checked(dict_of(old), dict_of(like)).forgiven, (Names{"bn.num_batches_tracked"}));
  EXPECT_TRUE(checked(with_versions(dict_of(old), {{"", 1}, {"bn", 1}}), dict_of(like)).loads());
  EXPECT_FALSE(checked(with_versions(dict_of(old), {{"", 1}, {"bn", 2}}), dict_of(like)).loads());
  EXPECT_FALSE(checked(dict_of({{"w", {1}}}), dict_of({{"w", {1}}, {"num_batches_tracked", {}}})).loads())
      << "no norm has this one";
}

TEST(Check, DTypesAreListedApart) {
  const auto report = checked(py::ordered_dict({{py::str("w"), of_shape({2}, "HalfStorage")}}), dict_of({{"w", {2}}}));
  EXPECT_TRUE(report.loads());
  ASSERT_EQ(report.dtypes.size(), 1U);
  EXPECT_EQ(report.dtypes[0].dtype, "float16");
  EXPECT_EQ(report.dtypes[0].like_dtype, "float32");
}

TEST(Check, StateDictsAreFoundInBoth) {
  const py::Code trainer = py::dict({{py::str("epoch"), py::integer(1)}, {py::str("model"), dict_of({{"w", {1}}})}});
  const auto report = checked(trainer, dict_of({{"w", {1}}}));
  EXPECT_TRUE(report.loads());
  EXPECT_EQ(report.root, "model");
  EXPECT_EQ(report.like_root, "");
}

TEST(Check, ARootWithoutStateDictIsRefused) {
  const Checkpoint file = file_of(dict_of({{"w", {1}}}));
  EXPECT_THROW(check(file, file, {.root = "model"}), Error);
  EXPECT_THROW(check(file, file_of(py::none())), Error);
}

TEST(Check, AnUnclearRootOfTheReferenceHasItsOwnOption) {
  const py::Code two = py::dict({{py::str("g"), dict_of({{"w", {1}}})}, {py::str("d"), dict_of({{"v", {1}}})}});
  try {
    checked(dict_of({{"w", {1}}}), two);
    FAIL() << "was clear";
  } catch (const Error& error) {
    EXPECT_EQ(error.hint(), "--like-root g");
  }
}

std::string fix(const std::vector<std::string_view>& keys, const std::vector<std::string_view>& like) {
  const auto found = find_fix(keys, like);
  if (!found) return "none";
  std::string out = "-" + found->strip_prefix + " +" + found->add_prefix;
  for (const std::string& glob : found->drop) out += " drop " + glob;
  return out;
}

TEST(Check, KeysFarLongerThanAModelsHaveNoPrefix) {
  const std::string longest(4096, 'a');
  EXPECT_EQ(fix({longest.substr(2) + ".w"}, {"w"}), "-" + longest.substr(2) + ". +");
  EXPECT_EQ(fix({longest + ".w"}, {"w"}), "none");
  EXPECT_EQ(fix({"w"}, {longest + ".w"}), "none");
}

TEST(Check, PrefixesThatMakeKeysAgreeAreFound) {
  EXPECT_EQ(fix({"module.a.w", "module.b.w"}, {"a.w", "b.w"}), "-module. +");
  EXPECT_EQ(fix({"a.w", "b.w"}, {"m.a.w", "m.b.w"}), "- +m.");
  EXPECT_EQ(fix({"net.a.w", "net.b.w"}, {"model.a.w", "model.b.w"}), "-net. +model.");
  EXPECT_EQ(fix({"x.m.a", "x.m.b"}, {"x.a", "x.b"}), "-x.m. +x.");
  EXPECT_EQ(fix({"module.a.w", "b.w"}, {"a.w", "b.w"}), "-module. +") << "as strip-prefix, which leaves others";
}

TEST(Check, WhatIsTooMuchIsDropped) {
  EXPECT_EQ(fix({"a.w", "head.w", "head.b"}, {"a.w"}), "- + drop head.*");
  EXPECT_EQ(fix({"a.w", "a.x[0]"}, {"a.w"}), "- + drop a.x\\[0]");
}

TEST(Check, NothingIsProposedWhereNothingMends) {
  EXPECT_EQ(fix({"a.w"}, {"a.w", "b.w"}), "none");
  EXPECT_EQ(fix({"a", "b"}, {"c", "d"}), "none");
  EXPECT_EQ(fix({"m.a.w", "a.w"}, {"a.w", "b.w"}), "none") << "two keys would become one";
}

TEST(Check, AnotherStateDictOfTheFileMayBeTheRightOne) {
  const py::Code trainer =
      py::dict({{py::str("model"), dict_of({{"x", {1}}})}, {py::str("ema"), dict_of({{"w", {1}}})}});
  const auto report = checked(trainer, dict_of({{"w", {1}}}));
  ASSERT_TRUE(report.fix);
  EXPECT_EQ(report.fix->root, "ema");
}

TEST(Check, ManyOtherStateDictsOfManyTensorsAreLookedThroughAtOnce) {
  py::Pairs dicts;
  for (int i = 0; i < 10'000; ++i) dicts.emplace_back(py::str("d" + std::to_string(i)), dict_of({{"x", {1}}}));
  dicts.emplace_back(py::str("ema"), dict_of({{"w", {1}}}));
  const auto report = check(file_of(py::dict(dicts)), file_of(dict_of({{"w", {1}}})), {.root = "d0"});
  ASSERT_TRUE(report.fix);
  EXPECT_EQ(report.fix->root, "ema");
}

TEST(Check, WhatIsDroppedIsNamedByAGlobThatMatchesItsRoot) {
  const py::Code trainer = py::dict({{py::str("ema[0]"), dict_of({{"w", {1}}, {"x", {1}}})}});
  const auto report = checked(trainer, dict_of({{"w", {1}}}));
  ASSERT_TRUE(report.fix);
  EXPECT_EQ(report.fix->drop, (Names{"ema\\[0].x"}));
}

TEST(Check, AKeyOfManyPartsTakesNoSquareOfThem) {
  const std::string dots(200'000, '.');
  const auto report = checked(dict_of({{"w", {1}}, {dots + "y", {1}}}), dict_of({{"w", {1}}, {dots + "x", {1}}}));
  EXPECT_EQ(report.unexpected, (Names{dots + "y"}));
}

TEST(Check, MoreModulesThanAFileOfItsTensorsHasAreRefused) {
  const Checkpoint many = file_of(dict_of({{std::string(300'000, '.') + "w", {1}}}));
  try {
    check(many, many);
    FAIL() << "was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::limit_exceeded);
    EXPECT_NE(std::string(error.what()).find("modules"), std::string::npos);
  }
}

TEST(CheckTest, AModelIsKnownByItsTensors) {
  const Checkpoint file = file_of(dict_of({{"a.weight", {2, 2}}, {"b.weight", {4}}, {"c", {1}}}));
  const std::vector<ModelTensor> model{{"a.weight", {2, 2}}, {"a.bias", {2}}, {"b.weight", {2}}, {"c", {}}};
  EXPECT_EQ(
      load_errors(check(file, model)),
      (Names{"Missing key(s) in state_dict: \"a.bias\". ",
             "size mismatch for b.weight: copying a param with shape torch.Size([4]) from checkpoint, the shape in "
             "current model is torch.Size([2])."}));
}

TEST(CheckTest, FixCommandNamesTheFile) {
  const Checkpoint file = file_of(dict_of({{"module.a", {1}}, {"module.b", {1}}}));
  EXPECT_EQ(fix_command(check(file, {{"a", {1}}, {"b", {1}}}), "my file.pt"), "ckpt strip-prefix 'my file.pt' OUT");
  EXPECT_EQ(fix_command(check(file, {{"other", {1}}}), "x.pt"), "");
}

}  // namespace
}  // namespace ckpt
