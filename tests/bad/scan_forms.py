"""Known names, called with what no pickler gives them; and what hides behind the end of what one loader reads."""

import json

import dcp_attacks
import tar_attacks
from forge import FLOATS, WEIGHT, archive, Part, call, legacy, many, mapping, name, npy, number, program, text
from scan_cases import EVIL, OLD, harmless, hidden_objects, hit, octets, plain, unjudged
from scan_misuse import APPLY, LONG, built, state, dtype

ARRAY = built(
    call(name("numpy._core.multiarray", "_reconstruct"), name("numpy", "ndarray"), many(number(0)), octets(b"b")),
    many(number(1), many(number(1)), LONG, b"\x89", octets(bytes(8))),
)
NEW = name("copyreg", "__newobj__")
MAP = name("numpy", "memmap")
MAPPED = call(NEW, MAP, text("ran"), text("uint8"), text("w+"), number(0), many(number(4)))
REBUILD = name("torch._utils", "_rebuild_device_tensor_from_numpy")
RELU = name("torch.nn.functional", "relu")


def doubted(title, code, said):
    yield from harmless(f"{title}.pkl", program(code, 3), said)


def files():
    """A name that is known for what it is given, and opens a file where it is called."""
    said = "dangerous: numpy.memmap"
    yield from plain("form-memmap-by-newobj", MAPPED, said)
    yield from plain("form-memmap-in-a-tensor", call(REBUILD, MAPPED, name("torch", "uint8"), text("cpu"), b"\x89"), said)
    written = mapping(("real", call(name("torch", "ByteTensor"), b"](K\1e")))
    into = call(APPLY, REBUILD, name("torch", "Tensor"), many(MAPPED, name("torch", "uint8"), text("cpu"), b"\x89"), written)
    yield from plain("form-memmap-that-is-written-to", into, said)
    yield from plain("form-memmap-of-an-item", call(name("collections", "OrderedDict")) + mapping(("append", MAP)) + b"b" + text("ran") + b"a", "dangerous: collections.OrderedDict")
    yield from plain("form-text-by-newobj", call(NEW, name("builtins", "str"), octets("__array_interface__".encode("utf-16-le")), text("utf-16-le")), "dangerous: builtins.str", 3)
    yield from doubted("form-mesh", call(name("torch.distributed.device_mesh", "DeviceMesh"), text("cpu"), b"](K\0e"), "unknown: torch.distributed.device_mesh.DeviceMesh, called (GLOBAL, REDUCE)")


def classes():
    """What makes arrays or generators of numpy's makes any class that it is given."""
    layer = name("torch.nn.modules.rnn", "GRU")
    made = call(name("numpy.ma.core", "_mareconstruct"), layer, name("numpy", "ndarray"), many(number(0)), octets(b"b"))
    yield from plain("form-layer-as-an-array", built(made, mapping(("x", RELU))), "dangerous: numpy.ma.core._mareconstruct", 3)
    other = call(name("numpy._core.multiarray", "_reconstruct"), layer, many(number(0)), octets(b"b"))
    yield from plain("form-layer-reconstructed", other, "dangerous: numpy._core.multiarray._reconstruct", 3)
    ctor = name("numpy.random._pickle", "__bit_generator_ctor")
    yield from plain("form-layer-as-a-generator", call(ctor, name("torch.nn.modules.transformer", "Transformer")), "dangerous: numpy.random._pickle.__bit_generator_ctor")
    yield from harmless("generator.pkl", program(built(call(ctor, name("numpy.random._pcg64", "PCG64")), mapping(("state", b"}")))))
    objects = dtype("O8", state(63))
    same = call(name("numpy._core.multiarray", "scalar"), objects, name("argparse", "Namespace"))
    yield from plain("form-scalar-that-is-a-class", built(same, mapping(("a", number(1)))), "dangerous: numpy._core.multiarray.scalar")
    yield from harmless("scalar.pkl", program(call(name("numpy._core.multiarray", "scalar"), LONG, octets(bytes(8))), 3))


def attributes_that_are_methods():
    """An OrderedDict's attributes are what is found where its methods are asked for."""
    dict_with = lambda *pairs: built(call(name("collections", "OrderedDict")), mapping(*pairs))
    said = "dangerous: collections.OrderedDict"
    yield from plain("form-append-to-a-dict", dict_with(("append", RELU)) + text("x") + b"a", said)
    yield from plain("form-extend-a-dict", dict_with(("extend", RELU)) + b"(" + text("x") + b"e", said)
    yield from plain("form-add-to-a-dict", dict_with(("add", RELU)) + b"(" + text("x") + b"\x90", said, 4)
    yield from plain("form-items-for-a-set", call(name("builtins", "set")) + b"NNs", "dangerous: builtins.set")
    yield from doubted("form-dict-with-attributes", dict_with(("to", RELU)), "unknown: collections.OrderedDict, called (GLOBAL, REDUCE, BUILD)")
    moved = call(name("torch._utils", "_rebuild_device_tensor_from_cpu_tensor"), dict_with(("to", RELU)), name("torch", "float32"), text("cpu"), b"\x89")
    yield from doubted("form-dict-as-a-tensor", moved, "unknown: torch._utils._rebuild_device_tensor_from_cpu_tensor")
    yield from harmless("form-metadata.pkl", program(dict_with(("_metadata", call(name("collections", "OrderedDict"))))))


def arguments():
    """Each known function with an argument of another kind than it is written with."""
    for title, code, member in (
        ("tensor-of-a-class", call(name("torch._utils", "_rebuild_tensor_v2"), name("torch", "FloatStorage"), number(0), many(number(1)), many(number(1)), b"\x89", b"}"), "_rebuild_tensor_v2"),
        ("parameter-of-nothing", call(name("torch._utils", "_rebuild_parameter"), b"N", b"\x89", b"}"), "_rebuild_parameter"),
        ("parameter-with-data", call(name("torch._utils", "_rebuild_parameter_with_state"), WEIGHT, b"\x89", b"}", mapping(("data", WEIGHT))), "_rebuild_parameter_with_state"),
    ):
        yield from doubted(f"form-{title}", code, f"unknown: torch._utils.{member}")
    yield from doubted("form-memory-bomb", call(name("builtins", "bytearray"), number(1 << 30)), "unknown: builtins.bytearray")
    yield from doubted("form-range-of-texts", call(name("builtins", "range"), text("a")), "unknown: builtins.range")
    yield from harmless("range.pkl", program(call(name("builtins", "range"), number(0), number(9), number(1))))
    yield from harmless("array.pkl", program(ARRAY, 3))
    yield from hit("form-number-not-all-read.pkl", b"\x80\2I0x10\n0" + call(name("collections", "OrderedDict")) + b".", "dangerous: (number).0x10")
    ids = many(name("numpy", "ndarray"), text(""), text("")) + b"Q"
    yield from hit("form-id-that-is-called.tar", tar_attacks.torch_tar(call(ids, many(number(1)), text("O"), octets(b"AAAAAAAA"))), "dangerous: (computed).(computed)")


def spellings():
    """Lines of an array that mean objects to Python, which reads them as a literal."""
    for title, descr in (("joined", "'o' 'bject'"), ("joined-without-a-space", "'o''bject'"), ("by-three-quotes", "'''o''' 'bject'"), ("by-a-prefix", "u'o' u'bject'"), ("behind-a-comment", "'o' # \n 'bject'")):
        yield from hidden_objects(f"form-objects-{title}", descr)


def behind_the_end():
    """What a program reads that loads from one stream again and again."""
    objects = npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n", EVIL)
    words = npy("{'descr': '<U1', 'fortran_order': False, 'shape': (4,), }\n")
    yield from hit("rest-array-behind-an-array.npy", npy() + objects)
    yield from hit("rest-array-behind-two.npy", npy() + npy() + objects)
    yield from hit("rest-array-behind-words.npy", words + objects)
    yield from hit("rest-array-behind-a-pickle.pkl", program(b"N") + objects)
    yield from hit("rest-array-behind-objects.npy", npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n", program(b"N")) + objects)
    yield from hit("rest-pickle-behind-an-array.npy", npy() + OLD)
    yield from hit("rest-legacy-behind-legacy.pt", legacy() + legacy(call(name("os", "system"), text("true"))))
    yield from hit("rest-pickle-behind-legacy.pt", legacy() + OLD)
    yield from harmless("arrays-one-after-the-other.npy", npy() * 40)
    yield from harmless("legacy-one-after-the-other.pt", legacy() * 3)
    yield from harmless("words.npy", words)
    yield from unjudged("rest-many-pickles.pkl", b"N." * ((1 << 18) + 1), "more pickles than are followed")


def several_files():
    """What is loaded is said by another file."""
    item = dcp_attacks.ITEM
    inside = len(item) - len(FLOATS)
    evil = legacy(call(name("os", "system"), text("true")))
    files = dcp_attacks.folder(
        contents=(("w", dcp_attacks.HONEST), ("x", dcp_attacks.thing("BytesStorageMetadata"))),
        places=((dcp_attacks.index("w", 0), dcp_attacks.place()), (dcp_attacks.index("x"), dcp_attacks.place(offset=inside, length=8))),
    )
    yield from unjudged("item-in-another", files, "begins within what holds another item")
    places = ((dcp_attacks.index("w", 0), dcp_attacks.place()), (dcp_attacks.index("x"), dcp_attacks.place(offset=len(item), length=len(evil))))
    yield from hit("item-behind-the-last", dcp_attacks.folder(
        contents=(("w", dcp_attacks.HONEST), ("x", dcp_attacks.thing("BytesStorageMetadata"))), places=places, item=item + evil))
    index = {"metadata": {}, "weight_map": {"w": "shard.bin"}}
    yield from hit("index-of-a-shard", {"pytorch_model.bin.index.json": json.dumps(index).encode(), "shard.bin": EVIL})
    old = archive([Part("m/model.json", b"{}"), Part("m/code/m.py", b"def forward(self): pass"), Part("m/tensors/0", FLOATS)])
    yield from harmless("script-before-1.3.pt", old, "unknown: (TorchScript).(code)")


GROUPS = (files, classes, attributes_that_are_methods, arguments, spellings, behind_the_end, several_files)
