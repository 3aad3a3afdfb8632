#include "pickle/misuse.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pickle/pickle_testing.h"

namespace ckpt::pickle {
namespace {

using pickle_testing::b;
using pickle_testing::load;

using Texts = std::vector<std::string>;

std::string names_with(Verdict verdict, std::string_view code) {
  const auto loaded = load(code);
  std::string names;
  for (const GlobalUse& use : loaded.program.globals)
    if (use.verdict == verdict) names += (names.empty() ? "" : " ") + use.module + "." + use.name;
  return names;
}

/// The names that the pickle uses as no pickler does: those that are dangerous, though known by themselves.
std::string misused(std::string_view code) { return names_with(Verdict::dangerous, code); }

/// Those of which it is not known what comes of it.
std::string doubted(std::string_view code) { return names_with(Verdict::unknown, code); }

const std::string array = "cnumpy\nndarray\n", apply = "ctorch._tensor\n_rebuild_from_type_v2\n";
const std::string layer = "ctorch.nn.modules.linear\nLinear\n", extended = "ccopyreg\n__newobj_ex__\n";

/// _rebuild_tensor_v2 of four floats, up to its hooks; and none of these.
const std::string dense =
    "ctorch._utils\n_rebuild_tensor_v2\n((Vstorage\nctorch\nFloatStorage\nV0\nVcpu\nI4\ntQI0\n(I4\nt(I1\ntI00\n";
const std::string no_hooks = "ccollections\nOrderedDict\n)R";

/// numpy.dtype(code, False, True), given the state (3, '|', None, None, None, size, alignment, flags).
std::string dtype(const std::string& code, int size, int alignment, int flags, const std::string& more = "NNN") {
  const auto number = [](int value) { return "I" + std::to_string(value) + "\n"; };
  return "cnumpy\ndtype\n(V" + code + "\nI00\nI01\ntR(I3\nV|\n" + more + number(size) + number(alignment) +
         number(flags) + "tb";
}

TEST(PickleMisuse, WhatPicklersWriteIsKnown) {
  EXPECT_EQ(misused("}(Va\n" + layer + b(")\x81}bu.")), "");
  EXPECT_EQ(misused("ccopy_reg\n_reconstructor\n(" + layer + "c__builtin__\nobject\nNtR}b."), "");
  EXPECT_EQ(misused("ccollections\ndefaultdict\n(cbuiltins\nlist\ntR(Va\n]u."), "");
  EXPECT_EQ(misused("cbuiltins\nset\n(](" + layer + b(")\x81") + "etR."), "");
  EXPECT_EQ(misused("cbuiltins\nbytearray\n(c_codecs\nencode\n(Va\nVlatin1\ntRtR."), "");
  EXPECT_EQ(misused(apply + "(ctorch._utils\n_rebuild_tensor_v2\nctorch\nTensor\nN}tR."), "");
}

TEST(PickleMisuse, TorchScriptTagsTheMetadataOfAConjugateTensor) {
  const auto tensor = [](const std::string& metadata) { return dense + no_hooks + metadata + "tR."; };
  const std::string tag = "ctorch.jit._pickle\nrestore_type_tag\n";
  EXPECT_EQ(doubted(tensor("(Vconj\nI01\nd")), "");
  EXPECT_EQ(doubted(tensor(tag + "((Vconj\nI01\ndVDict[str, bool]\ntR")), "");
  EXPECT_NE(doubted(tensor(tag + "(NVint\ntR")), "");
}

TEST(PickleMisuse, ArraysAreNotConstructed) {
  for (const std::string& call :
       {array + "(NtR", array + b("(Nt\x81"), std::string("(Ninumpy\nndarray\n"), "(" + array + "No",
        "ccopyreg\n__newobj__\n(" + array + "NtR", apply + "(" + array + "NN}tR"})
    EXPECT_EQ(misused(call + "."), "numpy.ndarray") << call;
}

TEST(PickleMisuse, KeywordsMayBeAddresses) {
  EXPECT_EQ(misused(b("\x80\4") + "ctorch\nFloatTensor\n" + b(")}\x92.")), "torch.FloatTensor");
  EXPECT_EQ(misused(extended + "(ctorch\nFloatTensor\n)}tR."), "torch.FloatTensor");
  EXPECT_EQ(misused("ccopy_reg\n__newobj_ex__\n(ctorch\nFloatTensor\n)}tR."), "torch.FloatTensor");
  EXPECT_EQ(misused("(" + extended + "ctorch\nFloatTensor\n)}o."), "copyreg.__newobj_ex__");
  EXPECT_EQ(misused("V__array_interface__\n."), "(text).__array_interface__");
}

TEST(PickleMisuse, WhatMakesOrCallsIsToldWhat) {
  EXPECT_EQ(misused(apply + "(" + apply + "NN}tR."), "torch._tensor._rebuild_from_type_v2");
  EXPECT_EQ(misused(apply + "cbuiltins\ntuple\n(](" + array + "etRR."), "torch._tensor._rebuild_from_type_v2");
  EXPECT_EQ(misused("](" + apply + "e."), "torch._tensor._rebuild_from_type_v2");
  EXPECT_EQ(misused("ccopyreg\n_reconstructor\n(" + layer + layer + "NtR."), "copyreg._reconstructor");
}

TEST(PickleMisuse, ObjectsAreNotAskedForItems) {
  const std::string made = layer + b(")\x81");
  EXPECT_EQ(misused("cbuiltins\nlist\n(" + made + "tR."), "builtins.list");
  EXPECT_EQ(misused("ccollections\nOrderedDict\n(" + made + "tR."), "collections.OrderedDict");
  EXPECT_EQ(misused(made + "(NNu."), "torch.nn.modules.linear.Linear");
  EXPECT_EQ(misused(made + "Na."), "torch.nn.modules.linear.Linear");
  EXPECT_EQ(misused(made + "(NtR."), "torch.nn.modules.linear.Linear");
}

TEST(PickleMisuse, LayersAreNotConstructedAndFunctionsNotCalled) {
  EXPECT_EQ(misused(layer + "(K\1K\1tR."), "torch.nn.modules.linear.Linear");
  EXPECT_EQ(misused("(K\1itorch.nn.modules.linear\nLinear\n."), "torch.nn.modules.linear.Linear");
  EXPECT_EQ(misused("ctorch.nn.functional\nrelu\n(NtR."), "torch.nn.functional.relu");
  EXPECT_EQ(misused("ctorch.nn.functional\nrelu\n}b."), "torch.nn.functional.relu");
  EXPECT_EQ(misused("c_codecs\nencode\n(Va\nVrot13\ntR."), "_codecs.encode");
}

TEST(PickleMisuse, AnIdentityHidesNothing) {
  const std::string tag = "ctorch.jit._pickle\nrestore_type_tag\n";
  EXPECT_EQ(misused(tag + "(cargparse\nNamespace\nV\ntR}b."), "argparse.Namespace");
  EXPECT_EQ(misused(tag + "(cargparse\nNamespace\nV\ntR(NtR."), "torch.jit._pickle.restore_type_tag");
}

TEST(PickleMisuse, StatesOfDTypesAreNumpys) {
  EXPECT_EQ(misused(dtype("O8", -1, -1, 63) + "."), "");
  EXPECT_EQ(misused(dtype("f8", -1, -1, 0) + "."), "");
  EXPECT_EQ(misused(dtype("U3", 12, 4, 8) + "."), "");
  EXPECT_EQ(misused(dtype("O8", -1, -1, 0) + "."), "numpy.dtype");
  EXPECT_EQ(misused(dtype("f8", -1, -1, 1) + "."), "numpy.dtype");
  EXPECT_EQ(misused(dtype("f8", 100, 1, 0) + "."), "numpy.dtype");
  EXPECT_EQ(misused(dtype("V8", -8, 1, 0) + "."), "numpy.dtype");
  EXPECT_EQ(misused(dtype("V8", 8, 1, 0, "N))") + "."), "numpy.dtype") << "its fields are no dict";
  EXPECT_EQ(misused(dtype("V8", 8, 1, 0) + "(I3\nV|\nNNNI8\nI1\nI0\ntb."), "numpy.dtype");
}

TEST(PickleMisuse, FieldsStayInTheirDTypes) {
  const auto fields = [](const std::string& of, int offset) {
    return "N(Va\nt}Va\n(" + of + "I" + std::to_string(offset) + "\nts";
  };
  const std::string number = dtype("i4", -1, -1, 0), object = dtype("O8", -1, -1, 63);
  EXPECT_EQ(misused(dtype("V8", 8, 1, 16, fields(number, 4)) + "."), "");
  EXPECT_EQ(misused(dtype("V8", 8, 1, 27, fields(object, 0)) + "."), "");
  EXPECT_EQ(misused(dtype("V8", 8, 1, 16, fields(number, 5)) + "."), "numpy.dtype");
  EXPECT_EQ(misused(dtype("V8", 8, 1, 16, fields(number, -4)) + "."), "numpy.dtype");
  EXPECT_EQ(misused(dtype("V8", 8, 1, 16, fields(object, 0)) + "."), "numpy.dtype");
  EXPECT_EQ(misused(dtype("V8", 8, 1, 16, "(" + number + "(I2\ntt" + "NN") + "."), "");
  EXPECT_EQ(misused(dtype("V8", 8, 1, 16, "(" + number + "(I3\ntt" + "NN") + "."), "numpy.dtype");
}

TEST(PickleMisuse, ADTypeThatIsGivenAwayStaysWhatItIs) {
  const std::string early = "cnumpy\ndtype\n(VV8\nI00\nI01\ntRp0\n0](g0\ne0g0\n(I3\nV|\nNNNI8\nI1\nI0\ntb.";
  EXPECT_EQ(misused(early), "numpy.dtype");
  const std::string fields = "}p0\n0" + dtype("V8", 8, 1, 0, "N(tg0\n") + "0g0\nVa\nNs.";
  EXPECT_EQ(misused(fields), "numpy.dtype");
}

TEST(PickleMisuse, WhatPicklersWriteIsOfAKnownForm) {
  EXPECT_EQ(doubted("cbuiltins\nrange\n(I0\nI9\nI1\ntR."), "");
  EXPECT_EQ(doubted("c__builtin__\nxrange\n(I0\nI9\nI1\ntR."), "");
  EXPECT_EQ(doubted("cpathlib\nPosixPath\n(Va\nVb\ntR."), "");
  EXPECT_EQ(doubted("ctorch\nSize\n((I3\nI4\nttR."), "");
  EXPECT_EQ(doubted("ccollections\ndeque\n(](I1\neI3\ntR."), "");
  EXPECT_EQ(doubted("ccollections\ndeque\n)RI1\na."), "");
  EXPECT_EQ(doubted("ccollections\nOrderedDict\n)R}(V_metadata\nccollections\nOrderedDict\n)Rub."), "");
  EXPECT_EQ(doubted("ccopy_reg\n_reconstructor\n(cargparse\nNamespace\nc__builtin__\nobject\nNtR}(Va\nI1\nub."), "");
  // The class of a legacy file that is saved whole.
  EXPECT_EQ(
      doubted("ccopy_reg\n_reconstructor\n((Vmodule\n" + layer + "Va\nVb\nt" + b("Q") + "c__builtin__\nobject\nNtR}b."),
      "");
}

TEST(PickleMisuse, WhatIsOfNoKnownFormIsInDoubt) {
  EXPECT_EQ(doubted("cbuiltins\nrange\n(Va\ntR."), "builtins.range");
  EXPECT_EQ(doubted("cbuiltins\nrange\n(I0\ntR."), "builtins.range");
  EXPECT_EQ(doubted("cbuiltins\nbytearray\n(I9\ntR."), "builtins.bytearray");
  EXPECT_EQ(doubted("cbuiltins\nint\n(Va\ntR."), "builtins.int");
  EXPECT_EQ(doubted("ctorch._utils\n_rebuild_parameter\n(NI01\n}tR."), "torch._utils._rebuild_parameter");
  EXPECT_EQ(doubted("ccollections\nOrderedDict\n)R}(Va\nI1\nub."), "collections.OrderedDict");
}

TEST(PickleMisuse, ContainersAreGivenItemsInTheirOwnWay) {
  EXPECT_EQ(misused("ccollections\nOrderedDict\n)RI1\na."), "collections.OrderedDict");
  EXPECT_EQ(misused("ccollections\ndeque\n)R(I1\nI1\nu."), "collections.deque");
  EXPECT_EQ(misused("cbuiltins\nset\n)RI1\na."), "builtins.set");
}

TEST(PickleMisuse, PairsForMappingsAreWrittenOut) {
  const std::string range = "cbuiltins\nrange\n(I0\nI9\nI1\ntR";
  for (const std::string& pairs : Texts{"(" + range + "t", "](" + range + "e", "](NI1\n" + range + "e"}) {
    EXPECT_EQ(misused("cbuiltins\ndict\n(" + pairs + "tR."), "builtins.dict") << pairs;
    EXPECT_EQ(misused("ccollections\nOrderedDict\n(" + pairs + "tR."), "collections.OrderedDict") << pairs;
    EXPECT_EQ(misused("ccollections\ndefaultdict\n(N" + pairs + "tR."), "collections.defaultdict") << pairs;
    EXPECT_EQ(misused("cbuiltins\nset\n(" + pairs + "tR."), "") << pairs;
  }
  EXPECT_EQ(misused("cbuiltins\ndict\n(](](Va\n" + range + "eetR."), "");
}

TEST(PickleMisuse, CodecsTakeNoMoreTimeThanThereIsText) {
  for (const std::string& kind : Texts{"bytes", "bytearray"}) {
    EXPECT_EQ(doubted("cbuiltins\n" + kind + "\n(Va\nVlatin-1\ntR."), "");
    EXPECT_EQ(doubted("cbuiltins\n" + kind + "\n(Va\nVpunycode\ntR."), "builtins." + kind);
  }
}

TEST(PickleMisuse, GeneratorsGoOnWithinTheirNumbers) {
  const std::string maker = "numpy.random._pickle.__bit_generator_ctor";
  const auto with = [](const std::string& state) {
    return "cnumpy.random._pickle\n__bit_generator_ctor\n(VMT19937\ntR" + state + "b.";
  };
  for (const std::string& state : Texts{"}Vpos\nI624\ns", "(}Vbuffer_pos\nI4\nsNt", "(VMT19937\nNI0\nt",
                                        "}Vstate\n}Vpos\nI0\nss", "}Vstate\n(VPCG64\nNts", "}Vx\nI1000\ns"})
    EXPECT_EQ(doubted(with(state)), "") << state;
  for (const std::string& state :
       Texts{"}Vpos\nI625\ns", "}Vpos\nI-1\ns", "}Vpos\nNs", "(}Vbuffer_pos\nI5\nsNt", "(VMT19937\nNI625\nt",
             "}Vstate\n}Vpos\nI-1\nss", "](VMT19937\nNI625\ne", "}(Vpos\nI0\nVpos\nI625\nu"})
    EXPECT_EQ(doubted(with(state)), maker) << state;
}

TEST(PickleMisuse, ElementsThatAreSeveralAreARecords) {
  const std::string pair = dtype("V16", 16, 8, 0, "(" + dtype("i8", -1, -1, 0) + "(I2\nttNN"),
                    bytes = b("C\x10") + std::string(16, 'a');
  const auto array_of = [&](const std::string& of) {
    return "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntVb\ntR(I1\n(I1\nt" + of + "I00\n" + bytes +
           "tb.";
  };
  EXPECT_EQ(misused(array_of(pair)), "numpy.core.multiarray._reconstruct");
  EXPECT_EQ(misused("cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntVb\ntR(u."),
            "numpy.core.multiarray._reconstruct");
  EXPECT_EQ(misused("cnumpy.core.multiarray\nscalar\n(" + pair + bytes + "tR."), "numpy.core.multiarray.scalar");
  EXPECT_EQ(misused("cnumpy.core.numeric\n_frombuffer\n(" + bytes + pair + "(I1\ntVC\ntR."),
            "numpy.core.numeric._frombuffer");
  EXPECT_EQ(misused(array_of(dtype("V16", 16, 8, 16, "N(Va\nt}Va\n(" + pair + "I0\nts"))), "");
}

TEST(PickleMisuse, FunctionsMakeNoClassesThatTakeMemoryOrFiles) {
  for (const std::string name : {"numpy.memmap", "builtins.str", "numpy.dtype", "numpy.float64"}) {
    const std::size_t dot = name.find('.');
    EXPECT_EQ(misused("ccopyreg\n__newobj__\n(c" + name.substr(0, dot) + "\n" + name.substr(dot + 1) + "\nVa\ntR."),
              name);
  }
  EXPECT_EQ(misused("cnumpy.ma.core\n_mareconstruct\n(" + layer + array + "(I0\ntVb\ntR."),
            "numpy.ma.core._mareconstruct");
  EXPECT_EQ(misused("cnumpy.core.multiarray\nscalar\n(" + dtype("O8", -1, -1, 63) + layer + "tR."),
            "numpy.core.multiarray.scalar");
}

TEST(PickleMisuse, AttributesHaveNamesOfTheirOwn) {
  const std::string space = "cargparse\nNamespace\n)R";
  EXPECT_EQ(misused(space + "}(Va\nI1\nub."), "");
  EXPECT_EQ(misused(space + "}(V__class__\n" + layer + "ub."), "argparse.Namespace");
  EXPECT_EQ(misused(space + "(}}(V__class__\n" + layer + "utb."), "argparse.Namespace");
  EXPECT_EQ(misused(space + "}(I1\nI1\nub."), "argparse.Namespace");
  EXPECT_EQ(misused(space + "}((tI1\nub."), "argparse.Namespace");
  EXPECT_EQ(misused("ctorch.utils.hooks\nRemovableHandle\n" + b(")\x81") + "(NI3\ntb."), "");
}

TEST(PickleMisuse, TextsAreMadeOfPlainIds) {
  const auto id = [](const std::string& key) { return "(Vstorage\nctorch\nFloatStorage\n" + key + "Vcpu\nI4\ntQ."; };
  EXPECT_EQ(misused(id("V0\n")), "");
  EXPECT_EQ(misused(id("cargparse\nNamespace\n)R")), "argparse.Namespace");
  EXPECT_EQ(misused(id("(cargparse\nNamespace\n)Rt")), "argparse.Namespace");
  EXPECT_EQ(misused(id("](cargparse\nNamespace\n)Re")), "torch.FloatStorage");
}

TEST(PickleMisuse, AnArrayHasAsManyElementsAsItsShapeSays) {
  const auto with = [](int count, const std::string& list) {
    return "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntc_codecs\nencode\n(Vb\nVlatin1\ntRtR(I1\n(I" +
           std::to_string(count) + "\nt" + dtype("O8", -1, -1, 63) + "I00\n" + list + "tb.";
  };
  const std::string said = "numpy.core.multiarray._reconstruct";
  EXPECT_EQ(misused(with(2, "](NNe")), "");
  EXPECT_EQ(misused(with(2, "(NNl")), "");
  EXPECT_EQ(misused(with(3, "](NNe")), said);
  EXPECT_EQ(misused(with(1, "](NNe")), said);
  EXPECT_EQ(misused(with(-1, "]")), said);
  EXPECT_EQ(misused(with(1, "cbuiltins\nlist\n)R")), said);
  std::string sized = with(3, "](Ne");
  sized.replace(sized.find("(I3\nt"), 5, "ctorch\nSize\n((I3\nttR");
  EXPECT_EQ(misused(sized), said);
  std::string late = "]p9\n0" + with(1, "g9\n");
  late.replace(late.size() - 1, 1, "0g9\nNa.");
  EXPECT_EQ(misused(late), said);
}

TEST(PickleMisuse, ElementsArePlainWhereNumpyAsksThem) {
  const auto with = [](const std::string& type, const std::string& element) {
    return "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntVb\ntR(I1\n(I1\nt" + type + "I00\n](" +
           element + "etb.";
  };
  const std::string strings = "cnumpy._core._internal\n_convert_to_stringdtype_kwargs\n(I01\ntR";
  const std::string space = "cargparse\nNamespace\n)R";
  EXPECT_EQ(doubted(with(strings, "Va\n")), "");
  EXPECT_EQ(doubted(with(dtype("O8", -1, -1, 63), space)), "");
  EXPECT_EQ(doubted(with(strings, space)), "numpy.core.multiarray._reconstruct");
  EXPECT_EQ(doubted(with("(cnumpy\ndtype\no", "N")), "numpy.dtype");
}

TEST(PickleMisuse, SizesOfDTypesAreThoseOfThisMachine) {
  const std::string narrow = dtype("O4", -1, -1, 63), number = dtype("i4", -1, -1, 0);
  const std::string fields = "N(Va\nVb\nt}(Va\n(" + narrow + "I0\ntVb\n(" + number + "I4\ntu";
  EXPECT_EQ(misused(dtype("V8", 8, 1, 27, fields) + "."), "numpy.dtype");
  EXPECT_EQ(misused(dtype("U1", 5, 4, 8) + "."), "numpy.dtype");
  EXPECT_EQ(misused("cnumpy.core.multiarray\nscalar\n(" + dtype("V8", 8, 1, 0) + "tR."),
            "numpy.core.multiarray.scalar");
}

/// A parameter that is given a state.
std::string parameter(const std::string& state) {
  return "ctorch._utils\n_rebuild_parameter_with_state\n(" + dense + no_hooks + "tRI00\n" + no_hooks + state + "tR.";
}
const std::string rebuilt = "torch._utils._rebuild_parameter_with_state";

TEST(PickleMisuse, TensorsKeepTheirMethods) {
  const auto with = [](const std::string& value) { return parameter("}(Vto\n" + value + "u"); };
  for (const std::string value : {"I1\n", "](I1\ne", "ctorch\nfloat32\n", "cargparse\nNamespace\n)R"})
    EXPECT_EQ(doubted(with(value)), "") << value;
  for (const std::string value : {"ctorch\ndevice\n", "ctorch\n\n", "cargparse\nNamespace\n",
                                  "ctorch.nn.functional\nrelu\n", "ctorch.jit._pickle\nbuild_intlist\n(I1\ntR"})
    EXPECT_EQ(doubted(with(value)), rebuilt) << value;
}

TEST(PickleMisuse, TensorsAreWrittenWithoutHooks) {
  const auto with = [](const std::string& hooks) { return dense + hooks + "tR."; };
  const std::string ordered = "ccollections\nOrderedDict\n";
  for (const std::string& hooks : {ordered + ")R", ordered + "(]tR", std::string("}"), std::string("N")})
    EXPECT_EQ(doubted(with(hooks)), "") << hooks;
  for (const std::string& hooks :
       {ordered + ")RI0\nctorch.nn.functional\nrelu\ns", std::string("}I0\nI0\ns"), ordered + "(](I0\nI0\ntatR"})
    EXPECT_EQ(doubted(with(hooks)), "torch._utils._rebuild_tensor_v2") << hooks;
}

TEST(PickleMisuse, AttributesOfDistributedMetadataAreNotCalled) {
  const std::string metadata = "ctorch.distributed.checkpoint.metadata\nMetadata\n" + b(")\x81");
  EXPECT_EQ(doubted(metadata + "}(Va\nctorch\nfloat32\nub."), "");
  EXPECT_EQ(doubted(metadata + "}(Va\nctorch.nn.functional\nrelu\nub."),
            "torch.distributed.checkpoint.metadata.Metadata");
}

TEST(PickleMisuse, TensorsOfOtherClassesAreInDoubt) {
  const auto of = [](const std::string& type) {
    return "ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_tensor_v2\n" + type +
           "((Vstorage\nctorch\nFloatStorage\nV0\nVcpu\nI1\ntQI0\n(I1\nt(I1\ntI00\n}t}(Va\nI1\nutR.";
  };
  const std::string applied = "torch._tensor._rebuild_from_type_v2";
  EXPECT_EQ(doubted(of("ctorch\nTensor\n")), "");
  EXPECT_EQ(doubted(of("ctorch.nn.parameter\nParameter\n")), "");
  EXPECT_EQ(doubted(of("ctorch.distributed.tensor\nDTensor\n")), applied);
  EXPECT_EQ(doubted(of("ctorch.nested._internal.nested_tensor\nNestedTensor\n")), applied);
  const std::string shard = "torch.distributed.tensor.placement_types.Shard";
  EXPECT_EQ(doubted("ctorch.distributed.tensor.placement_types\nShard\n" + b(")\x81}b.")), shard);
}

TEST(PickleMisuse, AttributesOfTensorsAreLookedThrough) {
  const std::string relu = "ctorch.nn.functional\nrelu\n", space = "cargparse\nNamespace\n)R";
  const auto with = [](const std::string& value) { return parameter("}(Va\n" + value + "u"); };
  for (const std::string& value :
       Texts{std::string("](I1\n}Va\n(I1\ntse"), space + "}(Va\n]ub", "ccollections\nOrderedDict\n)R(Va\nI1\nu",
             std::string("]p7\ng7\na"), "ccopy_reg\n_reconstructor\n(cargparse\nNamespace\nc__builtin__\nobject\nNtR}b",
             "ccopyreg\n__newobj__\n(cargparse\nNamespace\ntR}b"})
    EXPECT_EQ(doubted(with(value)), "") << value;
  for (const std::string& value :
       Texts{"](" + relu + "e", "}Va\n" + relu + "s", space + "}(Va\n" + relu + "ub", "(I1\n(" + relu + "tt",
             "ccollections\ndefaultdict\n(" + layer + "tR", std::string(b("\x82\7"))})
    EXPECT_EQ(doubted(with(value)), rebuilt) << value;
}

TEST(PickleMisuse, AllPairsOfAStateAreToBeSeen) {
  const std::string ordered = "ccollections\nOrderedDict\n";
  EXPECT_EQ(doubted(parameter(ordered + ")R(Va\nI1\nu")), "");
  for (const std::string& made : Texts{ordered + "(}tR", ordered + "(((Va\nI1\ntttR", ordered + "(](](Va\nI1\neetR"})
    EXPECT_EQ(doubted(parameter(made)), rebuilt) << made;
}

TEST(PickleMisuse, IdsOfFunctionsAreFunctions) {
  const auto with = [](const std::string& value) { return parameter("}(Va\n" + value + "u"); };
  const std::string relu = "ctorch.nn.functional\nrelu\n", more = "V\nV\ntQ";
  EXPECT_EQ(doubted(with("(Vstorage\nctorch\nFloatStorage\nV0\nVcpu\nI4\ntQ")), "");
  for (const std::string& id : Texts{"(Vmodule\n" + relu + more, "(C\6module" + relu + more, "(" + relu + more,
                                     "(Vmodule\n(Vmodule\n" + relu + more + more, "(C\7storage" + relu + more})
    EXPECT_EQ(doubted(with(id)), rebuilt) << id;
}

TEST(PickleMisuse, HandlesOfHooksHaveNumbers) {
  const std::string handle = "ctorch.utils.hooks\nRemovableHandle\n" + b(")\x81");
  for (const std::string& state : Texts{"(NI3\nt", "(}I3\nt", "(ccollections\nOrderedDict\n)RI3\nNt", "(NI3\n(N}tt"})
    EXPECT_EQ(doubted(handle + state + "b."), "") << state;
  for (const std::string& state :
       Texts{"(NF1e308\nt", "(NI-1\nt", "(NNt", "(Nt", "(NI3\n]t", "(NI3\nNNt", "(]I3\nt", "}"})
    EXPECT_EQ(doubted(handle + state + "b."), "torch.utils.hooks.RemovableHandle") << state;
}

TEST(PickleMisuse, WhatStandsInATuplesPlaceIsAskedForItems) {
  const auto with = [](const std::string& how) {
    return "ctorch._utils\n_rebuild_qtensor\n((Vstorage\nctorch\nQInt8Storage\nV0\nVcpu\nI4\ntQI0\n(I4\nt(I1\nt" + how +
           "I00\nNtR.";
  };
  EXPECT_EQ(doubted(with("(ctorch\nper_tensor_affine\nF1.0\nI0\nt")), "");
  for (const std::string& how :
       Texts{"ccollections\ndefaultdict\n(ctorch\nTensor\ntR", "(ctorch\nTensor\nF1.0\nI0\nt", "N"})
    EXPECT_EQ(doubted(with(how)), "torch._utils._rebuild_qtensor") << how;
}

TEST(PickleMisuse, ArraysWithinArraysArePlain) {
  const auto with = [](const std::string& element) {
    return "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntVb\ntR(I1\n(I1\nt" + dtype("O8", -1, -1, 63) +
           "I00\n](" + element + "etb";
  };
  const std::string strings = "cnumpy._core._internal\n_convert_to_stringdtype_kwargs\n";
  EXPECT_EQ(doubted(strings + "(I01\n" + with("N") + "tR."), "");
  EXPECT_EQ(doubted(strings + "(I01\n" + with("cargparse\nNamespace\n)R") + "tR."),
            "numpy._core._internal._convert_to_stringdtype_kwargs");
}

}  // namespace
}  // namespace ckpt::pickle
