#include <gtest/gtest.h>

#include "ckpt/error.h"
#include "ckpt/state_dict.h"
#include "formats/python.h"
#include "io/bytes.h"
#include "model/python_str.h"
#include "pickle/machine.h"

namespace ckpt {
namespace {

using namespace std::string_literals;
using pickle::Salvage;

/// What is left of a pickle without its last `cut` bytes.
struct Left {
  ValueGraph values;
  Salvage salvage;

  Left(const std::string& code, std::size_t cut) {
    const auto bytes = as_bytes(code).first(code.size() - cut);
    const auto source = memory_source({bytes.begin(), bytes.end()}, "test.pkl");
    salvage = pickle::salvage(*source, 0, values);
  }

  [[nodiscard]] ValueId root() const { return salvage.program.root; }
  /// {"a": 1, "b": {…}} as "a b(…)": keys, and those of mappings in them.
  [[nodiscard]] std::string keys(ValueId mapping) const {
    std::string text;
    for (const MappingEntry& entry : mapping_entries(values, mapping)) {
      text += (text.empty() ? "" : " ") + python_str(values, entry.key);
      if (is_mapping(values, entry.value)) text += "(" + keys(entry.value) + ")";
    }
    return text;
  }
  [[nodiscard]] std::string keys() const { return root() == no_value ? "nothing" : keys(root()); }
};

const py::Code call = py::call(py::global("m", "f"), {py::integer(1), py::integer(2)});

/// Cut within the very last value, whose code has `size` bytes of which `kept` are left.
std::size_t cut_within(const py::Code& last, std::size_t kept, std::size_t closing) {
  return closing + last.size() - kept;
}

TEST(PickleSalvage, TakesASoundPickleAsItIs) {
  const Left left(py::pickle(py::dict({{py::str("a"), py::integer(1)}})), 0);
  EXPECT_FALSE(left.salvage.broken);
  EXPECT_EQ(left.keys(), "a");
}

TEST(PickleSalvage, KeepsEntriesWhoseValuesAreThere) {
  const auto code = py::pickle(py::dict({{py::str("a"), call}, {py::str("b"), call}}));
  const Left left(code, 2);  // SETITEMS and STOP
  EXPECT_EQ(left.keys(), "a b");
  EXPECT_EQ(left.salvage.broken->code(), ErrorCode::truncated);
}

TEST(PickleSalvage, LeavesOutACallThatWasNotMade) {
  const auto code = py::pickle(py::dict({{py::str("a"), call}, {py::str("b"), call}}));
  for (std::size_t kept = 0; kept < call.size(); ++kept)
    EXPECT_EQ(Left(code, cut_within(call, kept, 2)).keys(), "a") << kept;
}

TEST(PickleSalvage, FillsMappingsWithinMappings) {
  const auto inner = py::ordered_dict({{py::str("x"), call}, {py::str("y"), call}});
  const auto code = py::pickle(py::dict({{py::str("epoch"), py::integer(3)}, {py::str("model"), inner}}));
  EXPECT_EQ(Left(code, 2 + 1).keys(), "epoch model(x y)");
  EXPECT_EQ(Left(code, 2 + 1 + 3).keys(), "epoch model(x)");
}

TEST(PickleSalvage, FillsAMappingOfOneEntryWithoutAMark) {
  const auto code = "\x80\x02}U\x05model}(U\x01xK\x01U\x01yK\x02us."s;
  EXPECT_EQ(Left(code, 3).keys(), "model(x y)");
}

TEST(PickleSalvage, FillsLists) {
  const auto code = py::pickle(py::list({call, call}));
  const Left left(code, 2);
  const auto handle = left.values.first_effect(left.root());
  ASSERT_NE(handle, 0U);
  EXPECT_EQ(left.values.effect(handle).count, 2U);
  const Left shorter(code, cut_within(call, 5, 2));
  EXPECT_EQ(shorter.values.effect(shorter.values.first_effect(shorter.root())).count, 1U);
}

TEST(PickleSalvage, GivesAnObjectTheStateThatItHasSoFar) {
  const auto state = py::dict({{py::str("a"), call}, {py::str("b"), call}});
  const auto code = py::pickle(py::build(py::call(py::global("m", "C"), {}), state));
  const Left left(code, 2 + 1);  // SETITEMS, BUILD and STOP
  const auto handle = left.values.first_effect(left.root());
  ASSERT_NE(handle, 0U);
  EXPECT_EQ(left.values.effect(handle).kind, EffectKind::build);
  EXPECT_EQ(left.keys(left.values.items(left.values.effect(handle))[0]), "a b");
}

TEST(PickleSalvage, KeepsEntriesBeforeWhatIsNone) {
  // {"a": 1, "b": [{"lr": …
  const Left left(
      "\x80\x02}(U\x01"
      "aK\x01U\x01"
      "b]}U\x02lrK\x02us."s,
      3);
  EXPECT_EQ(left.keys(), "a b");
}

TEST(PickleSalvage, HasNothingWhereNothingWasMade) {
  EXPECT_EQ(Left(py::pickle(call), 3 + call.size()).keys(), "nothing");
  EXPECT_EQ(Left("\x80\x02"
                 "cm\nf\n."s,
                 1)
                .keys(),
            "nothing");
}

TEST(PickleSalvage, EndsAtAByteThatIsNoOpcode) {
  auto code = py::pickle(py::dict({{py::str("a"), call}, {py::str("b"), call}}));
  code[code.size() - 2] = '\xff';
  const Left left(code, 0);
  EXPECT_EQ(left.keys(), "a b");
  EXPECT_EQ(left.salvage.program.end, code.size() - 2);
}

TEST(PickleSalvage, NamesWhatWasAskedForBeforeTheBreak) {
  const auto code = py::pickle(py::call(py::global("os", "system"), {py::str("x")}));
  const Left left(code, 1);
  ASSERT_EQ(left.salvage.program.globals.size(), 1U);
  EXPECT_EQ(left.salvage.program.globals[0].verdict, Verdict::dangerous);
}

}  // namespace
}  // namespace ckpt
