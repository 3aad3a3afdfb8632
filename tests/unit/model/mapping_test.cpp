#include <gtest/gtest.h>

#include "ckpt/state_dict.h"
#include "formats/torch_files.h"

namespace ckpt {
namespace {

using torch_testing::checkpoint_of;

/// "key=value, …" of a mapping of strings or integers to integers.
std::string shown(const Checkpoint& checkpoint, const std::vector<MappingEntry>& entries) {
  const ValueGraph& values = checkpoint.values;
  std::string out;
  for (const MappingEntry& entry : entries) {
    const ValueKind kind = values.kind(entry.key);
    const bool number = kind == ValueKind::integer || kind == ValueKind::boolean;
    out += (out.empty() ? "" : ", ") +
           (number ? std::to_string(values.integer(entry.key)) : std::string(values.text(entry.key))) + "=" +
           std::to_string(values.integer(entry.value));
  }
  return out;
}

std::string entries_of(const py::Code& code) {
  const auto checkpoint = checkpoint_of(code);
  return shown(checkpoint, mapping_entries(checkpoint.values, checkpoint.root));
}

bool is_mapping_of(const py::Code& code) {
  const auto checkpoint = checkpoint_of(code);
  return is_mapping(checkpoint.values, checkpoint.root);
}

const py::Code a = py::str("a"), b = py::str("b"), one = py::integer(1), two = py::integer(2), three = py::integer(3);

TEST(Mapping, IsADictOrACallOfTheStandardLibrarysMappings) {
  EXPECT_TRUE(is_mapping_of(py::dict({})));
  EXPECT_TRUE(is_mapping_of(py::ordered_dict({})));
  EXPECT_TRUE(is_mapping_of(py::call(py::global("collections", "defaultdict"), {py::global("__builtin__", "list")})));
  EXPECT_TRUE(is_mapping_of(py::call(py::global("collections", "Counter"), {})));
  EXPECT_TRUE(is_mapping_of(py::call(py::global("__builtin__", "dict"), {})));
  EXPECT_TRUE(is_mapping_of(py::call(py::global("UserList", "OrderedDict"), {})));
}

TEST(Mapping, IsNothingElse) {
  EXPECT_FALSE(is_mapping_of(py::list({})));
  EXPECT_FALSE(is_mapping_of(py::global("collections", "OrderedDict")));
  EXPECT_FALSE(is_mapping_of(py::call(py::global("zoo", "OrderedDict"), {})));
  EXPECT_FALSE(is_mapping_of(py::call(py::global("collections", "deque"), {})));
}

TEST(Mapping, EntriesAreInTheOrderOfTheirMaking) { EXPECT_EQ(entries_of(py::dict({{b, one}, {a, two}})), "b=1, a=2"); }

TEST(Mapping, EntriesGivenAtItsMakingCountToo) {
  EXPECT_EQ(entries_of("(" + a + one + "d" + b + two + "s"), "a=1, b=2");
}

/// As Counter is pickled: of a dict, which may be given more.
TEST(Mapping, TheEntriesOfADictThatItsCallIsGivenAreItsOwn) {
  const auto counter = [](const std::vector<py::Code>& arguments) {
    return py::call(py::global("collections", "Counter"), arguments);
  };
  EXPECT_EQ(entries_of(counter({py::dict({{a, one}, {b, two}})})), "a=1, b=2");
  EXPECT_EQ(entries_of(counter({py::dict({{a, one}, {b, two}})}) + py::set_items({{a, three}})), "a=3, b=2");
  EXPECT_EQ(entries_of(counter({py::list({py::list({a, one})})})), "");  // it counts what is in a list
  const auto later =
      checkpoint_of(py::tuple({counter({py::put(py::dict({{a, one}}), 7)}), py::get(7) + py::set_items({{b, two}})}));
  EXPECT_EQ(shown(later, mapping_entries(later.values, later.values.items(later.root)[0])), "a=1");
  EXPECT_EQ(shown(later, mapping_entries(later.values, later.values.items(later.root)[1])), "a=1, b=2");
  EXPECT_EQ(entries_of(py::call(py::global("collections", "defaultdict"),
                                {py::global("__builtin__", "list"), py::dict({{a, one}})})),
            "a=1");
}

TEST(Mapping, ANoneSetAgainIsOneKey) {
  const auto checkpoint = checkpoint_of(py::dict({{py::none(), one}, {a, two}, {py::none(), three}}));
  const auto entries = mapping_entries(checkpoint.values, checkpoint.root);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(checkpoint.values.integer(entries[0].value), 3);
}

TEST(Mapping, AKeySetAgainKeepsItsPlaceAndTakesTheLaterValue) {
  EXPECT_EQ(entries_of(py::dict({{a, one}, {b, two}, {a, three}})), "a=3, b=2");
  EXPECT_EQ(entries_of("(" + a + one + b + two + "d" + a + three + "s"), "a=3, b=2");
}

TEST(Mapping, AStringOfPython2IsTheSameKey) {
  EXPECT_EQ(entries_of(py::dict({{a, one}, {py::py2_str("a"), two}})), "a=2");
}

TEST(Mapping, TrueIsTheSameKeyAsOneAndAStringIsNot) {
  EXPECT_EQ(entries_of(py::dict({{one, one}, {py::boolean(true), two}, {py::str("1"), three}})), "1=2, 1=3");
}

TEST(Mapping, PairsHaveEveryAssignment) {
  const auto checkpoint = checkpoint_of(py::dict({{a, one}, {b, two}, {a, three}}));
  EXPECT_EQ(shown(checkpoint, mapping_pairs(checkpoint.values, checkpoint.root)), "a=1, b=2, a=3");
}

TEST(Mapping, OrderedDictOfPython2IsGivenAListOfPairs) {
  const py::Code type = py::global("collections", "OrderedDict");
  EXPECT_EQ(entries_of(py::call(type, {py::list({py::list({a, one}), py::list({b, two})})})), "a=1, b=2");
  EXPECT_EQ(entries_of(py::call(type, {py::list({py::tuple({a, one})})})), "a=1");
  EXPECT_EQ(entries_of(py::call(type, {"(l(l" + a + "a" + one + "aa(l" + b + "a" + two + "aa"})),
            "a=1, b=2");  // protocol 0
  EXPECT_EQ(entries_of(py::call(type, {"(l(l" + a + "a" + one + "a" + two + "aa"})), "");
  EXPECT_EQ(entries_of(py::call(type, {"("
                                       "(" +
                                       a + one + "l" + "l"})),
            "a=1");
}

TEST(Mapping, EntrySaysWhereItsKeyStands) {
  const auto checkpoint = checkpoint_of("(" + a + one + b + two + "d" + py::str("c") + three + "s");
  const auto entries = mapping_entries(checkpoint.values, checkpoint.root);
  ASSERT_EQ(entries.size(), 3U);
  const ValueGraph& values = checkpoint.values;
  EXPECT_EQ(entries[1].effect, 0U);
  EXPECT_EQ(values.items(entries[1].holder)[entries[1].index], entries[1].key);
  ASSERT_NE(entries[2].effect, 0U);
  EXPECT_EQ(values.items(values.effect(entries[2].effect))[entries[2].index + 1], entries[2].value);
}

}  // namespace
}  // namespace ckpt
