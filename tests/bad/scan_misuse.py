"""Known names, used as no pickler uses them: they reach memory, or code. `ckpt scan` must name each."""

import codecs
import struct

from forge import WEIGHT, call, legacy, many, mapping, name, number, program, text
from scan_cases import harmless, hit, octets, plain, unjudged

CONTAINER = "torch.nn.modules.container"
APPLY = name("torch._tensor", "_rebuild_from_type_v2")
TAG = name("torch.jit._pickle", "restore_type_tag")
ADDRESS = octets(b"AAAAAAAA")


def tag(value):
    """An identity."""
    return call(TAG, value, text(""))


def built(value, state):
    return value + state + b"b"


def bare(module, member):
    return name(module, member) + b")\x81"


def signed(value):
    return b"J" + struct.pack("<i", value)


def dtype(code, state, copy=b"\x88"):
    return built(call(name("numpy", "dtype"), text(code), b"\x89", copy), state)


def state(flags, size=-1, alignment=-1, subarray=b"N", names=b"N", fields=b"N", version=3):
    return many(number(version), text("|"), subarray, names, fields, signed(size), signed(alignment), signed(flags))


def fields(*each):
    return mapping(*((title, many(of, signed(offset))) for title, of, offset in each))


OBJECT, LONG = dtype("O8", state(63)), dtype("i8", state(0))


def record(of, offset, flags, size=8):
    return dtype("V8", state(flags, size, 1, names=many(text("a")), fields=fields(("a", of, offset))))


def dtypes():
    """numpy takes over what a dtype's state says: bytes become addresses of objects, fields reach past their arrays."""
    said = "dangerous: numpy.dtype"
    for title, code in (
        ("objects-that-are-denied", dtype("O8", state(0))),
        ("numbers-that-are-objects", dtype("f8", state(1))),
        ("numbers-of-another-size", dtype("f8", state(0, 100, 1))),
        ("a-negative-size", dtype("V8", state(0, -8, 1))),
        ("an-odd-alignment", dtype("V8", state(0, 8, 3))),
        ("of-everybody", dtype("f8", state(0), copy=b"\x89")),
        ("of-no-type", dtype("q", state(0))),
        ("of-a-known-class", built(call(name("numpy", "dtype"), name("numpy", "float64"), b"\x89", b"\x88"), state(0))),
        ("of-version-2", dtype("f8", state(0, version=2))),
        ("a-state-of-7", dtype("f8", many(*[number(3)] * 7))),
        ("a-field-of-objects", record(OBJECT, 0, 0)),
        ("a-field-of-objects-that-are-pointers", record(OBJECT, 0, 31)),
        ("a-field-past-the-end", record(LONG, 4096, 0)),
        ("a-field-before-the-begin", record(LONG, -8, 0)),
        ("a-field-of-nothing", record(b"N", 0, 0)),
        ("a-subarray-past-the-end", dtype("V8", state(0, 8, 1, subarray=many(LONG, many(number(3)))))),
        ("a-subarray-of-objects", dtype("V16", state(0, 16, 1, subarray=many(OBJECT, many(number(2)))))),
        ("twice", built(dtype("V8", state(0, 8, 1)), state(0, 8, 1))),
        ("after-it-was-given-away", call(name("numpy", "dtype"), text("V8"), b"\x89", b"\x88") + b"2\x850" + state(0, 8, 1) + b"b"),
        ("after-it-was-kept", call(name("numpy", "dtype"), text("V8"), b"\x89", b"\x88") + b"q\x000h\0" + state(0, 8, 1) + b"b"),
        ("and-fields-that-change", b"}q\0" + dtype("V8", state(0, 8, 1, names=many(text("a")), fields=b"h\0")) + b"0h\0" + text("a") + many(OBJECT, number(0)) + b"s"),
        ("and-fields-that-were-doubled", b"}2q\x000" + dtype("V8", state(0, 8, 1, names=many(text("a")), fields=b"h\0")) + b"0" + text("a") + many(OBJECT, number(0)) + b"s"),
        ("by-newobj", built(call(name("copyreg", "__newobj__"), name("numpy", "dtype"), text("O8"), b"\x89", b"\x88"), state(0))),
        ("by-reconstructor", built(call(name("copyreg", "_reconstructor"), name("numpy", "dtype"), name("builtins", "object"), text("O8")), state(0))),
    ):
        yield from plain(f"dtype-{title}", code, said)
    yield from plain("dtype-of-a-class", built(call(name("numpy.dtypes", "ObjectDType")), state(0)), "dangerous: numpy.dtypes.ObjectDType")
    yield from plain("dtype-that-cannot-be-told", dtype("f8", state(0)) + b"0" + text("collections") + call(name("builtins", "str"), b"N") + b"\x93", "dangerous: collections.(computed)")
    for title, code in (
        ("field", record(LONG, 0, 16)),
        ("field-of-objects", record(OBJECT, 0, 27)),
        ("subarray", dtype("V16", state(0, 16, 8, subarray=many(LONG, many(number(2)))))),
        ("text", dtype("U3", state(8, 12, 4))),
        ("record", built(call(name("numpy", "dtype"), name("numpy", "record"), b"\x89", b"\x88"), state(16, 8, 1, names=many(text("a")), fields=fields(("a", LONG, 0))))),
    ):
        yield from harmless(f"dtype-{title}.pkl", program(code))


def memory():
    """Bytes for the memory of an array of objects, addresses by keyword, classes that are changed: by every way to call."""
    given = many(number(1)) + text("O") + ADDRESS
    said = "dangerous: numpy.ndarray"
    array = name("numpy", "ndarray")
    for title, code in (
        ("reduce", call(array, given)),
        ("newobj", array + many(given) + b"\x81"),
        ("inst", b"(" + given + b"inumpy\nndarray\n"),
        ("obj", b"(" + array + given + b"o"),
        ("copyreg", call(name("copyreg", "__newobj__"), array, given)),
        ("torch", call(APPLY, array, array, many(given), b"}")),
        ("an-identity", call(tag(array), given)),
    ):
        yield from plain(f"memory-by-{title}", code, said)
    yield from plain("memory-for-a-recarray", call(name("numpy.rec", "recarray"), given), "dangerous: numpy.rec.recarray")
    address = mapping(("cdata", number(4096)))
    tensor = name("torch", "FloatTensor")
    extended = name("copyreg", "__newobj_ex__")
    yield from plain("cdata-by-an-identity", tag(tensor) + b")" + address + b"\x92", "dangerous: torch.FloatTensor", protocol=4)
    yield from plain("cdata-by-python-2s-name", call(name("copy_reg", "__newobj_ex__"), tensor, b")", address), "dangerous: torch.FloatTensor")
    yield from plain("cdata-by-inst", b"(" + tensor + b")" + address + b"icopyreg\n__newobj_ex__\n", "dangerous: copyreg.__newobj_ex__")
    yield from plain("cdata-by-obj", b"(" + extended + tensor + b")" + address + b"o", "dangerous: copyreg.__newobj_ex__")
    yield from plain("cdata-by-torch", call(APPLY, extended, tensor, many(tensor, b")", address), b"}"), "dangerous: copyreg.__newobj_ex__")
    hidden = call(name("builtins", "tuple"), b"](" + tensor + b")" + address + b"e")
    yield from plain("cdata-in-a-computed-tuple", extended + hidden + b"R", "dangerous: copyreg.__newobj_ex__")
    yield from plain("cdata-for-a-computed-class", call(name("builtins", "str"), b"N") + b")" + address + b"\x92", "dangerous: (computed).(computed)", protocol=4)
    key = call(name("_codecs", "encode"), text(codecs.encode("__array_interface__", "rot13")), text("rot13"))
    yield from plain("interface-in-rot13", built(call(name("argparse", "Namespace")), b"}" + key + b"}s"), "dangerous: _codecs.encode")
    yield from plain("class-changed-by-an-identity", built(tag(name("argparse", "Namespace")), b"N" + mapping(("x", number(7))) + b"\x86"), "dangerous: argparse.Namespace")
    yield from plain("an-array-that-is-given-items", call(name("numpy", "matrix"), b"]") + number(0) + number(1) + b"s", "dangerous: numpy.matrix")
    path = built(tag(name("torch.nn.functional", "relu")), b"N" + mapping(("__name__", text("../x"))) + b"\x86")
    yield from hit("source-of-a-changed-function.pt", legacy(program(many(text("module"), path, text("src"), text("import os")) + b"Q0" + WEIGHT)), "dangerous: torch.nn.functional.relu")


def gadgets():
    """Layers and containers that are made to call each other, until one of them calls anything."""
    parameters = name(CONTAINER, "ParameterDict")
    keys = built(bare("torch.ao.quantization.observer", "_PartialWrapper"), mapping(("p", name("builtins", "dict"))))
    wrapped = built(call(name("copyreg", "_reconstructor"), parameters, name("torch.nn.modules.module", "_WrappedHook"), parameters), mapping(("keys", keys)))
    yield from plain("gadget-partial", keys, "dangerous: torch.ao.quantization.observer._PartialWrapper")
    yield from plain("gadget-hook", wrapped, "dangerous: torch.nn.modules.module._WrappedHook")
    yield from plain("gadget-reconstructor-of-a-layer", call(name("copyreg", "_reconstructor"), parameters, name("torch.nn.modules.linear", "Linear"), b"N"), "dangerous: copyreg._reconstructor")
    layer = bare(CONTAINER, "ModuleList")
    for kind in ("dict", "list", "tuple", "set", "str"):
        yield from plain(f"gadget-{kind}-of-a-layer", call(name("builtins", kind), layer), f"dangerous: builtins.{kind}")
    yield from plain("gadget-ordered-dict-of-a-layer", call(name("collections", "OrderedDict"), layer), "dangerous: collections.OrderedDict")
    yield from plain("gadget-tuple-of-a-layer-by-copyreg", call(name("copyreg", "__newobj__"), name("builtins", "tuple"), layer), "dangerous: builtins.tuple")
    yield from plain("gadget-layer-that-is-called", call(layer, text("x")), f"dangerous: {CONTAINER}.ModuleList")
    yield from plain("gadget-layer-that-is-constructed", call(name("torch.nn.modules.linear", "Linear"), number(1), number(1)), "dangerous: torch.nn.modules.linear.Linear")
    yield from plain("gadget-layer-that-is-given-items", layer + b"(Ne", f"dangerous: {CONTAINER}.ModuleList")
    yield from plain("gadget-function", call(name("torch.nn.functional", "relu"), layer), "dangerous: torch.nn.functional.relu")
    yield from plain("gadget-result-that-is-called", call(call(name("builtins", "getattr"), text(""), text("format")), text("x")), "dangerous: builtins.getattr")
    yield from plain("gadget-apply-apply", call(APPLY, APPLY, b"N", b")", b"}"), "dangerous: torch._tensor._rebuild_from_type_v2")
    yield from plain("gadget-apply-of-what-is-computed", call(APPLY, call(name("builtins", "str"), b"N"), b"N", b")", b"}"), "dangerous: torch._tensor._rebuild_from_type_v2")
    yield from plain("gadget-apply-given-away", many(APPLY), "dangerous: torch._tensor._rebuild_from_type_v2")
    module = "torch.nn.modules.activation"
    whole = built(bare(module, "ReLU"), mapping(("inplace", b"\x89"), ("f", name("torch.nn.functional", "relu"))))
    old = built(call(name("copy_reg", "_reconstructor"), name(module, "ReLU"), name("__builtin__", "object"), b"N"), mapping(("inplace", b"\x89")))
    subclass = call(APPLY, name("torch._utils", "_rebuild_tensor_v2"), name("torch.nn.parameter", "Parameter"), b")", b"}")
    yield from harmless("layers.pkl", program(many(whole, old, tag(b"]"), subclass, call(name("collections", "defaultdict"), name("builtins", "list")) + text("a") + b"]s")))


def series():
    """Several pickles, read by one unpickler, whose memo goes on."""
    names = b"\x80\4" + b"\x8c\2os\x94\x8c\6system\x94N."
    uses = b"\x80\4" + b"\x8c\x0bcollections\x94\x8c\x0bOrderedDict\x94h\0h\1\x93\x8c\4true\x85R."
    yield from hit("series.pkl", names + uses)
    yield from hit("series-of-three.pkl", names + program(b"N") + uses)
    yield from hit("series-behind-another.pkl", program(b"N", 4) + names + uses)
    made = b"\x80\4" + call(name("numpy", "dtype"), text("O8"), b"\x89", b"\x88") + b"\x94."
    yield from hit("series-of-a-dtype.pkl", made + program(b"h\0" + state(0) + b"b", 4), "dangerous: numpy.dtype")
    flags = b"\x80\4K\0\x94." + b"\x80\4" + number(63) + b"\x94" + dtype("O8", many(number(3), text("|"), b"NNN", signed(-1), signed(-1), b"h\0")) + b"."
    yield from hit("series-of-a-dtypes-flags.pkl", flags, "dangerous: numpy.dtype")
    each = b"\x80\4\x8c\x0bcollections\x94\x8c\x0bOrderedDict\x94\x93\x94)R\x94(\x8c\1a\x94h\0\x8c\7Counter\x93u."
    yield from harmless("series.pkl", each * 3, ": safe (3 pickles")
    frame = b"\x80\4\x95" + struct.pack("<Q", 4) + b"N.\xff\xff"
    yield from unjudged("frame-past-its-pickle.pkl", frame + program(b"N"), "a FRAME reaches past the end of its pickle (at byte 13)")
    inner = b"\x80\4\x95" + struct.pack("<Q", 13) + b"\x95" + struct.pack("<Q", 2) + b"N.\xff\xff"
    yield from unjudged("frame-past-its-pickle-around-another.pkl", inner + program(b"N"), "a FRAME reaches past the end of its pickle")
