"""Known names that are given what a look at each call by itself does not show: what another file makes, pairs of a mapping
that is made of another, ids of ids, what containers hold. `ckpt scan` must call none of them safe."""

import struct

from forge import FLOATS, WEIGHT, call, legacy, many, mapping, name, npy, npz, number, program, storage, tensor, text, torch_zip
from scan_cases import harmless, hidden_objects, hit, octets, plain, unjudged
from scan_misuse import APPLY, OBJECT, built, dtype, fields, state
from scan_states import ARRAY, DICT, PARAMETER, RELU, RECONSTRUCT, SCALAR, array, elements, space
from tar_attacks import torch_tar

LOAD = name("torch.storage", "_load_from_bytes")
LINEAR, SAME = name("torch.nn.modules.linear", "Linear"), name("torch.jit._pickle", "build_intlist")
ORDERED = name("collections", "OrderedDict")
HANDLE = name("torch.utils.hooks", "RemovableHandle") + b")\x81"


def inner(root):
    """What a file in bytes makes."""
    return call(LOAD, octets(legacy(program(root), keys=program(b"]"), data=b"")))


def results():
    """A file in bytes is a storage, and given to a tensor; any other may be a class, or an object of the file's choosing."""
    said = "dangerous: torch.storage._load_from_bytes"
    memory = call(inner(name("numpy", "memmap")), text("ran"), text("uint8"), text("w+"), number(0), many(number(4)))
    for title, code in (
        ("a-class", inner(name("numpy", "memmap"))),
        ("is-called", memory),
        ("is-called-and-filled", memory + b"(" + number(0) + number(65) + b"u"),
        ("is-built", built(inner(name("argparse", "Namespace")), many(b"N", mapping(("x", number(7)))))),
        ("is-appended-to", inner(space(("append", RELU))) + number(3) + b"a"),
        ("is-called-by-another-name", call(call(SAME, inner(name("numpy", "ndarray"))), many(number(1)), text("O"), octets(b"AAAAAAAA"))),
    ):
        yield from plain(f"hidden-result-{title}", code, said, 3)
        yield from hit(f"hidden-result-{title}.pt", torch_zip(program(code, 3)), said)
    yield from hit("hidden-result-is-filled.npy", npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n", program(memory, 3)), said)
    place = storage(more=b"N")
    whole = call(LOAD, octets(legacy(program(place))))
    yield from harmless("storage-in-bytes-alone.pkl", program(tensor(whole), 3))
    yield from plain("hidden-storage-that-is-built", tensor(built(whole, mapping(("_untyped_storage", space(("a", RELU)))))), said, 3)


def patched(attributes, forward, weight=WEIGHT):
    """Sets a method of a class for everybody, by way of a tensor."""
    return call(APPLY, PARAMETER, LINEAR, many(weight, b"\x89", DICT, attributes), forward)


def pairs():
    """Of a mapping that is made of another one, or of pairs."""
    said = "unknown: torch._tensor._rebuild_from_type_v2"
    for title, made in (
        ("a-dict", lambda key, value: call(ORDERED, mapping((key, value)))),
        ("tuples", lambda key, value: call(ORDERED, many(many(text(key), value)))),
        ("lists", lambda key, value: call(ORDERED, elements(elements(text(key), value)))),
        ("lists-that-grow", lambda key, value: call(ORDERED, b"](" + text(key) + b"l" + value + b"aa")),
    ):
        code = patched(made("as_subclass", SAME), made("forward", RELU))
        yield from harmless(f"hidden-pairs-of-{title}.pt", torch_zip(program(code)), said)


def ids():
    """Ids that stand for what is no layer's class, which torch never writes."""
    said = "dangerous: torch.jit._pickle.build_intlist"

    def id_of(function, word=text("module")):
        return many(word, function, text(""), text("")) + b"Q"

    weight = tensor(storage(more=b"N"))
    for title, same in (
        ("in-bytes", id_of(SAME, octets(b"module"))),
        ("of-an-id", id_of(id_of(SAME))),
        ("plain", id_of(SAME)),
    ):
        code = patched(mapping(("as_subclass", same)), mapping(("forward", same)), weight)
        yield from hit(f"hidden-id-{title}.pt", legacy(program(code, 3)), said)
    same = many(SAME, text(""), text("")) + b"Q"
    weight = call(name("torch._utils", "_rebuild_tensor"), text("1") + b"Q", number(0), many(number(2)), many(number(1)))
    code = patched(mapping(("as_subclass", same)), mapping(("forward", same)), weight)
    yield from hit("hidden-id-of-a-tar.tar", torch_tar(code), said)
    for title, function in (("numpys", RECONSTRUCT), ("copyregs", name("copyreg", "__newobj__")), ("the-applier", APPLY)):
        called = built(call(id_of(function), name("numpy", "ndarray"), many(number(0)), octets(b"b")), many(number(1), many(number(30)), OBJECT, b"\x89", b"]Na"))
        yield from hit(f"hidden-id-of-{title}-is-called.pt", legacy(program(called, 3)), "dangerous: ")
    deep = name("numpy", "dtype")
    for _ in range(17):
        deep = id_of(deep)
    yield from hit("hidden-id-17-deep.pt", legacy(program(built(call(deep, text("O8"), b"\x89", b"\x88"), state(0)), 3)), "dangerous: numpy.dtype")
    yield from harmless("id-of-a-class.pt", legacy(program(built(id_of(LINEAR) + b")\x81", b"}"))), "unknown: torch.nn.modules.linear.Linear")


def within():
    """What is in containers, and in objects, is asked as well."""
    jagged = mapping(("values", WEIGHT), ("offsets", tensor(storage("1", "LongStorage", elements=2), (2,))))
    data = {"0": FLOATS, "1": struct.pack("<2q", 0, 4)}
    nested = name("torch.nested._internal.nested_tensor", "NestedTensor")
    rebuild = name("torch.nested._internal.nested_tensor", "_rebuild_njt")
    for title, cache in (
        ("a-class-in-a-dict", mapping(("max_seqlen", LINEAR))),
        ("a-class-in-a-list-in-a-dict", mapping(("max_seqlen", elements(elements(LINEAR))))),
        ("a-method-in-a-namespace", space(("get", name("numpy", "memmap")))),
        ("a-factory", call(name("collections", "defaultdict"), LINEAR)),
    ):
        code = call(PARAMETER, call(APPLY, rebuild, nested, many(jagged), mapping(("_metadata_cache", cache))), b"\x89", DICT, b"}")
        yield from harmless(f"hidden-{title}.pt", torch_zip(program(code), data), "unknown: torch._tensor._rebuild_from_type_v2")
    asked = space(("_get_args", LINEAR))
    zero = built(ARRAY, many(number(1), b")", OBJECT, b"\x89", elements(asked)))
    mixed = dtype("V24", state(27, 24, 1, names=many(text("a"), text("b")), fields=fields(("a", OBJECT, 0), ("b", dtype("U4", state(8, 16, 4)), 8))))
    yield from harmless("hidden-object-in-an-array.pkl", program(array(mixed, 1, elements(many(b"N", zero))), 3), "unknown: numpy._core.multiarray._reconstruct")
    strings = name("numpy._core._internal", "_convert_to_stringdtype_kwargs")
    yield from harmless("hidden-object-that-is-missing.pkl", program(call(strings, b"\x88", zero), 3), "unknown: numpy._core._internal._convert_to_stringdtype_kwargs")
    factory = call(name("collections", "defaultdict"), LINEAR)
    quantised = call(name("torch._utils", "_rebuild_qtensor"), storage(kind="QInt8Storage"), number(0), many(number(4)), many(number(1)), factory, b"\x89", DICT)
    yield from harmless("hidden-factory.pt", torch_zip(program(quantised), {"0": bytes(4)}), "unknown: torch._utils._rebuild_qtensor")
    number_of = built(name("uuid", "UUID") + b")\x81", mapping(("int", number(1)), ("is_safe", asked)))
    yield from harmless("hidden-object-in-an-id.pkl", program(number_of), "unknown: uuid.UUID")
    yield from plain("hidden-names-beside-slots", built(call(name("argparse", "Namespace")), many(mapping(("__torch_function__", RELU)), b"N")), "dangerous: argparse.Namespace")


def tensors():
    """What torch reads of a tensor without a look at it."""
    typed = name("torch._utils", "_rebuild_wrapper_subclass")
    distributed = name("torch.distributed.tensor", "DTensor")
    made = many(distributed, name("torch", "float32"), many(number(2)), many(number(1)), number(0), name("torch", "strided"), text("cpu"), b"\x89")
    good = built(name("torch.distributed.tensor._dtensor_spec", "DTensorSpec") + b")\x81", b"}")
    said = "unknown: torch._tensor._rebuild_from_type_v2"
    for title, attributes in (
        ("an-address", mapping(("_local_tensor", b"G" + struct.pack(">Q", 0x424242424240)), ("_spec", good))),
        ("a-list", mapping(("_local_tensor", b"]"), ("_spec", good))),
        ("another-spec", mapping(("_local_tensor", WEIGHT), ("_spec", space(("mesh", number(1)))))),
    ):
        yield from harmless(f"hidden-tensor-that-is-{title}.pkl", program(call(APPLY, typed, distributed, made, attributes)), said)
    move = name("torch._utils", "_rebuild_device_tensor_from_cpu_tensor")
    same = many(WEIGHT, name("torch", "float32"), text("cpu"), b"\x89")
    for title in ("_sym_sizes_capsule_len", "_sym_sizes_capsule", "_size", "_strides"):
        code = call(APPLY, move, name("torch.nested._internal.nested_tensor", "NestedTensor"), same, mapping((title, number(7))))
        yield from harmless(f"hidden-tensor{title}.pt", torch_zip(program(code)), said)
    rows = call(name("torch._utils", "_rebuild_sparse_tensor"), name("torch", "sparse_csr"), WEIGHT)
    yield from unjudged("hidden-tensor-that-is-taken-apart.pt", torch_zip(program(rows)), "unknown: torch._utils._rebuild_sparse_tensor")
    generator = built(call(name("numpy.random._pickle", "__bit_generator_ctor"), text("MT19937")), mapping(("state", mapping(("key", WEIGHT)))))
    yield from harmless("hidden-tensor-for-a-generator.pt", torch_zip(program(generator)), "unknown: numpy.random._pickle.__bit_generator_ctor")
    replicate = name("torch.distributed.tensor.placement_types", "Replicate") + b")\x81"
    yield from harmless("hidden-state-that-a-replicate-has-not.pkl", program(replicate), "unknown: torch.distributed.tensor.placement_types.Replicate")
    for flags in (3, 19):
        yield from plain(f"hidden-memory-of-flags-{flags}", dtype("V8", state(flags, 8, 1, names=many(text("a")), fields=fields(("a", OBJECT, 0)))), "dangerous: numpy.dtype", 3)


def handles():
    """Each handle of hooks has a number past the largest that there has been: it is kept for everybody."""
    large = call(SCALAR, dtype("f8", state(0)), octets(struct.pack("<d", 1e308)))
    for title, of in (("without-end", many(DICT, b"G" + struct.pack(">d", float("inf")))), ("of-numpys", many(DICT, large, b"N"))):
        yield from harmless(f"hidden-number-{title}.pkl", program(built(HANDLE, of), 3), "unknown: torch.utils.hooks.RemovableHandle")
    yield from harmless("hook-of-three.pkl", program(built(HANDLE, many(DICT, number(3), many(DICT)))))


def headers():
    """numpy takes a list of texts for fields: the first letter is a name, the second a dtype."""
    for title, descr in (("list", "['aT']"), ("set", "{'aT'}"), ("list-of-three", "['aT2']"), ("list-in-a-field", "[('x', ['aT'])]"), ("brackets", "[('aT'),]")):
        yield from hidden_objects(f"hidden-dtype-in-a-{title}", descr)
    titled = "{'descr': [(('aT', 'x'), '<f8'), ('bT', [('y', '<f4', (1,))])], 'fortran_order': False, 'shape': (1,), }\n"
    yield from harmless("titles.npy", npy(titled, bytes(12)))
    yield from harmless("titles.npz", npz(npy(titled, bytes(12))))


def work():
    """What many share is looked into once."""

    def memo(place):
        return b"q" + bytes([place])

    def get(place):
        return b"h" + bytes([place])

    keys = b"}(" + b"".join(text(f"a{i}") + b"N" for i in range(40_000)) + b"u"
    begin = PARAMETER + memo(0) + b"0" + WEIGHT + memo(1) + b"0" + DICT + memo(2) + b"0" + keys + memo(3) + b"0"
    yield from harmless("states-that-share-a-dict.pkl", program(begin + (get(0) + b"(" + get(1) + b"\x89" + get(2) + get(3) + b"tR0") * 10_000 + b"N", 3))
    parts = (RECONSTRUCT, name("numpy", "ndarray"), many(number(0)), octets(b"b"), OBJECT, many(number(1)), b"]" + b"Na" * 300_000)
    begin = b"".join(part + memo(place) + b"0" for place, part in enumerate(parts))
    one = get(0) + b"(" + get(1) + get(2) + get(3) + b"tR(K\1" + get(5) + get(4) + b"\x89" + get(6) + b"tb0"
    yield from plain("hidden-elements-that-many-share", begin + one * 40_000 + b"N", "dangerous: numpy._core.multiarray._reconstruct", 3)
    inner = dtype("i1", state(0))
    dtypes = many(inner, b"K\0") + memo(1) + b"0" + b"}" + memo(2) + b"".join(text(f"{i}") + get(1) + b"s" for i in range(60_000)) + b"0"
    dtypes += name("numpy", "dtype") + memo(3) + b"0" + many(text("V8"), b"\x89", b"\x88") + memo(4) + b"0"
    dtypes += many(number(3), text("|"), b"N", many(text("0")), get(2), number(8), number(1), number(0)) + memo(5) + b"0"
    yield from plain("hidden-fields-that-many-share", dtypes + (get(3) + get(4) + b"R" + get(5) + b"b0") * 95_000 + b"N", "dangerous: numpy.dtype", 3)


GROUPS = (results, pairs, ids, within, tensors, handles, headers, work)
