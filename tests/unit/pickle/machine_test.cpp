#include "pickle/machine.h"

#include "ckpt/limits.h"
#include "pickle/pickle_testing.h"

namespace ckpt::pickle {
namespace {

using namespace pickle_testing;

TEST(PickleMachine, Literals) {
  EXPECT_EQ(text_of(b("(I1\nI-5\nI01\nI00\nL7L\nL-8\nF1.5\nVa\\u00e9\nS'x'\nNt.")),
            "(1, -5, True, False, 7, -8, float 1.500000, 'a\u00e9', py2 'x', None)");
  EXPECT_EQ(text_of(b("(K\xffM\0\1J\xfe\xff\xff\xff\x88\x89\x8a\0\x8a\1\x80\x8b\2\0\0\0\0\1G\x3f\xf8\0\0\0\0\0\0t.")),
            "(255, 256, -2, True, False, 0, -128, 256, float 1.500000)");
  EXPECT_EQ(text_of(b("(X\1\0\0\0a\x8c\1b\x8d\1\0\0\0\0\0\0\0cU\1dT\1\0\0\0eB\1\0\0\0fC\1g\x8e\1\0\0\0\0\0\0\0h\x96\1\0"
                      "\0\0\0\0\0\0it.")),
            "('a', 'b', 'c', py2 'd', py2 'e', b'f', b'g', b'h', bytearray 'i')");
}

TEST(PickleMachine, IntegersPast64BitsKeepTheirBytes) {
  EXPECT_EQ(text_of(b("(\x8a\t\0\0\0\0\0\0\0\x80\0I99999999999999999999\nL-9223372036854775808L\nt.")),
            "(int of 9 bytes, int of 10 bytes, -9223372036854775808)");
}

TEST(PickleMachine, AnIntWithALeadingZeroIsOctalAsToStrtol) {
  EXPECT_EQ(text_of("(I010\nI-017\nI0\nI007\nt."), "(8, -15, 0, 7)");
  EXPECT_REFUSED("I09\n.", corrupt);
}

TEST(PickleMachine, Containers) {
  EXPECT_EQ(text_of("(])}\x8f(lt."), "([], (), {}, set(), [])");
  EXPECT_EQ(text_of("(N\x85NN\x86NNN\x87(NNNNtt."),
            "((None), (None, None), (None, None, None), (None, None, None, None))");
  EXPECT_EQ(text_of(b("((K\1K\2l(K\1K\2d(K\1K\2\x91t.")), "([1, 2], {1: 2}, frozenset(1, 2))");
}

TEST(PickleMachine, Changes) {
  EXPECT_EQ(text_of(b("]K\1a(K\2K\3e(e.")), "[]+=(1)+=(2, 3)+=()");
  EXPECT_EQ(text_of(b("}K\1K\2s(K\3K\4K\5K\6u.")), "{}+={1: 2}+={3: 4, 5: 6}");
  EXPECT_EQ(text_of(b("\x8f(K\1K\2\x90.")), "set()|=(1, 2)");
  EXPECT_EQ(text_of(b("cm\nO\n)\x81K\1bK\2b.")), "m.O.new()<-1<-2");
  EXPECT_EQ(text_of(b("cm\nO\n)RK\1aK\2K\3s(K\4\x90.")), "m.O()+=(1)+={2: 3}|=(4)");
  EXPECT_EQ(text_of(b("cm\nO\nK\1b.")), "m.O<-1");
}

TEST(PickleMachine, Calls) {
  EXPECT_EQ(text_of(b("cm\nO\n(K\1K\2tR.")), "m.O(1, 2)");
  EXPECT_EQ(text_of(b("cm\nO\nK\1\x85\x81.")), "m.O.new(1)");
  EXPECT_EQ(text_of(b("cm\nO\n)}\x92.")), "m.O.new_ex((), {})");
  EXPECT_EQ(text_of(b("(K\1K\2im\nO\n.")), "m.O.inst(1, 2)");
  EXPECT_EQ(text_of(b("(cm\nO\nK\1o.")), "m.O.obj(1)");
  EXPECT_EQ(text_of(b("\x8c\1m\x8c\1O\x93.")), "m.O");
  EXPECT_EQ(text_of(b("cm\nO\n)R)R.")), "m.O()()");
  EXPECT_EQ(text_of(b("(Pid\nK\1Qt.")), "(persistent('id'), persistent(1))");
  EXPECT_EQ(text_of(b("(\x82\1\x83\0\1\x84\0\0\1\0t.")), "(extension 1, extension 256, extension 65536)");
}

TEST(PickleMachine, TheMemoKeepsIdentity) {
  EXPECT_EQ(text_of(b("(]p7\ng7\nt.")), "([], #1)");
  EXPECT_EQ(text_of(b("(]q\7h\7t.")), "([], #1)");
  EXPECT_EQ(text_of(b("(]r\7\0\0\0j\7\0\0\0t.")), "([], #1)");
  EXPECT_EQ(text_of(b("(]\x94}\x94h\1h\0t.")), "([], {}, #2, #1)");
  EXPECT_EQ(text_of(b("(]2t.")), "([], #1)");
  EXPECT_EQ(text_of(b("]q\0h\0a.")), "[]+=(#0)");
  EXPECT_EQ(text_of(b("]q\0h\0h\0a0.")), "[]+=late (#0)");
}

std::size_t count_values(const std::string& code) { return load(code).graph.size(); }

TEST(PickleMachine, WhatPythonHasOnlyOneOfIsMadeOnce) {
  for (const std::string& value : {b("N"), b("\x88"), b("\x89"), b("K\7"), b(")")})
    EXPECT_EQ(count_values("(" + value + value + "t."), 2u) << value;
  for (const std::string& value : {b("M\7\1"), b("]"), b("X\1\0\0\0x"), b("G\0\0\0\0\0\0\0\0")})
    EXPECT_EQ(count_values("(" + value + value + "t."), 3u) << value;
  EXPECT_EQ(text_of(b("(NN\x88\x89\x88K\7K\x8K\7))t.")), "(None, None, True, False, True, 7, 8, 7, (), ())");
}

TEST(PickleMachine, WhatHasAPlaceInTheMemoIsAValueOfItsOwn) {
  EXPECT_EQ(count_values(b("(NNq\1Nh\1t.")), 3u);  // the tuple, None, None in the memo
  EXPECT_EQ(count_values(b("(K\7q\1K\7q\2t.")), 4u);
}

TEST(PickleMachine, MemoizeTakesTheNumberOfEntriesForIndex) {
  EXPECT_EQ(text_of(b("(]q\5}\x94h\1t.")), "([], {}, #2)");
  EXPECT_EQ(text_of(b("(]q\0q\0}\x94h\1t.")), "([], {}, #2)");
}

TEST(PickleMachine, EffectsThroughAFetchedValueAreLate) {
  EXPECT_EQ(text_of(b("]q\0h\0K\1a0K\2a.")), "[]+=late (1)+=(2)");
  EXPECT_EQ(text_of(b("]2K\1a0.")), "[]+=late (1)");
}

TEST(PickleMachine, ValuesAndEffectsAreNumberedInTime) {
  const Loaded loaded = load(b("]q\0cm\nO\nh\0\x85RK\1a."));
  const ValueId call = loaded.program.root;
  const ValueId list = loaded.graph.items(loaded.graph.items(call)[1])[0];
  EXPECT_LT(loaded.graph.made(list), loaded.graph.made(call));
  EXPECT_GT(loaded.graph.effect(loaded.graph.first_effect(call)).time, loaded.graph.made(call));
}

TEST(PickleMachine, WhatIsDroppedIsKeptWhereItMayHaveDoneSomething) {
  EXPECT_EQ(load(b("cm\nA\n)R0K\1.")).program.discarded.size(), 1u);
  EXPECT_EQ(load(b("(cm\nA\n)RK\2cm\nB\n)R1K\1.")).program.discarded.size(), 2u);
  EXPECT_EQ(load(b("cm\nA\n)RK\1.")).program.discarded.size(), 1u);
  EXPECT_EQ(load(b("K\2"
                   "0K\1."))
                .program.discarded.size(),
            0u);
  EXPECT_EQ(load(b("cm\nA\n)Rq\0"
                   "0h\0."))
                .program.discarded.size(),
            0u);
}

TEST(PickleMachine, PopTakesAMarkWhereNothingIsAboveIt) { EXPECT_EQ(text_of(b("K\1(0.")), "1"); }

TEST(PickleMachine, TheProtocolIsWhatProtoSaysLast) {
  EXPECT_EQ(load(b("\x80\2N.")).program.protocol, 2);
  EXPECT_EQ(load(b("\x80\2\x80\4N.")).program.protocol, 4);
  EXPECT_EQ(load(b("\x80\0N.")).program.protocol, 0);
}

TEST(PickleMachine, WithoutProtoTheProtocolIs0Or1) {
  EXPECT_EQ(load("(lp0\n.").program.protocol, 0);
  EXPECT_EQ(load("(NNl\x85.").program.protocol, 0);
  EXPECT_EQ(load("].").program.protocol, 1);
  EXPECT_EQ(load(b("\x8c\1"
                   "a."))
                .program.protocol,
            0);
}

TEST(PickleMachine, FramesAreNotNeeded) { EXPECT_EQ(text_of(b("\x80\4N.")), "None"); }

TEST(PickleMachine, AFrameEndsWithThePickleOrBefore) {
  EXPECT_EQ(text_of(b("\x80\4\x95\0\0\0\0\0\0\0\0N.")), "None");
  EXPECT_EQ(text_of(b("\x80\4\x95\2\0\0\0\0\0\0\0N.")), "None");
  EXPECT_REFUSED(b("\x80\4\x95\3\0\0\0\0\0\0\0N."), corrupt);
  EXPECT_REFUSED(b("\x80\4\x95\xff\xff\xff\xff\xff\xff\xff\xffN."), corrupt);
}

TEST(PickleMachine, OnlyNamesAndObjectsAreCalled) {
  EXPECT_REFUSED(b("K\1)R."), corrupt);
  EXPECT_REFUSED(b("N)\x81."), corrupt);
  EXPECT_REFUSED(b("(]o."), corrupt);
  EXPECT_REFUSED(b("c_codecs\nencode\n(Va\nVlatin1\ntR)R."), corrupt);
  EXPECT_REFUSED(b("ctorch.jit._pickle\nrestore_type_tag\n(K\1Vint\ntR)R."), corrupt);
}

TEST(PickleMachine, ARefusalNamesWhatPythonWouldHaveRunByThen) {
  const auto refusal = pickle_testing::error_of_loading(b("cos\nsystem\n)Ra."));
  ASSERT_TRUE(refusal);
  EXPECT_NE(std::string(refusal->what()).find("a pickle that calls for os.system (dangerous): "), std::string::npos);
}

TEST(PickleMachine, ItStopsAtStop) { EXPECT_EQ(load(b("\x80\2N.rest")).program.end, 4u); }

TEST(PickleMachine, GlobalsAreListedOnceWithTheirOffsets) {
  const Loaded loaded = load(b("(cm\nO\ncm\nO\n(im\nP\n\x8c\1m\x8c\1Q\x93\x82\7t."));
  ASSERT_EQ(loaded.program.globals.size(), 4u);
  EXPECT_EQ(loaded.program.globals[0].name, "O");
  EXPECT_EQ(loaded.program.globals[0].offset, 1u);
  EXPECT_EQ(loaded.program.globals[1].name, "P");
  EXPECT_EQ(loaded.program.globals[2].name, "Q");
  EXPECT_EQ(loaded.program.globals[3].module, "copyreg.extension");
  EXPECT_EQ(loaded.program.globals[3].name, "7");
  EXPECT_EQ(loaded.program.globals[3].verdict, Verdict::dangerous);
}

TEST(PickleMachine, StackUnderflowIsCorrupt) {
  for (const char* const code :
       {".",      "0.",      "2.",    "a.",        "Na.", "]a.",  "Ns.",     "}Ns.",  "\x85.",
        "N\x86.", "NN\x87.", "R.",    "cm\nO\nR.", "b.",  "Nb.",  "Q.",      "\x93.", "N\x93.",
        "p0\n.",  "\x94.",   "\x81.", ")}\x92.",   "(.",  "](a.", "N(\x85.", "N(2.",  "N(p0\n."})
    EXPECT_REFUSED(code, corrupt);
}

TEST(PickleMachine, MissingMarksAreCorrupt) {
  for (const char* const code : {"t.", "l.", "d.", "e.", "u.", "\x90.", "\x91.", "1.", "o.", "im\nO\n.", "]e.", "(o."})
    EXPECT_REFUSED(code, corrupt);
}

TEST(PickleMachine, KeysWithoutValuesAreCorrupt) {
  EXPECT_REFUSED("(Nd.", corrupt);
  EXPECT_REFUSED("}(Nu.", corrupt);
  EXPECT_REFUSED("}(NNNu.", corrupt);
}

TEST(PickleMachine, ChangesToWhatCannotTakeThemAreCorrupt) {
  for (const char* const code :
       {"NNa.", "}Na.", ")Na.", "]NNs.", "NNNs.", "](NNu.", "](N\x90.", "I5\nNb.", "]Nb.", "Va\nNb."})
    EXPECT_REFUSED(code, corrupt);
}

TEST(PickleMachine, ArgumentsThatAreNoTupleAreCorrupt) {
  for (const char* const code : {"cm\nO\nNR.", "cm\nO\n]R.", "cm\nO\nN\x81.", "cm\nO\nN}\x92."})
    EXPECT_REFUSED(code, corrupt);
}

TEST(PickleMachine, MemoFetchesBeforeStoresAreCorrupt) {
  EXPECT_REFUSED("g0\n.", corrupt);
  EXPECT_REFUSED(b("h\0."), corrupt);
  EXPECT_REFUSED(b("]q\0j\xff\xff\xff\xff."), corrupt);
  for (const char* const code : {"]p-1\n.", "]px\n.", "]p\n.", "]p0\ng 0\n.", "]p99999999999999999999\n."})
    EXPECT_REFUSED(code, corrupt);
}

TEST(PickleMachine, AMemoIndexOf4BillionIsTaken) {
  EXPECT_EQ(text_of(b("(]r\xff\xff\xff\xffj\xff\xff\xff\xfft.")), "([], #1)");
}

TEST(PickleMachine, ComputedNamesAreUnsupported) {
  EXPECT_REFUSED(b("\x8c\1mN\x93."), unsupported);
  EXPECT_REFUSED(b("cm\nO\n)R\x8c\1O\x93."), unsupported);
}

TEST(PickleMachine, APersistentIdInTextMustBeAscii) { EXPECT_REFUSED(b("P\x86\n."), corrupt); }

TEST(PickleMachine, ExtensionCodesStartAtOne) {
  EXPECT_REFUSED(b("\x82\0."), corrupt);
  EXPECT_REFUSED(b("\x83\0\0."), corrupt);
  EXPECT_REFUSED(b("\x84\xff\xff\xff\xff."), corrupt);
}

TEST(PickleMachine, Protocol6AndBuffersOutsideAreUnsupported) {
  EXPECT_REFUSED(b("\x80\6N."), unsupported);
  EXPECT_REFUSED(b("\x80\5\x97."), unsupported);
  EXPECT_REFUSED(b("\x80\5\x97\x98."), unsupported);
  EXPECT_REFUSED(b("\x80\5N\x98."), unsupported);
}

TEST(PickleMachine, BrokenTextIsCorrupt) {
  for (const char* const code : {"S'a.\n.", "S\n.", "S'\n.", "Sabc\n.", "S'a\"\n.", "S'\\x1'\n.", "V\\u12\n.", "I\n.",
                                 "Ix\n.", "I1.5\n.", "L\n.", "LL\n.", "L1LL\n.", "F\n.", "Fx\n.", "F1.5x\n."})
    EXPECT_REFUSED(code, corrupt);
  EXPECT_REFUSED(b("X\2\0\0\0\xc3("), corrupt);
  EXPECT_REFUSED(b("\x8c\1\xff."), corrupt);
  EXPECT_REFUSED("c\xff\nO\n.", corrupt);
  EXPECT_REFUSED("(im\n\x80\n.", corrupt);
}

TEST(PickleMachine, APickleCutAtAnyByteIsTruncated) {
  const std::string whole =
      b("\x80\2]q\0(K\1M\1\1J\1\1\1\1G\x3f\xf0\0\0\0\0\0\0X\2\0\0\0abcm\nO\n)\x81}"
        "I1\nVx\nsb\x8a\1\1\x8b\1\0\0\0\1U\1aT\1\0\0\0bh\0C\1c\x8c\1"
        "d\x95\7\0\0\0\0\0\0\0j\0\0\0\0e.");
  ASSERT_FALSE(error_of_loading(whole).has_value());
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_REFUSED(whole.substr(0, size), truncated);
}

TEST(PickleMachine, AnInstructionLiesInOneFrame) {
  const std::string head = b("\x80\4\x95"), size = b("\0\0\0\0\0\0\0");
  EXPECT_FALSE(error_of_loading(head + "\x03" + size +
                                b("K\1"
                                  "0"
                                  "N."))
                   .has_value());
  EXPECT_REFUSED(head + "\x01" + size + b("K\1."), corrupt);
  EXPECT_REFUSED(head + "\x03" + size + b("N0I1\n."), corrupt);
  // A frame within another, which reaches past that or does not.
  EXPECT_FALSE(error_of_loading(head + "\x0b" + size + "\x95\x01" + size + "N0N.").has_value());
  EXPECT_REFUSED(head + "\x0a" + size + "\x95\x03" + size + "N0N.", corrupt);
}

TEST(PickleMachine, ErrorsNameFileAndByte) {
  const auto error = error_of_loading(b("\x80\2K\1a."));
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->file(), "test.pkl");
  EXPECT_EQ(error->offset(), 4u);
}

TEST(PickleMachine, DeepNestingNeedsNoStack) {
  const std::size_t depth = 200'000;
  const Loaded lists = load(repeated("]", depth) + repeated("a", depth - 1) + ".");
  EXPECT_EQ(lists.graph.size(), depth);
  const Loaded tuples = load(")" + repeated("\x85", depth) + ".");
  EXPECT_EQ(tuples.graph.size(), depth + 1);
  EXPECT_EQ(load(repeated("(", depth) + repeated("t", depth) + ".").graph.size(), depth);
}

TEST(PickleMachine, PicklesThatShareAGraphDoNotMix) {
  ValueGraph graph;
  const std::string code = b("]q\0K\1a.h\0.");
  std::vector<std::byte> bytes;
  for (const char c : code) bytes.push_back(static_cast<std::byte>(c));
  const auto source = memory_source(bytes, "two.pkl");
  const Program first = run(*source, 0, graph);
  EXPECT_EQ(text_of(graph, first.root), "[]+=(1)");
  EXPECT_THROW(run(*source, first.end, graph), Error);
}

}  // namespace
}  // namespace ckpt::pickle
