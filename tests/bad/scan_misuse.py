"""Known names, used as no pickler uses them: they reach memory, or code. `ckpt scan` must name each."""

import codecs
import struct

from forge import WEIGHT, call, legacy, many, mapping, name, number, program, storage, text, torch_zip
from scan_cases import harmless, hit, octets, plain, unjudged

CONTAINER = "torch.nn.modules.container"
APPLY = name("torch._tensor", "_rebuild_from_type_v2")
TAG = name("torch.jit._pickle", "restore_type_tag")
ADDRESS = octets(b"AAAAAAAA")
WHAT_TENSORS_ARE_MADE_OF = many(storage(), number(0), many(number(4)), many(number(1)), b"\x89", b"}")


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


def state(flags, size=-1, alignment=-1, subarray=b"N", names=b"N", fields=b"N", version=3, order=text("|"), more=()):
    return many(number(version), order, subarray, names, fields, signed(size), signed(alignment), signed(flags), *more)


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
    yield from plain("gadget-hook", wrapped, "dangerous: copyreg._reconstructor")
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
    yield from harmless("layer-saved-whole.pkl", program(whole), f"unknown: {module}.ReLU, called (GLOBAL, NEWOBJ, BUILD)")
    yield from harmless("layer-saved-whole-in-protocol-1.pkl", program(old), f"unknown: {module}.ReLU, imported (GLOBAL, BUILD)")
    yield from harmless("layer-that-is-a-value.pkl", program(many(name(module, "ReLU"), bare(module, "ReLU"))))
    subclass = call(APPLY, name("torch._utils", "_rebuild_tensor_v2"), name("torch.nn.parameter", "Parameter"), WHAT_TENSORS_ARE_MADE_OF, b"}")
    yield from harmless("uses.pkl", program(many(tag(b"]"), subclass, call(name("collections", "defaultdict"), name("builtins", "list")) + text("a") + b"]s")))


def attributes():
    """Objects that have whatever attributes the file gives them, methods among them, and what asks for those."""
    relu = name("torch.nn.functional", "relu")
    space = built(call(name("argparse", "Namespace")), mapping(("detach", relu), ("replace", relu), ("__array__", relu)))
    for title, code, said in (
        ("a-parameter", call(name("torch._utils", "_rebuild_parameter"), space, b"\x89", b"}"), "torch._utils._rebuild_parameter"),
        ("in-a-tuple", call(name("torch", "Size"), many(space)), "torch.Size"),
        ("by-newobj", name("torch.nn.parameter", "Parameter") + many(space) + b"\x81", "torch.nn.parameter.Parameter"),
        ("by-obj", b"(" + name("decimal", "Decimal") + space + b"o", "decimal.Decimal"),
        ("a-uuid", call(name("uuid", "UUID"), text("x")), "uuid.UUID"),
        ("an-array", call(name("numpy", "float64"), space), "numpy.float64"),
        ("an-array-of-a-list", call(name("numpy", "matrix"), b"](" + space + b"e"), "numpy.matrix"),
        ("masked", call(name("numpy.ma", "MaskedArray"), b"](" + space + b"e"), "numpy.ma.MaskedArray"),
        ("generator", call(name("numpy.random._pickle", "__generator_ctor"), text("x"), relu), "numpy.random._pickle.__generator_ctor"),
        ("a-state-that-is-a-method", built(space, b"]"), "argparse.Namespace"),
        ("a-state-for-what-was-kept", call(name("argparse", "Namespace")) + b"q\0" + b"0h\0]b", "argparse.Namespace"),
        ("a-layer-that-is-built-twice", built(built(bare(CONTAINER, "ModuleList"), b"}"), b"}"), f"{CONTAINER}.ModuleList"),
        ("an-encoder-of-nothing", call(name("_codecs", "encode")), "_codecs.encode"),
        ("a-state-that-is-an-object", built(call(name("argparse", "Namespace")), bare(CONTAINER, "ParameterDict")), "argparse.Namespace"),
        ("arguments-in-a-list", name("collections", "OrderedDict") + b"](" + space + b"eR", "collections.OrderedDict"),
        ("str-of-bytes", call(name("builtins", "str"), b"C\1x", text("unicode_escape")), "builtins.str"),
        ("state-of-a-storage", text("0") + b"Q}b", "(computed).(computed)"),
    ):
        yield from plain(f"attributes-of-{title}", code, f"dangerous: {said}", protocol=3)
    for kind in ("build_intlist", "build_tensorlist", "build_doublelist", "build_boollist"):
        same = call(name("torch.jit._pickle", kind), name("argparse", "Namespace"))
        yield from plain(f"attributes-by-{kind}", built(same, b"N" + mapping(("x", number(7))) + b"\x86"), "dangerous: argparse.Namespace")
    made = call(name("builtins", "tuple"), b"](" + text("module") + name("argparse", "Namespace") + text("") * 2 + b"e")
    yield from plain("persistent-id-that-is-computed", made + b"Q}b", "dangerous: builtins.tuple")
    said = call(name("builtins", "str"), b"C\6module", text("ascii"))
    yield from plain("persistent-id-of-a-computed-text", many(said, name("argparse", "Namespace")) + b"Q", "dangerous: builtins.str", protocol=3)
    packaged = many(text("reduce_package"), number(0), name("torch.nn.parallel.data_parallel", "DataParallel"), b")")
    yield from plain("persistent-id-that-is-a-call", packaged + b"Q", "dangerous: torch.nn.parallel.data_parallel.DataParallel")
    called = name("torch.jit._pickle", "build_intlist")
    for title, before in (("of-old", text("reduce_package")), ("in-bytes", b"C\x0ereduce_package" + number(0))):
        yield from plain(f"persistent-id-that-is-a-call-{title}", many(before, called, b")") + b"Q", "dangerous: torch.jit._pickle.build_intlist", protocol=3)
    chosen = mapping(("hyper_parameters", mapping(("_instantiator", text("evil.run")))))
    yield from harmless("instantiator.ckpt", torch_zip(program(chosen)), "unknown: (text)._instantiator")
    for title, order, codec in (("little", "<", "utf-32-le"), ("big", ">", "utf-32-be")):
        letters = "_instantiator".encode(codec)
        spelt = call(name("numpy.core.multiarray", "scalar"), dtype("U13", state(8, 52, 4, order=text(order))), b"C" + bytes([len(letters)]) + letters)
        chosen = program(mapping(("hyper_parameters", b"}" + spelt + text("evil.run") + b"s")), 3)
        yield from harmless(f"instantiator-as-a-scalar-{title}.ckpt", torch_zip(chosen), "unknown: (text)._instantiator")
    random = call(name("numpy.random._pickle", "__generator_ctor"), text("PCG64"), name("numpy.random._pickle", "__bit_generator_ctor"))
    ident = call(name("numpy.random._pickle", "__bit_generator_ctor"), text("MT19937"))
    names = many(random, ident, name("numpy", "float64"), call(name("numpy.ma.core", "MaskedConstant")))
    yield from harmless("attributes.pkl", program(many(names, built(call(name("argparse", "Namespace")), mapping(("detach", relu))), built(bare("uuid", "UUID"), mapping(("int", number(1)))))))


def arrays():
    """Memory of an array that another one, or nobody, has any more."""
    make, kind = name("numpy.core.multiarray", "_reconstruct"), name("numpy", "ndarray")
    def made(*shape):
        return call(make, kind, many(*map(number, shape)), octets(b"b"))
    content = many(number(1), many(number(8)), dtype("u1", state(0)), b"\x89", octets(bytes(8)))
    view = name("numpy.core.numeric", "_frombuffer")
    given = dtype("u1", state(0)) + many(number(8)) + text("C")
    masked = call(name("numpy.ma.core", "_mareconstruct"), name("numpy.ma", "MaskedArray"), kind, many(number(1 << 20)), octets(b"b"))
    for title, code, said in (
        ("twice", built(built(made(0), content), content), make),
        ("large-from-the-start", built(made(200), content), make),
        ("large-without-a-state", made(200), make),
        ("masked-and-large", masked, name("numpy.ma.core", "_mareconstruct")),
        ("seen-before", made(0) + b"q\0" + view + b"(h\0" + given + b"tR0" + content + b"b", view),
        ("of-what-is-computed", view + b"(" + call(name("torch._utils", "_rebuild_tensor"), b"N") + given + b"tR", view),
    ):
        module, member = said[1:-1].decode().split("\n")
        yield from plain(f"array-{title}", code, f"dangerous: {module}.{member}", protocol=3)
    for title, code in (
        ("plain", built(made(0), content)),
        ("buffer", view + b"(" + octets(bytes(8)) + given + b"tR"),
        ("buffer-that-may-change", view + b"(" + call(name("builtins", "bytearray"), octets(bytes(8))) + given + b"tR"),
        ("empty", made(0)),
    ):
        yield from harmless(f"array-{title}.pkl", program(code, 3))
    overlapping = fields(("a", OBJECT, 0), ("b", LONG, 0))
    both = fields(("a", OBJECT, 0), ("b", LONG, 8))
    named = {"names": many(text("a"), text("b"))}
    yield from plain("dtype-of-an-object-and-a-number-in-one", dtype("V8", state(27, 8, 1, **named, fields=overlapping)), "dangerous: numpy.dtype")
    for title, names in (("missing", many(text("a"))), ("too-many", many(*map(text, "abc"))), ("twice", many(*map(text, "aab"))), ("no-texts", many(number(0), text("a"))), ("a-list", b"](" + text("a") + text("b") + b"e")):
        yield from plain(f"dtype-of-names-{title}", dtype("V16", state(27, 16, 1, names=names, fields=both)), "dangerous: numpy.dtype")
    yield from plain("dtype-of-object-itself", built(call(name("numpy", "dtype"), name("builtins", "object"), b"\x89", b"\x88"), state(0)), "dangerous: numpy.dtype")
    yield from harmless("dtype-of-an-object-and-a-number.pkl", program(dtype("V16", state(27, 16, 1, **named, fields=both))))


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
    yield from harmless("series-of-a-dtypes-flags.pkl", flags, "unknown: numpy.dtype")  # read one by one, it is
    each = b"\x80\4\x8c\x0bcollections\x94\x8c\x0bOrderedDict\x94\x93\x94)R\x94(\x8c\1a\x94h\0\x8c\7Counter\x93u."
    yield from harmless("series.pkl", each * 3, ": safe (3 pickles")
    breaks = b"\x80\4\x8c\7builtins\x94".replace(b"\7", b"\x08") + b"\x8c\4dict\x94]\x94h\2h\0\x93."
    yield from hit("series-that-breaks-alone.pkl", b"\x80\4" + b"\x8c\6system\x94" + b"\x8c\1x\x94" + b"\x8c\2os\x94N." + breaks, "os.system")
    old = legacy()
    yield from hit("series-in-the-place-of-a-legacy-file.pt", old[: old.index(b".") + 1] + names + uses + old, "os.system")
    own = b"\x80\4" + b"\x8c\x09bytearray\x94\x8c\x08builtins\x94N." + b"\x80\4h\1h\0\x93)R."
    yield from harmless("series-of-one-pickler.pkl", own, ": safe (2 pickles")
    frame = b"\x80\4\x95" + struct.pack("<Q", 4) + b"N.\xff\xff"
    yield from unjudged("frame-past-its-pickle.pkl", frame + program(b"N"), "a FRAME reaches past the end of its pickle (at byte 13)")
    inner = b"\x80\4\x95" + struct.pack("<Q", 13) + b"\x95" + struct.pack("<Q", 2) + b"N.\xff\xff"
    yield from unjudged("frame-past-its-pickle-around-another.pkl", inner + program(b"N"), "a FRAME reaches past the end of its pickle")
    # Of what an unpickler of its own gets to before it lacks something, the values count; read as one, they are others.
    good, bad = state(16, 8, 1, names=many(text("a")), fields=fields(("a", LONG, 0))), state(1, 8, 1, names=many(text("a")), fields=fields(("a", OBJECT, 0)))
    made = call(name("numpy", "dtype"), text("V8"), b"\x89", b"\x88")
    first = program(good + b"\x94q\xc8", 4)
    second = program(bad + b"\x940" + made + b"h\0b0h\xc8", 4)
    yield from hit("series-of-another-state.pkl", first + second, "dangerous: numpy.dtype")
    info = program(mapping(("protocol_version", number(1)), ("little_endian", b"\x88"), ("type_sizes", b"}")) + b"q\xc8")
    parts = program(b"\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19") + program(b"M\xe9\x03") + info
    yield from hit("series-of-a-legacy-file.pt", parts + program(made + bad + b"b0h\xc8", 3) + program(b"]"), "dangerous: numpy.dtype")
    yield from harmless("series-that-ends-alone.pkl", first + program(made + good + b"b0h\xc8", 4), ": safe (2 pickles")
