#include "pickle/misuse.h"

#include <gtest/gtest.h>

#include "pickle/pickle_testing.h"

namespace ckpt::pickle {
namespace {

using pickle_testing::b;
using pickle_testing::load;

/// The names that the pickle uses as no pickler does: those that are dangerous, though known by themselves.
std::string misused(std::string_view code) {
  const auto loaded = load(code);
  std::string names;
  for (const GlobalUse& use : loaded.program.globals)
    if (use.verdict == Verdict::dangerous) names += (names.empty() ? "" : " ") + use.module + "." + use.name;
  return names;
}

const std::string array = "cnumpy\nndarray\n", apply = "ctorch._tensor\n_rebuild_from_type_v2\n";
const std::string layer = "ctorch.nn.modules.linear\nLinear\n", extended = "ccopyreg\n__newobj_ex__\n";

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

}  // namespace
}  // namespace ckpt::pickle
