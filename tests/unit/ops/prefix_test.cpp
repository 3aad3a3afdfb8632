#include <gtest/gtest.h>

#include "ckpt/error.h"
#include "ckpt/ops.h"
#include "ckpt/state_dict.h"
#include "formats/torch_files.h"

namespace ckpt {
namespace {

using Keys = std::vector<std::string>;
using torch_testing::checkpoint_of;
using torch_testing::weight;

py::Code weights(const Keys& keys) {
  py::Pairs pairs;
  for (const std::string& key : keys) pairs.emplace_back(py::str(key), weight());
  return py::ordered_dict(pairs);
}

/// A state dict with _metadata, whose entries say which name they had: {'': {'version': 0}, 'module': {'version': 1}}.
py::Code with_metadata(const Keys& keys, const Keys& modules) {
  py::Pairs pairs;
  for (const std::string& name : modules)
    pairs.emplace_back(py::str(name),
                       py::dict({{py::str("version"), py::integer(static_cast<std::int64_t>(pairs.size()))}}));
  return py::build(weights(keys), py::dict({{py::str("_metadata"), py::ordered_dict(pairs)}}));
}

Keys keys_of(const Checkpoint& checkpoint, ValueId mapping) {
  Keys keys;
  for (const MappingEntry& entry : mapping_entries(checkpoint.values, mapping))
    keys.emplace_back(checkpoint.values.text(entry.key));
  return keys;
}

Keys keys_of(const Checkpoint& checkpoint) { return keys_of(checkpoint, checkpoint.root); }

/// "name=version, …" of the root's _metadata.
std::string metadata_of(const Checkpoint& checkpoint) {
  const ValueGraph& values = checkpoint.values;
  std::string out;
  for (const MappingEntry& entry : mapping_entries(values, state_dict_metadata(values, checkpoint.root))) {
    const auto version = mapping_entries(values, entry.value);
    out += (out.empty() ? "" : ", ") + std::string(values.text(entry.key)) + "=" +
           std::to_string(values.integer(version.at(0).value));
  }
  return out;
}

Checkpoint stripped(const py::Code& code, std::string_view prefix = data_parallel_prefix) {
  return strip_prefix(checkpoint_of(code), prefix).first;
}

Checkpoint added(const py::Code& code, std::string_view prefix = data_parallel_prefix) {
  return add_prefix(checkpoint_of(code), prefix).first;
}

TEST(StripPrefix, TakesItOnceAndKeepsTheOrder) {
  EXPECT_EQ(keys_of(stripped(weights({"module.b", "module.module.a"}))), (Keys{"b", "module.a"}));
}

TEST(StripPrefix, LeavesOtherKeysAndSaysSo) {
  const auto [checkpoint, report] =
      strip_prefix(checkpoint_of(weights({"module.a", "b", "x.module.c", "modules.d", "e"})));
  EXPECT_EQ(keys_of(checkpoint), (Keys{"a", "b", "x.module.c", "modules.d", "e"}));
  EXPECT_EQ(report.changed, 1U);
  EXPECT_EQ(report.unchanged, 4U);
  EXPECT_EQ(report.left, (Keys{"b", "x.module.c", "modules.d"}));
  EXPECT_EQ(report.state_dicts, 1U);
}

TEST(StripPrefix, EditsEveryStateDictAndNothingElse) {
  const auto checkpoint = stripped(py::dict({{py::str("model"), weights({"module.a"})},
                                             {py::str("ema"), weights({"module.a"})},
                                             {py::str("module.note"), py::str("module.x")}}));
  EXPECT_EQ(torch_testing::names(checkpoint), (Keys{"model.a", "ema.a"}));
  EXPECT_EQ(keys_of(checkpoint), (Keys{"model", "ema", "module.note"}));
}

TEST(StripPrefix, EditsASharedStateDictOnce) {
  const auto [checkpoint, report] = strip_prefix(
      checkpoint_of(py::dict({{py::str("a"), py::put(weights({"module.module.w"}), 9)}, {py::str("b"), py::get(9)}})));
  EXPECT_EQ(torch_testing::names(checkpoint), (Keys{"a.module.w", "b.module.w"}));
  EXPECT_EQ(report.changed, 1U);
}

TEST(StripPrefix, EditsAModelsKeysAmongOtherValues) {
  const auto model = py::dict({{py::str("module.fc.weight"), weight()},
                               {py::str("module.fc.tau"), py::integer(2)},
                               {py::integer(1), py::none()},
                               {py::str("epoch"), py::integer(3)}});
  const auto [checkpoint, report] =
      strip_prefix(checkpoint_of(py::dict({{py::str("model"), model}, {py::str("ema"), weights({"module.w"})}})));
  EXPECT_EQ(torch_testing::names(checkpoint), (Keys{"model.fc.weight", "ema.w"}));
  EXPECT_EQ(report.changed, 3U);
  EXPECT_EQ(report.unchanged, 0U);
}

TEST(StripPrefix, RefusesTwoKeysThatWouldBeOneAndNamesBoth) {
  const auto error = io_testing::error_of([] { stripped(weights({"fc.weight", "module.fc.weight"})); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  EXPECT_EQ(std::string(error->what()),
            "test.pt: the keys 'fc.weight' and 'module.fc.weight' would both be named 'fc.weight'");
}

TEST(StripPrefix, RenamesAKeySetTwiceInBothPlaces) {
  const auto checkpoint = stripped(weights({"module.a", "module.b", "module.a"}));
  EXPECT_EQ(keys_of(checkpoint), (Keys{"a", "b"}));
  EXPECT_EQ(mapping_pairs(checkpoint.values, checkpoint.root).size(), 3U);
}

TEST(StripPrefix, OfPairsThatTwoDictsShareTakesOnePrefix) {
  const auto dict_of = [](const py::Code& pairs) {
    return py::call(py::global("collections", "OrderedDict"), {pairs});
  };
  const auto pairs = py::list({py::list({py::str("module.module.w"), weight()})});
  const Checkpoint both =
      checkpoint_of(py::dict({{py::str("a"), dict_of(py::put(pairs, 7))}, {py::str("b"), dict_of(py::get(7))}}));
  const auto [stripped, report] = strip_prefix(both, "module.");
  EXPECT_EQ(report.changed, 2U);
  EXPECT_EQ(torch_testing::names(stripped), (std::vector<std::string>{"a.module.w", "b.module.w"}));
}

TEST(StripPrefix, RenamesThePairsOfPython2sOrderedDict) {
  const auto pairs = py::list({py::list({py::py2_str("module.a"), weight()}), py::list({py::py2_str("b"), weight()})});
  const auto checkpoint = stripped(py::call(py::global("collections", "OrderedDict"), {pairs}));
  EXPECT_EQ(keys_of(checkpoint), (Keys{"a", "b"}));
  const auto entries = mapping_entries(checkpoint.values, checkpoint.root);
  EXPECT_EQ(checkpoint.values.kind(entries[0].key), ValueKind::py2_str);
}

TEST(StripPrefix, RenamesAndMovesThePairsOfProtocol0) {
  const auto pair = [](const std::string& key) { return "(l" + py::py2_str(key) + "a" + weight() + "aa"; };
  const auto pairs = "(l" + pair("module.a") + pair("module.b");
  const auto checkpoint = stripped(py::call(py::global("collections", "OrderedDict"), {pairs}));
  EXPECT_EQ(keys_of(checkpoint), (Keys{"a", "b"}));
  const Checkpoint again = torch_testing::read_bytes(torch_testing::written(checkpoint));
  EXPECT_EQ(torch_testing::names(again), (Keys{"a", "b"}));
}

TEST(StripPrefix, OfMetadataReplacesTheWrappersEntryByTheModules) {
  const auto checkpoint = stripped(with_metadata({"module.fc.w"}, {"", "module", "module.fc"}));
  EXPECT_EQ(metadata_of(checkpoint), "=1, fc=2");
}

TEST(StripPrefix, OfMetadataWithoutTheWrappersEntryRenamesTheModules) {
  EXPECT_EQ(metadata_of(stripped(with_metadata({"module.fc.w"}, {"module.fc", "module"}))), "fc=0, =1");
}

TEST(StripPrefix, OfMetadataLeavesOtherNames) {
  EXPECT_EQ(metadata_of(stripped(with_metadata({"module.w"}, {"", "modules", "other"}))), "=0, modules=1, other=2");
}

/// Of two names that become one, Python would keep the last: the module's own is the one that is stripped.
TEST(StripPrefix, OfMetadataReplacesWhatHasTheNameAlready) {
  const auto metadata = [](const Keys& modules) {
    return metadata_of(stripped(with_metadata({"module.fc.w"}, modules)));
  };
  EXPECT_EQ(metadata({"", "module", "module.fc", "fc"}), "=1, fc=2");
  EXPECT_EQ(metadata({"module.fc", "fc", "module"}), "fc=0, =2");
  EXPECT_EQ(metadata({"module.fc", "fc", "", "module"}), "fc=0, =3");
}

/// The same as Python 2 pickles it: a list of [key, value] lists, the only argument of the OrderedDict.
py::Code with_python2_metadata(const Keys& keys, const Keys& modules) {
  std::vector<py::Code> pairs;
  for (const std::string& name : modules)
    pairs.push_back(py::list({py::py2_str(name), py::dict({{py::py2_str("version"),
                                                            py::integer(static_cast<std::int64_t>(pairs.size()))}})}));
  const auto metadata = py::call(py::global("collections", "OrderedDict"), {py::list(pairs)});
  return py::build(weights(keys), py::dict({{py::str("_metadata"), metadata}}));
}

/// How many items each of those lists has: Python takes nothing but two.
std::vector<std::size_t> python2_pair_sizes(const Checkpoint& checkpoint) {
  const ValueGraph& values = checkpoint.values;
  const ValueId metadata = state_dict_metadata(values, checkpoint.root);
  const ValueId list = values.items(values.items(metadata)[1])[0];
  std::vector<std::size_t> sizes;
  for (const ValueId pair : values.items(values.effect(values.first_effect(list))))
    sizes.push_back(values.items(values.effect(values.first_effect(pair))).size());
  return sizes;
}

TEST(StripPrefix, OfMetadataTakesThePairsThatPython2Keeps) {
  const auto checkpoint = stripped(with_python2_metadata({"module.fc.w"}, {"", "module", "module.fc"}));
  EXPECT_EQ(metadata_of(checkpoint), "=1, fc=2");
  EXPECT_EQ(python2_pair_sizes(checkpoint), (std::vector<std::size_t>{2, 2}));
}

TEST(AddPrefix, OfMetadataAddsAPairAsPython2KeepsThem) {
  const auto checkpoint = added(with_python2_metadata({"fc.w"}, {"", "fc"}));
  EXPECT_EQ(metadata_of(checkpoint), "=0, module=0, module.fc=1");
  EXPECT_EQ(python2_pair_sizes(checkpoint), (std::vector<std::size_t>{2, 2, 2}));
}

TEST(StripPrefix, OfMetadataNeedsAChangedKey) {
  EXPECT_EQ(metadata_of(stripped(with_metadata({"w"}, {"", "module"}))), "=0, module=1");
}

/// What copy.copy() of a state dict gives.
py::Code two_with_one_metadata(const std::string& key) {
  const auto metadata = py::put(py::ordered_dict({{py::str("module.module"), py::dict({})}}), 9);
  const auto dict = [&](const py::Code& shared) {
    return py::build(weights({key}), py::dict({{py::str("_metadata"), shared}}));
  };
  return py::dict({{py::str("a"), dict(metadata)}, {py::str("b"), dict(py::get(9))}});
}

Keys shared_metadata(const Checkpoint& checkpoint) {
  const ValueId dict = mapping_entries(checkpoint.values, checkpoint.root)[1].value;
  return keys_of(checkpoint, state_dict_metadata(checkpoint.values, dict));
}

TEST(StripPrefix, EditsSharedMetadataOnce) {
  EXPECT_EQ(shared_metadata(stripped(two_with_one_metadata("module.w"))), (Keys{"module"}));
}

TEST(AddPrefix, EditsSharedMetadataOnce) {
  EXPECT_EQ(shared_metadata(added(two_with_one_metadata("w"))), (Keys{"module.module.module"}));
}

TEST(StripPrefix, TakesAnyPrefix) { EXPECT_EQ(keys_of(stripped(weights({"net_a", "b"}), "net_")).front(), "a"); }

TEST(StripPrefix, OfMetadataLetsANameThatBecomesEmptyReplaceTheWrappers) {
  EXPECT_EQ(metadata_of(stripped(with_metadata({"net_w"}, {"", "net_", "net_fc"}), "net_")), "=1, fc=2");
}

TEST(StripPrefix, RefusesTheEmptyPrefix) {
  const auto error = io_testing::error_of([] { stripped(weights({"a"}), ""); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
}

TEST(StripPrefix, ProposesThePrefixThatAllKeysShare) {
  const auto proposal = [](const Keys& keys) {
    return strip_prefix(checkpoint_of(weights(keys))).second.shared_prefix;
  };
  EXPECT_EQ(proposal({"_orig_mod.a", "_orig_mod.b"}), "_orig_mod.");
  EXPECT_EQ(proposal({"_forward_module.a"}), "_forward_module.");
  EXPECT_EQ(proposal({"model.a", "model.b"}), "model.");
  EXPECT_EQ(proposal({"model.a", "b"}), "");
  EXPECT_EQ(proposal({"features.0", "features.1"}), "");
}

TEST(StripPrefix, ProposesNothingWhereSomethingWasStripped) {
  const auto dicts = py::list({weights({"module.a"}), weights({"model.a", "model.b"})});
  EXPECT_EQ(strip_prefix(checkpoint_of(dicts)).second.shared_prefix, "");
}

TEST(StripPrefix, LeavesItsSourceAsItWas) {
  const Checkpoint source = checkpoint_of(with_metadata({"module.w"}, {"", "module", "module.w"}));
  const auto before = torch_testing::written(source);
  const auto edited = strip_prefix(source).first;
  EXPECT_EQ(torch_testing::written(source), before);
  EXPECT_NE(torch_testing::written(edited), before);
}

TEST(StripPrefix, LeavesAFileWithoutStateDictsAsItWas) {
  const Checkpoint source = checkpoint_of(py::list({weight()}));
  const auto [checkpoint, report] = strip_prefix(source);
  EXPECT_EQ(report.state_dicts, 0U);
  EXPECT_EQ(torch_testing::written(checkpoint), torch_testing::written(source));
}

TEST(AddPrefix, PutsItBeforeEveryKey) {
  const auto [checkpoint, report] = add_prefix(checkpoint_of(weights({"a", "module.b"})));
  EXPECT_EQ(keys_of(checkpoint), (Keys{"module.a", "module.module.b"}));
  EXPECT_EQ(report.changed, 2U);
}

TEST(AddPrefix, OfAModelAmongOtherValuesLeavesTheirKeys) {
  const auto model = py::dict({{py::str("fc.weight"), weight()},
                               {py::str("scale"), weight()},
                               {py::str("fc.tau"), py::integer(2)},
                               {py::str("epoch"), py::integer(3)}});
  EXPECT_EQ(keys_of(added(model)), (Keys{"module.fc.weight", "module.scale", "module.fc.tau", "epoch"}));
}

TEST(AddPrefix, PassesOverNothingThatIsAModelsElsewhere) {
  const auto [checkpoint, report] = add_prefix(checkpoint_of(py::dict({{py::str("best"), py::put(weights({"w"}), 9)},
                                                                       {py::str("model"), py::get(9)},
                                                                       {py::str("scaler"), weights({"scale"})}})));
  EXPECT_EQ(torch_testing::names(checkpoint), (Keys{"best.module.w", "model.module.w", "scaler.scale"}));
  EXPECT_EQ(report.passed_over, (Keys{"scaler"}));
}

TEST(AddPrefix, OfMetadataKeepsTheEmptyNameAndInsertsTheModule) {
  EXPECT_EQ(metadata_of(added(with_metadata({"fc.w"}, {"", "fc"}))), "=0, module=0, module.fc=1");
}

TEST(AddPrefix, OfMetadataGivesTheTwoNamesADictEach) {
  const auto checkpoint = added(with_metadata({"w"}, {""}));
  const auto entries = mapping_entries(checkpoint.values, state_dict_metadata(checkpoint.values, checkpoint.root));
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_NE(entries[0].value, entries[1].value);
}

TEST(AddPrefix, OfMetadataWithoutTheEmptyNameInsertsNothing) {
  EXPECT_EQ(metadata_of(added(with_metadata({"fc.w"}, {"fc"}))), "module.fc=0");
}

TEST(AddPrefix, IsUndoneByStrippingIt) {
  const Checkpoint source = checkpoint_of(with_metadata({"fc.w", "b"}, {"", "fc"}));
  const auto back = strip_prefix(add_prefix(source).first).first;
  EXPECT_EQ(keys_of(back), keys_of(source));
  EXPECT_EQ(metadata_of(back), metadata_of(source));
}

TEST(AddPrefix, SurvivesWriting) {
  const auto back = torch_testing::read_bytes(torch_testing::written(added(with_metadata({"fc.w"}, {"", "fc"}))));
  EXPECT_EQ(keys_of(back), (Keys{"module.fc.w"}));
  EXPECT_EQ(metadata_of(back), "=0, module=0, module.fc=1");
}

}  // namespace
}  // namespace ckpt
