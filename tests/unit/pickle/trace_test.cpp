#include "pickle/trace.h"

#include <gtest/gtest.h>

#include "io/io_testing.h"

namespace ckpt::pickle {
namespace {

using io_testing::bytes_of;
using namespace std::string_literals;

Trace traced(std::string_view code, const TraceOptions& options = {}) {
  return trace(memory_source(bytes_of(code), "test.pkl"), 0, options);
}

/// "module.name: opcodes", a line a name; "!" behind a broken trace.
std::string told(const Trace& trace) {
  std::string text;
  for (const TracedName& name : trace.names)
    text += (text.empty() ? "" : "; ") + name.module + "." + name.name + ": " + opcodes_of(name);
  return text + (trace.broken ? "!" : "");
}

std::string told(std::string_view code) { return told(traced(code)); }

TEST(Trace, TellsWhichOpcodesReachAName) {
  EXPECT_EQ(told("cos\nsystem\n."), "os.system: GLOBAL");
  EXPECT_EQ(told("cos\nsystem\n)R."), "os.system: GLOBAL, REDUCE");
  EXPECT_EQ(told("(ios\nsystem\n."), "os.system: INST");
  EXPECT_EQ(told("(cos\nsystem\nNo."), "os.system: GLOBAL, OBJ");
  EXPECT_EQ(told("\x80\2cos\nsystem\n)\x81}b."), "os.system: GLOBAL, NEWOBJ, BUILD");
  EXPECT_EQ(told("\x80\4\x8c\2os\x8c\6system\x93)}\x92."), "os.system: STACK_GLOBAL, NEWOBJ_EX");
  EXPECT_EQ(told("\x82\7."), "copyreg.extension.7: EXT1");
}

TEST(Trace, ListsANameOnceWhereItIsFirstImported) {
  const Trace trace = traced("cos\nsystem\n0cos\nsystem\n)R.");
  ASSERT_EQ(trace.names.size(), 1U);
  EXPECT_EQ(trace.names[0].offset, 0U);
  EXPECT_EQ(opcodes_of(trace.names[0]), "GLOBAL, REDUCE");
  EXPECT_EQ(trace.names[0].verdict, Verdict::dangerous);
}

TEST(Trace, CallsWhatWasPutAside) {
  EXPECT_EQ(told("cos\nsystem\nq\1"
                 "0h\1)R."),
            "os.system: GLOBAL, REDUCE");
}

TEST(Trace, ASecondCallIsOfWhatTheFirstReturned) { EXPECT_EQ(told("cos\npopen\n)R)R."), "os.popen: GLOBAL, REDUCE"); }

TEST(Trace, TakesNamesFromTheMemoAndFromEscapes) {
  EXPECT_EQ(told("\x80\4\x8c\2os\x94"
                 "0\x8c\6system\x94"
                 "0h\0h\1\x93."s),
            "os.system: STACK_GLOBAL");
  EXPECT_EQ(told("V\\u006fs\nS'\\x73ystem'\n\x93."), "os.system: STACK_GLOBAL");
}

TEST(Trace, KeepsWhatCameBeforeABreak) {
  for (const char* const tail : {"", "\xff", "000.", "h\x63.", "\x80\6.", "I?\n.", "S'\n.", "K\1)R."})
    EXPECT_EQ(told(std::string("cos\nsystem\n)R") + tail), "os.system: GLOBAL, REDUCE!") << tail;
}

TEST(Trace, GoesOnWherePythonDoes) {
  for (const char* const before :
       {"L5\n", "F1e-05\n", "F-inf\n", "Fnan\n", "]Na", "]K\1Ns", "]Nb", "((t1N", "}(Nu", "\x97\x98"})
    EXPECT_EQ(told(std::string(before) + "cos\nsystem\n."), "os.system: GLOBAL") << before;
}

TEST(Trace, ANumberThatNoPicklerSpellsSoIsTold) {
  for (const std::string& line :
       {std::string("0x10"), std::string(" 1_0 "), std::string("1\0x", 3), std::string("\0", 1)})
    EXPECT_EQ(told("I" + line + "\ncos\nsystem\n."), "(number)." + line + ": INT; os.system: GLOBAL");
  EXPECT_EQ(told("L1_0\n."), "(number).1_0: LONG");
}

TEST(Trace, AKeyOfTheMemoThatReadersSpellOtherwiseIsTold) {
  EXPECT_EQ(told("Np+5\n."), "(memo).+5: PUT");
  EXPECT_EQ(told("Np5\ng05\n."), "(memo).05: GET");
  EXPECT_EQ(told("Np5\ng5\np0\n."), "");
  EXPECT_EQ(told("Np 1\n0g1\n0cos\nsystem\n."), "(memo). 1: PUT; os.system: GLOBAL");  // the same entry to Python
  EXPECT_EQ(traced("Np 5\n.").names.at(0).verdict, Verdict::dangerous);
  EXPECT_TRUE(traced("Np 5\n.").names.at(0).is_odd);  // numbers may spell it by chance
}

TEST(Trace, AnInstructionAcrossTheEndOfAFrameIsTold) {
  const std::string frame = std::string("\x95\2\0\0\0\0\0\0\0", 9);
  EXPECT_EQ(told(frame + "N0N."), "");
  EXPECT_EQ(told(frame + "NI5\n."), "(frame).INT: INT");
  EXPECT_EQ(traced(frame + "NI5\n.").names.at(0).verdict, Verdict::dangerous);
}

TEST(Trace, ANameThatTheEndCutsOffIsTold) {
  EXPECT_EQ(told("(ios\nsystemX"), "os.system: INST!");
  EXPECT_EQ(told("cos\nsystem"), "os.syste: GLOBAL!");
  EXPECT_EQ(told("cos"), "!");
  const Trace past_a_cap = traced("cos\nsystem\ncos\npopenX", {.values = 1});
  EXPECT_EQ(told(past_a_cap), "os.system: GLOBAL; os.popen: GLOBAL!");
}

TEST(Trace, ABytearrayThatChangesIsNotWhatACallIsGiven) {
  const std::string load = "ctorch.storage\n_load_from_bytes\n", bytes("\x96\1\0\0\0\0\0\0\0x", 10);
  EXPECT_EQ(traced(load + bytes + "\x85R.").given.size(), 1U);
  EXPECT_EQ(traced(load + bytes + "K\1a\x85R.").given.size(), 0U);
}

TEST(Trace, TellsHowFarItHasRead) {
  EXPECT_EQ(traced("N.N.").read, 4U);
  EXPECT_EQ(traced("NP" + std::string(1000, 'x')).read, 1002U);
}

TEST(Trace, AComputedNameIsDangerous) {
  const Trace trace = traced(
      "\x80\2"
      "cbuiltins\nstr\n)R\x8c\6system\x93.");
  ASSERT_EQ(trace.names.size(), 2U);
  EXPECT_EQ(trace.names[1].module, computed_name);
  EXPECT_EQ(trace.names[1].verdict, Verdict::dangerous);
}

TEST(Trace, AMemoOfAnEarlierPickleMayHoldAnything) {
  EXPECT_EQ(told(traced("h\0h\1\x93."s, {.continued = true})), "(computed).(computed): STACK_GLOBAL");
  EXPECT_EQ(told("h\0h\1\x93."s), "!");
}

TEST(Trace, MarksNamesThatNothingIsCalled) {
  const auto odd = [](std::string_view code) { return traced(code).names.at(0).is_odd; };
  EXPECT_FALSE(odd("cos.path\nsystem\n."));
  EXPECT_FALSE(odd("\x82\7."));
  EXPECT_TRUE(odd("cos \nsystem\n."));
  EXPECT_TRUE(odd("cos\n\n."));
  EXPECT_TRUE(odd("c81d2__mypyc\nx\n."));
  EXPECT_TRUE(traced("c\x80\nx\n.").names.empty());  // Python decodes it before it imports
}

TEST(Trace, GivesTheBytesOfDangerousCalls) {
  const Trace trace = traced(
      "\x80\3"
      "cpickle\nloads\nC\2N.\x85R0cbuiltins\nlist\nC\2N.\x85R.");
  ASSERT_EQ(trace.given.size(), 1U);
  EXPECT_EQ(trace.names[trace.given[0].name].module, "pickle");
  EXPECT_TRUE(trace.given[0].in_place);
  EXPECT_EQ(trace.given[0].at, 18U);
  EXPECT_EQ(as_text(read_all(*trace.given[0].bytes, 9)), "N.");
}

TEST(Trace, GivesBytesThatProtocol2Encodes) {
  const Trace trace = traced(
      "\x80\2"
      "cpickle\nloads\nc_codecs\nencode\nX\3\0\0\0N\xc3\xbfX\6\0\0\0latin1\x86R\x85R."s);
  ASSERT_EQ(trace.given.size(), 1U);
  EXPECT_FALSE(trace.given[0].in_place);
  EXPECT_EQ(as_text(read_all(*trace.given[0].bytes, 9)), "N\xff");
}

TEST(Trace, CountsCallsWithBytesAndAllOtherUses) {
  const auto counts = [](std::string_view code) {
    const TracedName name = traced(code).names.at(0);
    return std::pair(name.pushed, name.called_as_judged);
  };
  EXPECT_EQ(counts("\x80\3"
                   "ctorch.storage\n_load_from_bytes\nq\1C\1x\x85R0h\1C\1y\x85R."),
            std::pair(2UL, 2UL));
  EXPECT_EQ(counts("\x80\3"
                   "ctorch.storage\n_load_from_bytes\nC\1x\x85R0ctorch.storage\n_load_from_bytes\n."),
            std::pair(2UL, 1UL));
  EXPECT_EQ(counts("\x80\3"
                   "ctorch.storage\n_load_from_bytes\n}bC\1x\x85R."),
            std::pair(2UL, 1UL));
  EXPECT_EQ(counts("\x80\3"
                   "ctorch.storage\n_load_from_bytes\n\x8c\1x\x85R."),
            std::pair(1UL, 0UL));
}

TEST(Trace, AFrameMayLieButNotReachOutside) {
  EXPECT_EQ(told("\x80\4\x95\0\0\0\0\0\0\0\0N."s), "");
  EXPECT_EQ(told("\x80\4\x95\7\0\0\0\0\0\0\0N."s), "!");
}

TEST(Trace, ATextOfExabytesCostsNothing) { EXPECT_EQ(told("\x80\4\x8e\xff\xff\xff\xff\xff\xff\xff\x7fx"), "!"); }

TEST(Trace, SaysWhereItEnds) {
  EXPECT_EQ(traced("N.N.").end, 2U);
  EXPECT_EQ(traced("NN\xff").end, 2U);
  EXPECT_TRUE(traced("\x80\2N.").announced);
  EXPECT_FALSE(traced("N.").announced);
}

}  // namespace
}  // namespace ckpt::pickle
