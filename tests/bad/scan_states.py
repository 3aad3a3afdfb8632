"""Known names, each in its own form, that are asked for something: for a method that is an attribute of the file's
choosing, for a text, for elements that they have not. `ckpt scan` must call none of them safe."""

import gzip
import struct

from forge import WEIGHT, archive, call, legacy, many, mapping, name, npy, number, program, storage, tensor, text, torch_parts, torch_zip
from scan_cases import GOOD, harmless, hidden_objects, hit, octets, plain, unjudged
from scan_misuse import APPLY, CONTAINER, OBJECT, built, dtype, fields, signed, state

RECONSTRUCT, SCALAR = name("numpy._core.multiarray", "_reconstruct"), name("numpy._core.multiarray", "scalar")
ARRAY = call(RECONSTRUCT, name("numpy", "ndarray"), many(number(0)), octets(b"b"))
MASKED = call(name("numpy.ma.core", "_mareconstruct"), name("numpy.ma", "MaskedArray"), name("numpy", "ndarray"), many(number(0)), octets(b"b"))
DICT = call(name("collections", "OrderedDict"))
RELU = name("torch.nn.functional", "relu")
PARAMETER = name("torch._utils", "_rebuild_parameter_with_state")


def space(*pairs):
    return built(call(name("argparse", "Namespace")), mapping(*pairs))


def elements(*each):
    return b"](" + b"".join(each) + b"e"


def array(of, count, data):
    return built(ARRAY, many(number(1), many(number(count)), of, b"\x89", data))


def masked(count, data, mask, fill):
    return built(MASKED, b"(" + number(1) + many(number(count)) + OBJECT + b"\x89" + data + octets(mask) + fill + b"t")


def attributes():
    """Python sets what a state says: of a class's instance it makes another one's, or memory."""
    said = "dangerous: argparse.Namespace"
    layer = mapping(("__class__", name(CONTAINER, "Sequential")))
    yield from plain("state-class-by-slots", built(call(name("argparse", "Namespace")), many(mapping(("training", b"\x89")), layer)), said)
    yield from plain("state-slots", built(call(name("argparse", "Namespace")), many(b"N", mapping(("a", number(1))))), said)
    yield from plain("state-name-of-pythons-own", space(("__array__", RELU)), said)
    word = "__array_interface__"
    spelt = call(SCALAR, dtype(f"U{len(word)}", state(8, 4 * len(word), 4)), octets(word.encode("utf-32-le")))
    yield from plain("state-name-that-is-computed", built(call(name("types", "SimpleNamespace")), b"}" + spelt + b"Ns"), "dangerous: types.SimpleNamespace", 3)
    yield from plain("state-name-that-is-a-number", built(call(name("argparse", "Namespace")), b"}" + number(1) + b"Ns"), said)
    hook = name("torch.utils.hooks", "RemovableHandle") + b")\x81"
    yield from harmless("hook.pkl", program(built(hook, many(DICT, number(3)))))


def methods_of_tensors():
    """A tensor's attribute takes the place of its method, and what it takes the place of is called."""

    def doubted(title, attribute, value, made=lambda weight: weight):
        code = made(call(PARAMETER, WEIGHT, b"\x89", DICT, mapping((attribute, value))))
        yield from harmless(f"state-{title}.pt", torch_zip(program(code)), "unknown: torch._utils._rebuild_parameter_with_state")

    def moved(weight):
        return call(name("torch._utils", "_rebuild_device_tensor_from_cpu_tensor"), weight, name("torch", "float32"), text("cpu"), b"\x89")

    yield from doubted("method-of-a-tensor", "as_subclass", name("torch.jit._pickle", "build_intlist"))
    yield from doubted("method-that-is-a-class", "to", name("types", "SimpleNamespace"), moved)
    yield from doubted("method-that-is-returned", "to", call(name("torch.jit._pickle", "build_intlist"), RELU))
    yield from doubted("method-that-is-a-layer", "to", built(name("torch.nn.modules.activation", "ReLU") + b")\x81", b"}"))
    patched = call(APPLY, PARAMETER, name("torch.nn.modules.linear", "Linear"), many(WEIGHT, b"\x89", DICT, mapping(("as_subclass", RELU))), b"}")
    yield from harmless("state-class-for-everybody.pt", torch_zip(program(patched)), "unknown: torch._tensor._rebuild_from_type_v2")
    data = mapping(("partition_dim", number(0)), ("dtype_", name("torch", "float32")), ("more", mapping(("a", b"]"))), ("space", space(("a", number(1)))))
    yield from harmless("parameter-with-data.pt", torch_zip(program(call(PARAMETER, WEIGHT, b"\x89", DICT, data))))
    rows = mapping(("values", WEIGHT), ("_metadata_cache", space(("get", RELU))))
    nested = call(name("torch.nested._internal.nested_tensor", "_rebuild_njt"), rows)
    yield from harmless("state-cache-of-rows.pt", torch_zip(program(nested)), "unknown: torch.nested._internal.nested_tensor._rebuild_njt")


def ids():
    """Of a storage's id, torch makes texts: each part is asked for its own."""
    said = "dangerous: argparse.Namespace"

    def weight(key, place=text("cpu")):
        return tensor(many(text("storage"), name("torch", "FloatStorage"), key, place, number(4)) + b"Q")

    yield from hit("state-id-whose-key-is-an-object.pt", torch_zip(program(weight(space(("a", RELU))))), said)
    yield from hit("state-id-whose-place-is-an-object.pt", torch_zip(program(weight(text("0"), space(("a", RELU))))), said)
    yield from hit("state-id-whose-key-is-a-list.pt", torch_zip(program(weight(elements(space(("a", RELU)))))), "dangerous: torch.FloatStorage")
    view = tensor(storage(more=many(text("1"), number(0), number(4))))
    yield from harmless("storage-with-a-view.pt", legacy(program(mapping(("weight", view)))))


def arrays():
    """numpy asks elements of some types, and takes as many of them as the shape says."""
    asked = space(("_get_args", RELU))
    strings = call(name("numpy._core._internal", "_convert_to_stringdtype_kwargs"), b"\x88")
    mixed = dtype("V24", state(27, 24, 1, names=many(text("a"), text("b")), fields=fields(("a", OBJECT, 0), ("b", dtype("U4", state(8, 16, 4)), 8))))
    asking = "unknown: numpy._core.multiarray._reconstruct"
    yield from harmless("state-texts-that-are-objects.pkl", program(array(strings, 1, elements(asked)), 3), asking)
    yield from harmless("state-field-that-is-asked.pkl", program(array(mixed, 1, elements(many(b"N", asked))), 3), asking)
    yield from harmless("state-fill-value-that-is-asked.pkl", program(masked(1, b"]Na", b"\0", asked), 3), "unknown: numpy.ma.core._mareconstruct")
    yield from harmless("array-of-texts.pkl", program(array(strings, 2, elements(text("a"), text("b"))), 3))
    yield from harmless("array-of-objects.pkl", program(array(OBJECT, 2, elements(asked, b"N")), 3))
    yield from harmless("array-that-is-masked.pkl", program(masked(1, b"]Na", b"\0", b"N"), 3))
    said = "dangerous: numpy._core.multiarray._reconstruct"
    for title, code in (
        ("too-few-elements", array(OBJECT, 30, b"]Na")),
        ("no-elements", array(OBJECT, 30, b"]")),
        ("too-many-elements", array(OBJECT, 1, b"](NNe")),
        ("elements-that-come-later", b"]q\x050" + array(OBJECT, 1, b"h\5") + b"0h\5Na"),
        ("elements-that-a-call-makes", array(OBJECT, 1, call(name("builtins", "list")))),
        ("more-elements-than-are-counted", built(ARRAY, many(number(1), many(*[signed(2**31 - 1)] * 3), OBJECT, b"\x89", b"]"))),
    ):
        yield from plain(f"state-{title}", code, said, 3)
    yield from plain("state-too-few-elements-of-a-masked-array", masked(30, b"]Na", bytes(30), b"N"), "dangerous: numpy.ma.core._mareconstruct", 3)
    narrow = dtype("O4", state(63))
    over = dtype("V8", state(27, 8, 1, names=many(text("a"), text("b")), fields=fields(("a", narrow, 0), ("b", dtype("i4", state(0)), 4))))
    yield from plain("state-number-over-an-address", array(over, 1, elements(many(b"N", number(1)))), "dangerous: numpy.dtype", 3)
    yield from plain("state-texts-of-5-bytes", call(SCALAR, dtype("U1", state(8, 5, 4)), octets(b"aaaaa")), "dangerous: numpy.dtype", 3)
    record = dtype("V8", state(27, 8, 1, names=many(text("a")), fields=fields(("a", OBJECT, 0))))
    yield from plain("state-record-of-places", call(SCALAR, record, octets(b"AAAAAAAA")), "dangerous: numpy._core.multiarray.scalar", 3)
    yield from plain("state-scalar-of-no-bytes", call(SCALAR, record), "dangerous: numpy._core.multiarray.scalar", 3)


def without_a_state():
    """Made of memory as it was found; with a state, they are parts of tensors of a class of its own all the same."""
    for kind in ("Shard", "Partial"):
        placement = name("torch.distributed.tensor.placement_types", kind) + b")\x81"
        said = f"unknown: torch.distributed.tensor.placement_types.{kind}"
        yield from harmless(f"state-that-a-{kind.lower()}-has-not.pkl", program(b"}" + placement + b"Ns"), said)
        yield from harmless(f"{kind.lower()}.pkl", program(built(placement, mapping(("dim", number(0))))), said)


def readings():
    """What one reader takes for nothing, and another one reads."""
    for title, descr in (("", "'T'"), ("-little", "'<T'"), ("-as-a-field", "[('a', '|T')]"), ("-in-a-list", "'i4,T'"), ("-repeated", "'2T'")):
        yield from hidden_objects(f"state-texts-of-any-length{title}", descr)
    numbers = npy("{'descr': [('Total', '<f8'), ('T', '<f8')], 'fortran_order': False, 'shape': (1,), }\n")
    yield from harmless("fields-with-a-T.npy", numbers)
    odd_key = b"Np 1\n0g1\n0cos\nsystem\n(S'true'\ntR."
    yield from hit("state-memo-key-with-a-space.pkl", odd_key)
    yield from hit("state-memo-key-with-a-space", {"a": odd_key, "m.pt": torch_zip()})
    whole = archive(torch_parts(GOOD), before=b"N.\xff" + bytes(61))
    directory = struct.unpack("<I", whole[-10:-6])[0]
    yield from unjudged("state-directory-with-a-gap.pt", whole[:-22] + b"\0" + whole[-22:], f"a directory of {directory} bytes")
    for title, headers in (("one-after-the-other", b"PK\3\4"), ("with-long-names", b"PK\3\4\xff\xff\0\0\0\0\0")):
        many_of_them = headers * (8_000_000 // len(headers))
        yield from unjudged(f"state-headers-{title}.pkl", many_of_them, "unreadable")
        yield from unjudged(f"state-headers-{title}.pt.gz", gzip.compress(many_of_them, mtime=0), "unreadable")
    dicts = b"\x80\2" + DICT + b"(" + b"}" * 20_000_000 + b"t\x86."
    yield from unjudged("state-twenty-million-dicts.pkl.gz", gzip.compress(dicts, mtime=0), "the pickle keeps more than")


GROUPS = (attributes, methods_of_tensors, ids, arrays, without_a_state, readings)
