#include "pickle/emitter.h"

#include <array>

#include "pickle/pickle_testing.h"

namespace ckpt::pickle {
namespace {

using namespace pickle_testing;

void expect_kept(const std::string& code) { EXPECT_EQ(again(code), code) << text_of(code); }

void expect_same(const std::string& code, const std::string& expected) {
  EXPECT_EQ(again(code), expected) << text_of(code);
}

TEST(PickleEmitter, EveryOpcodeOfALiteralIsKept) {
  for (const std::string& literal : {b("I5\n"),
                                     b("I01\n"),
                                     b("I00\n"),
                                     b("I-99999999999999999999\n"),
                                     b("L5L\n"),
                                     b("L99999999999999999999L\n"),
                                     b("F1.5\n"),
                                     b("Fnan\n"),
                                     b("Vx\\u20ac\n"),
                                     b("S'x'\n"),
                                     b("N"),
                                     b("K\1"),
                                     b("M\1\0"),
                                     b("J\1\0\0\0"),
                                     b("G\x3f\xf8\0\0\0\0\0\0"),
                                     b("G\x7f\xf8\0\0\xde\xad\xbe\xef"),
                                     b("X\1\0\0\0x"),
                                     b("U\1x"),
                                     b("T\1\0\0\0x"),
                                     b("\x88"),
                                     b("\x89"),
                                     b("\x8a\1\1"),
                                     b("\x8b\1\0\0\0\1"),
                                     b("C\1x"),
                                     b("B\1\0\0\0x"),
                                     b("\x8c\1x"),
                                     b("\x8d\1\0\0\0\0\0\0\0x"),
                                     b("\x8e\1\0\0\0\0\0\0\0x"),
                                     b("\x96\1\0\0\0\0\0\0\0x"),
                                     b("cm\nO\n"),
                                     b("\x8c\1m\x8c\1O\x93"),
                                     b("\x82\1"),
                                     b("\x83\1\0"),
                                     b("\x84\1\0\0\0")})
    for (const char* const proto : {"", "\x80\2", "\x80\3", "\x80\4", "\x80\5"}) expect_kept(proto + literal + ".");
}

TEST(PickleEmitter, EveryOpcodeOfAContainerIsKept) {
  for (const std::string& container : {b("]"),
                                       b(")"),
                                       b("}"),
                                       b("(l"),
                                       b("(K\1l"),
                                       b("(K\1t"),
                                       b("(t"),
                                       b("(K\1K\2d"),
                                       b("K\1\x85"),
                                       b("K\1K\2\x86"),
                                       b("K\1K\2K\3\x87"),
                                       b("\x8f"),
                                       b("(K\1\x91"),
                                       b("]K\1a"),
                                       b("](K\1e"),
                                       b("](e"),
                                       b("}K\1K\2s"),
                                       b("}(K\1K\2u"),
                                       b("\x8f(K\1\x90"),
                                       b("cm\nO\n)R"),
                                       b("cm\nO\n)\x81"),
                                       b("cm\nO\n)}\x92"),
                                       b("(K\1im\nO\n"),
                                       b("(cm\nO\nK\1o"),
                                       b("Pid\n"),
                                       b("K\1Q"),
                                       b("cm\nO\n)RK\1b"),
                                       b("cm\nO\n)R(K\1K\2e(K\3K\4uK\5b")})
    for (const char* const proto : {"\x80\1", "\x80\2", "\x80\4"})
      expect_same(proto + container + ".", (proto[1] == 1 ? "" : proto) + container + ".");
}

TEST(PickleEmitter, WhatPythonHasOnlyOneOfIsWrittenInEachPlace) {
  expect_kept(b("(NN\x88\x88\x89\x89K\7K\7))t."));
  EXPECT_EQ(in_protocol(b("\x80\2(NNK\7K\7))t."), 3), b("\x80\3(NNK\7K\7))t."));
  expect_kept(b("(NNq\0Nh\0t."));  // one of them with a place in the memo
  expect_kept(b("(K\7K\7q\0K\7q\1h\0t."));
  expect_kept(b("())q\0)h\0t."));
}

TEST(PickleEmitter, ManyEmptyTuplesAreNoValueThatHoldsItself) { expect_kept("(" + repeated(")", 150'000) + "t."); }

TEST(PickleEmitter, MemoPlacesAreKeptAndNumberedAnew) {
  expect_kept(b("\x80\2]q\0K\1a."));
  expect_same(b("\x80\2(]q\7h\7t."), b("\x80\2(]q\0h\0t."));
  expect_kept(b("\x80\4]\x94(}\x94h\1h\0e."));
  expect_kept(b("(lp0\n(dp1\nag1\na."));
  std::string many = b("\x80\2](");
  for (int i = 0; i < 300; ++i)
    many += i < 256 ? "}q" + le(static_cast<std::uint64_t>(i), 1) : "}r" + le(static_cast<std::uint64_t>(i), 4);
  expect_kept(many + b("h\0h\xffj\0\1\0\0e."));
}

TEST(PickleEmitter, CyclesAreKept) {
  expect_kept(b("\x80\2]q\0h\0a."));
  expect_kept(b("\x80\2}q\0K\1h\0s."));
  expect_kept(b("\x80\2]q\0h\0\x85q\1a0h\1."));
  expect_kept(b("\x80\2(]q\0(h\0NNNtq\1aNNN1h\1."));
  expect_kept(b("(]q\0(h\0tq\1a1h\1."));
  expect_kept(b("((lp0\n(g0\ntp1\na00g1\n."));
  expect_kept(b("\x80\2cm\nO\n)\x81q\0}K\1h\0sb."));
  expect_kept(b("\x80\4\x8f\x94(\x8c\1m\x94\x8c\1O\x94\x93\x94)\x81\x94}\x94K\1h\0sb\x90."));
  expect_kept(
      b("\x80\4(\x8c\1m\x8c\1O\x93)\x81\x94(h\0\x91\x94"
        "b1h\1."));
}

TEST(PickleEmitter, ACallInATupleThatHoldsItselfIsMadeOnce) {
  expect_same(b("]q\0(cm\nO\n)Rh\0tq\1ah\1."), b("(cm\nO\n)Rq\0]q\1(h\0h\1tq\2a1h\2."));
  expect_same(b("]q\0(Pid\nh\0tq\1ah\1."), b("(Pid\nq\0]q\1(h\0h\1tq\2a1h\2."));
}

TEST(PickleEmitter, AListOutsideTheMemoMayHoldTheTupleThatHoldsIt) {
  expect_same(b("\x80\2]2\x85q\1ah\1."), b("\x80\2]q\0h\0\x85q\1a0h\1."));
}

TEST(PickleEmitter, AClassThatIsChangedIsChangedOnce) {
  expect_kept(b("cm\nO\n}b."));
  expect_kept(b("\x80\2cm\nO\nq\0}b."));
  expect_same(b("\x80\2cm\nO\n)\201cm\nP\nq\0)b."), b("\x80\2cm\nP\nq\0)cm\nO\n)\2010b."));
}

TEST(PickleEmitter, ACallSeesItsArgumentsAsTheyWere) {
  expect_same(b("\x80\2]q\0cm\nO\nh\0\x85Rh\0K\1a0\x86."), b("\x80\2]q\0cm\nO\nh\0\x85R\x86h\0K\1a0."));
  expect_same(b("\x80\2]q\0K\1"
                "acm\nO\nh\0\x85Rh\0K\2a0cm\nP\nh\0\x85R\x87."),
              b("\x80\2]q\0K\1"
                "acm\nO\nh\0\x85Rcm\nP\nh\0\x85h\0K\2a0R\x87."));
  // l = []; o = O(l); l.append(o), as CPython's pickler says it: with a call that is made twice, once in vain.
  expect_same(b("\x80\2"
                "cm\nO\n]q\0cm\nO\nh\0\x85Rq\1a\x85R0h\1."),
              b("\x80\2"
                "cm\nO\n]q\0\x85Rq\1h\0h\1a0cm\nO\nh\0\x85R0."));
}

TEST(PickleEmitter, ACallSeesWhatHoldsItAsItWas) {
  // What holds an object is its state: the object is changed after it is put there.
  expect_same(b("]Q\x94]h\0aq\0bh\0."), b("]q\0]Qq\1ah\1h\0b0."));
  expect_same(b("]Q\x94](h\0K\1eq\0bh\0."), b("]q\0(]Qq\1K\1eh\1h\0b0."));
  expect_same(b("]Q\x94}K\1h\0sq\0bh\0."), b("}q\0K\1]Qq\1sh\1h\0b0."));
  expect_same(b("]Q\x94(h\0lq\0bh\0."), b("(]Qq\0(h\0lq\1b1h\1."));
}

TEST(PickleEmitter, AListThatItsOwnItemHoldsIsChangedOnce) {
  expect_same(b("]\x94(h\0lq\0ah\0K\1a."), b("(]q\0(h\0lq\1a1h\1h\1K\1a0."));
}

TEST(PickleEmitter, ANameInAListThatItsOwnItemHoldsIsLookedUpOnce) {
  const std::string once = again(b("]\x94(h\0U\1mU\1n\x93lq\0ah\0."));
  EXPECT_EQ(again(once), once);
}

TEST(PickleEmitter, CallsComeInTheOrderOfTheSource) {
  expect_same(b("\x80\2"
                "cm\nA\n)Rq\0"
                "0cm\nB\n)Rh\0\x86."),
              b("\x80\2"
                "cm\nB\n)cm\nA\n)Rq\0"
                "0Rh\0\x86."));
}

TEST(PickleEmitter, DroppedCallsAreMade) {
  const std::string out =
      again(b("\x80\2"
              "cm\nA\n)R0cm\nB\n)R."));
  EXPECT_NE(out.find("cm\nA\n)R"), std::string::npos);
  EXPECT_EQ(text_of(out), "m.B()");
  EXPECT_EQ(load(out).program.discarded.size(), 1u);
}

TEST(PickleEmitter, LateEffectsOfAnOperandComeBeforeTheNextCall) {
  const std::string out = again(b("\x80\2]q\0h\0K\1a0cm\nO\nh\0\x85R\x86."));
  EXPECT_EQ(text_of(out), text_of(b("\x80\2]q\0h\0K\1a0cm\nO\nh\0\x85R\x86.")));
  EXPECT_LT(out.find("K\1a"), out.find("\x85R"));
}

TEST(PickleEmitter, ToProtocol0EverythingIsText) {
  EXPECT_EQ(in_protocol(b("\x80\2(K\1\x88NG\x3f\xf8\0\0\0\0\0\0X\1\0\0\0x]}\x8a\5\0\0\0\0\1t."), 0),
            "(I1\nI01\nNF1.5\nVx\n(l(dL4294967296L\nt.");
  EXPECT_EQ(in_protocol(b("\x80\3C\1\xff."), 0), "c_codecs\nencode\n(V\xff\nVlatin1\ntR.");
  EXPECT_EQ(in_protocol(b("\x80\2"
                          "cm\nO\nK\1\x85\x81."),
                        0),
            "ccopy_reg\n__newobj__\n(cm\nO\nI1\ntR.");
}

// A tuple of arguments that two calls share is spread out twice; what it holds is still one object.
TEST(PickleEmitter, ArgumentsThatAreSpreadOutTwiceStayShared) {
  EXPECT_EQ(in_protocol(b("\x80\2("
                          "cm\nO\n]\x85q\0\x81"
                          "cm\nO\nh\0\x81t."),
                        1),
            b("(ccopy_reg\n__newobj__\n(cm\nO\n]q\0tR"
              "ccopy_reg\n__newobj__\n(cm\nO\nh\0tRt."));
}

TEST(PickleEmitter, ANanThatTextCannotSayStaysBinary) {
  EXPECT_EQ(in_protocol(b("G\x7f\xf8\0\0\xde\xad\xbe\xef."), 0), b("G\x7f\xf8\0\0\xde\xad\xbe\xef."));
  EXPECT_EQ(in_protocol(b("G\x7f\xf8\0\0\0\0\0\0."), 0), "Fnan\n.");
}

TEST(PickleEmitter, ToProtocol2SetsBytesAndKeywordsBecomeCalls) {
  EXPECT_EQ(in_protocol(b("\x80\4\x8f(K\1K\2\x90."), 2), b("\x80\2"
                                                           "c__builtin__\nset\n](K\1K\2e\x85R."));
  EXPECT_EQ(in_protocol(b("\x80\4\x8f."), 2), b("\x80\2"
                                                "c__builtin__\nset\n]\x85R."));
  EXPECT_EQ(in_protocol(b("\x80\4(K\1\x91."), 2), b("\x80\2"
                                                    "c__builtin__\nfrozenset\n](K\1e\x85R."));
  EXPECT_EQ(in_protocol(b("\x80\5\x96\1\0\0\0\0\0\0\0x."), 4), b("\x80\4"
                                                                 "cbuiltins\nbytearray\nC\1x\x85R."));
  EXPECT_EQ(in_protocol(b("\x80\4"
                          "cm\nO\n)}\x92."),
                        2),
            b("\x80\2"
              "ccopy_reg\n__newobj_ex__\n(cm\nO\n)}tR."));
}

TEST(PickleEmitter, ASetIsMadeWithItsItemsInEveryProtocol) {
  ValueGraph graph;
  const ValueId items[] = {graph.make_integer(1), graph.make_integer(2)};
  const ValueId set = graph.make_container(ValueKind::set, items);
  EXPECT_EQ(emit(graph, set, {.protocol = 4}), b("\x80\4\x8f\x94(K\1K\2\x90."));
  EXPECT_EQ(emit(graph, set, {.protocol = 2}), b("\x80\2"
                                                 "c__builtin__\nset\n](K\1K\2e\x85R."));
}

TEST(PickleEmitter, ToProtocol4OpcodesAreItsOwn) {
  EXPECT_EQ(in_protocol("(lp0\nVx\naI5\naI01\na.", 4), b("\x80\4]\x94\x8c\1xaK\5a\x88"
                                                         "a."));
  EXPECT_EQ(in_protocol("c__builtin__\nset\n.", 4), b("\x80\4\x8c\x08"
                                                      "builtins\x8c\3set\x93."));
}

TEST(PickleEmitter, NamesChangeWithThePythonThatReadsThem) {
  EXPECT_EQ(in_protocol("ccopy_reg\n_reconstructor\n.", 3), b("\x80\3"
                                                              "ccopyreg\n_reconstructor\n."));
  EXPECT_EQ(in_protocol("(icopy_reg\n_reconstructor\n.", 3), b("\x80\3(icopyreg\n_reconstructor\n."));
  EXPECT_EQ(in_protocol(b("\x80\4\x8c\x08"
                          "builtins\x8c\5range\x93."),
                        2),
            b("\x80\2"
              "c__builtin__\nxrange\n."));
  EXPECT_EQ(in_protocol("c__builtin__\nxrange\n.", 2), b("\x80\2"
                                                         "c__builtin__\nxrange\n."));
}

TEST(PickleEmitter, ANameThatWouldComeBackAsAnotherStays) {
  EXPECT_EQ(in_protocol(b("\x80\4\x8c\x08"
                          "builtins\x8c\x11"
                          "FileNotFoundError\x93."),
                        2),
            b("\x80\2"
              "cbuiltins\nFileNotFoundError\n."));
}

TEST(PickleEmitter, WhatAProtocolCannotSayIsRefusedByName) {
  for (const std::string& code :
       {b("\x80\4\x8c\1m\x8c\3O.P\x93."), b("\x80\4\x8f\x94\x8c\1m\x8c\1O\x93h\0\x85R\x94h\0(h\1\x90"
                                            "0.")}) {
    try {
      in_protocol(code, 2);
      ADD_FAILURE() << "was written";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
      EXPECT_EQ(error.hint(), "write with --protocol 4");
    }
  }
}

TEST(PickleEmitter, ASetThatItsMemberHoldsIsMadeFirst) {
  EXPECT_EQ(in_protocol(b("\x80\4\x8f\x94(\x8c\1m\x8c\1O\x93)\x81\x94h\0b\x90."), 2),
            b("\x80\2"
              "c__builtin__\nset\n](cm\nO\n)\x81q\0e\x85Rq\1h\0h\1b0."));
}

TEST(PickleEmitter, ATupleInAsManyCyclesAsItHasItemsStaysSmall) {
  // Each list of the tuple holds the tuple. In the source that is said after the tuple is made.
  const int count = 2000;
  std::string code = b("\x80\2");
  for (int i = 0; i < count; ++i) code += "]r" + le(static_cast<std::uint64_t>(i), 4) + "0";
  code += "(";
  for (int i = 0; i < count; ++i) code += "j" + le(static_cast<std::uint64_t>(i), 4);
  code += "tr" + le(count, 4);
  for (int i = 0; i < count; ++i) code += "j" + le(static_cast<std::uint64_t>(i), 4) + "j" + le(count, 4) + "a0";
  code += ".";
  EXPECT_LT(again(code).size(), 2 * code.size());
  EXPECT_LT(in_protocol(code, 2).size(), 2 * code.size());
}

TEST(PickleEmitter, DeepNestingNeedsNoStack) {
  const std::size_t depth = 200'000;
  const std::string lists = b("\x80\2") + repeated("]", depth) + repeated("a", depth - 1) + ".";
  EXPECT_TRUE(again(lists) == lists);
  const std::string tuples = b("\x80\2)") + repeated("\x85", depth) + ".";
  EXPECT_TRUE(again(tuples) == tuples);
  EXPECT_TRUE(in_protocol(tuples, 2) == tuples);
  EXPECT_FALSE(in_protocol(b("\x80\4") + repeated("(", depth) + repeated("\x91", depth) + ".", 2).empty());
}

TEST(PickleEmitter, EditedGraphsNeedNoForms) {
  ValueGraph graph;
  const ValueId dict = graph.make_container(ValueKind::dict);
  const ValueId list = graph.make_container(ValueKind::list, std::array{graph.make_integer(-1), graph.make_real(0.5)});
  const ValueId key = graph.make_str("a");
  graph.add_effect(dict, EffectKind::set_items, std::array{key, list});
  graph.add_effect(list, EffectKind::append, std::array{dict});
  EXPECT_EQ(emit(graph, dict), b("\x80\2}q\0X\1\0\0\0"
                                 "a(J\xff\xff\xff\xffG\x3f\xe0\0\0\0\0\0\0lq\1h\0as."));
  EXPECT_EQ(emit(graph, key, {.source_protocol = 0, .protocol = {}, .discarded = {}}), "Va\n.");
}

TEST(PickleEmitter, AnEditMayPutALaterValueIntoAnEarlierCall) {
  Loaded loaded =
      load(b("\x80\2"
             "cm\nO\nN\x85R]K\1a\x86."));
  const ValueId call = loaded.graph.items(loaded.program.root)[0];
  const ValueId list = loaded.graph.items(loaded.program.root)[1];
  loaded.graph.set_item(loaded.graph.items(call)[1], 0, list);
  EXPECT_EQ(text_of(emit(loaded.graph, loaded.program.root)), "(m.O([]+=(1)), #3)");
}

}  // namespace
}  // namespace ckpt::pickle
