"""Tensors that reach past their storage, overflow, disagree with the bytes; and lawful odd ones."""

import gzip
import io
import struct
import zipfile

from attack import Attack, Outcome, everywhere, fine, refused, unsupported
from forge import (
    FLOATS,
    WEIGHT,
    call,
    mapping,
    many,
    name,
    number,
    program,
    storage,
    tensor,
    text,
    torch_zip,
)

HOOKS = call(name("collections", "OrderedDict"))


def of(where=None, shape=(4,), stride=(1,), offset=0):
    return program(mapping(("w", tensor(where, shape, stride, offset))))


def rebuild(*arguments, function="_rebuild_tensor_v2"):
    return program(mapping(("w", call(name("torch._utils", function), *arguments))))


def geometry():
    for title, shape, stride, offset, said in (
        ("offset-past", (4,), (1,), 1, "reaches element 4, expected below 4"),
        ("one-more", (5,), (1,), 0, "reaches element 4, expected below 4"),
        ("stride-past", (2, 2), (3, 1), 0, "reaches element 4, expected below 4"),
        ("scalar-past", (), (), 4, "reaches element 4, expected below 4"),
        ("offset-2-62", (1,), (1,), 1 << 62, "reaches element 4611686018427387904"),
        ("offset-most", (2,), (1,), (1 << 63) - 1, "overflows 63 bits"),
        ("size-2-62", (1 << 62,), (1,), 0, "reaches element 4611686018427387903"),
        ("product-2-64", (1 << 32, 1 << 32), (0, 0), 0, "overflows 63 bits"),
        ("product-wraps-to-0", (1 << 32, 1 << 32, 1 << 32), (0, 0, 0), 0, "overflows 63 bits"),
        ("product-wraps-to-4", ((1 << 62) + 1, 4), (0, 0), 0, "overflows 63 bits"),
        ("stride-2-62", (5,), (1 << 62,), 0, "overflows 63 bits"),
        ("stride-wraps", (3,), ((1 << 63) - 1,), 0, "overflows 63 bits"),
        ("sum-wraps", (2, 2), ((1 << 63) - 1, (1 << 63) - 1), 0, "overflows 63 bits"),
        ("negative-size", (-4,), (1,), 0, "has a negative size or stride"),
        ("negative-sizes", (-2, -2), (1, 1), 0, "has a negative size or stride"),
        ("negative-stride", (4,), (-1,), 3, "has a negative size or stride"),
        ("negative-offset", (4,), (1,), -1, "has a negative offset"),
        ("more-strides", (4,), (1, 1), 0, "has not one stride a dimension"),
        ("no-strides", (2, 2), (), 0, "has not one stride a dimension"),
        ("zero-and-overflow", (0, 1 << 62, 1 << 62), (1, 1, 1), 0, "overflows 63 bits"),
        ("dimensions-1100", (1,) * 1100, (1,) * 1100, 0, "a tensor of 1100 dimensions, expected at most 64"),
        ("strides-1100", (4,), (1,) * 1100, 0, "a tensor of 1100 dimensions"),
    ):
        yield from everywhere(f"tensor-{title}", of(None, shape, stride, offset), refused(said))
    yield from everywhere("tensor-size-2-70", of(None, (1 << 70,)), refused("a tuple of integers of 64 bits"))
    yield from everywhere("tensor-offset-2-70", of(None, (4,), (1,), 1 << 70), refused("an integer of 64 bits"))


def storages():
    for title, which, said in (
        ("elements-2-62", storage(elements=1 << 62), "4611686018427387904 elements of float32"),
        ("elements-2-70", storage(elements=1 << 70), "a bad element count"),
        ("elements-negative", storage(elements=-4), "a bad element count"),
        (
            "elements-word",
            many(text("storage"), name("torch", "FloatStorage"), text("0"), text("cpu"), text("4")) + b"Q",
            "a bad element count",
        ),
        (
            "location-none",
            many(text("storage"), name("torch", "FloatStorage"), text("0"), b"N", number(4)) + b"Q",
            "a location that is no string",
        ),
        (
            "class-word",
            many(text("storage"), text("FloatStorage"), text("0"), text("cpu"), number(4)) + b"Q",
            "a storage class that is no name",
        ),
        ("four-parts", many(text("storage"), name("torch", "FloatStorage"), text("0"), text("cpu")) + b"Q", "4 parts"),
        ("seven-parts", storage(more=b"NN"), "7 parts"),
    ):
        yield from everywhere(f"storage-{title}", of(which), refused(said))
    for title, kind, module in (
        ("no-class", "FooStorage", "torch"),
        ("of-another", "FloatStorage", "evil"),
        ("a-tensor-class", "FloatTensor", "torch"),
    ):
        yield from everywhere(
            f"storage-{title}", of(storage(kind=kind, module=module)), unsupported(f"storage class '{module}.{kind}'")
        )
    two = "expected one size and one dtype a storage"
    for title, again in (
        ("two-dtypes", storage(kind="IntStorage")),
        ("two-sizes", storage(elements=3)),
        ("two-dtypes-same-bytes", storage(kind="DoubleStorage", elements=2)),
    ):
        yield from everywhere(f"storage-of-{title}", program(b"](" + WEIGHT + tensor(again, (1,)) + b"e"), refused(two))
    for title, kind, elements in (
        ("as-doubles", "DoubleStorage", 4),
        ("as-bytes", "ByteStorage", 4),
        ("as-halves", "HalfStorage", 4),
    ):
        size = elements * {"DoubleStorage": 8, "ByteStorage": 1, "HalfStorage": 2}[kind]
        yield Attack(
            f"storage-{title}.pt",
            torch_zip(of(storage(kind=kind, elements=elements)), {"0": FLOATS}),
            refused(f"member 'r/data/0' holds 16 bytes, expected {size}, as the pickle says"),
        )
    view = storage(more=many(text("v"), number(0), number(2)))
    yield Attack(
        "storage-view-in-a-zip.pt", torch_zip(of(view, (2,))), refused("the pickle names a view of storage '0'")
    )
    yield from everywhere(
        "storage-location-escape",
        of(storage(location="\x1b[31mcuda:0\x07")),
        fine("\\x1b[31mcuda:0\\x07", verify=": ok ("),
    )


def calls():
    short = "torch._utils._rebuild_tensor_v2 is called with"
    for title, arguments, said in (
        ("nothing", (), f"{short} 0 arguments, expected 6 or 7"),
        ("three", (storage(), number(0), many(number(4))), f"{short} 3 arguments, expected 6 or 7"),
        (
            "eight",
            (storage(), number(0), many(number(4)), many(number(1)), b"\x89", HOOKS, b"N", b"N"),
            f"{short} 8 arguments, expected 6 or 7",
        ),
        (
            "no-storage",
            (b"N", number(0), many(number(4)), many(number(1)), b"\x89", HOOKS),
            f"{short} a bad argument 1, expected a storage",
        ),
        (
            "a-tensor",
            (WEIGHT, number(0), many(number(4)), many(number(1)), b"\x89", HOOKS),
            f"{short} a bad argument 1, expected a storage",
        ),
        (
            "offset-word",
            (storage(), text("0"), many(number(4)), many(number(1)), b"\x89", HOOKS),
            f"{short} a bad argument 2",
        ),
        (
            "size-number",
            (storage(), number(0), number(4), many(number(1)), b"\x89", HOOKS),
            f"{short} a bad argument 3",
        ),
        (
            "size-words",
            (storage(), number(0), many(text("4")), many(number(1)), b"\x89", HOOKS),
            f"{short} a bad argument 3",
        ),
        ("stride-none", (storage(), number(0), many(number(4)), b"N", b"\x89", HOOKS), f"{short} a bad argument 4"),
        (
            "offset-float",
            (storage(), b"G" + struct.pack(">d", 0), many(number(4)), many(number(1)), b"\x89", HOOKS),
            f"{short} a bad argument 2",
        ),
    ):
        yield from everywhere(f"rebuild-{title}", rebuild(*arguments), refused(said))
    yield from everywhere(
        "rebuild-v3-word",
        rebuild(
            storage(),
            number(0),
            many(number(4)),
            many(number(1)),
            b"\x89",
            HOOKS,
            text("float32"),
            function="_rebuild_tensor_v3",
        ),
        refused("is called with a bad argument 7, expected a dtype of torch"),
    )
    wide = rebuild(
        storage(kind="UntypedStorage", module="torch.storage", elements=16),
        number(0),
        many(number(3)),
        many(number(1)),
        b"\x89",
        HOOKS,
        name("torch", "float64"),
        function="_rebuild_tensor_v3",
    )
    yield from everywhere("rebuild-v3-past", wide, refused("reaches element 2, expected below 2"))
    layout = call(name("torch.serialization", "_get_layout"), text("torch.sparse_coo"))
    for title, code, said in (
        (
            "layout",
            rebuild(text("sparse_coo"), many(WEIGHT, WEIGHT, many(number(4))), function="_rebuild_sparse_tensor"),
            "a bad argument 1, expected a sparse layout of torch",
        ),
        (
            "part",
            rebuild(layout, many(WEIGHT, b"N", many(number(4))), function="_rebuild_sparse_tensor"),
            "a bad argument 2, expected a dense tensor",
        ),
        (
            "size",
            rebuild(layout, many(WEIGHT, WEIGHT, many(number(-4))), function="_rebuild_sparse_tensor"),
            "has a negative size or stride",
        ),
        (
            "size-2-64",
            rebuild(layout, many(WEIGHT, WEIGHT, many(number(1 << 62), number(4))), function="_rebuild_sparse_tensor"),
            "overflows 63 bits",
        ),
    ):
        yield from everywhere(f"sparse-{title}", code, refused(said))
    meta = rebuild(
        name("torch", "float32"),
        many(number(1 << 40), number(1 << 40)),
        many(number(0), number(0)),
        b"\x89",
        function="_rebuild_meta_tensor_no_storage",
    )
    yield from everywhere("meta-2-80", meta, refused("overflows 63 bits"))
    yield from everywhere(
        "parameter-of-nothing",
        program(mapping(("w", call(name("torch._utils", "_rebuild_parameter"), b"N", b"\x88", HOOKS)))),
        fine("0 tensors"),
    )
    yield from everywhere(
        "old-tensor",
        program(
            call(name("torch", "FloatTensor")) + many(storage(), number(3), many(number(2)), many(number(1))) + b"b"
        ),
        refused("reaches element 4, expected below 4"),
    )


def expansion():
    one = of(storage(elements=1), (1 << 40,), (0,))
    far = "expanded-4-tib.pt: tensor 'w' stands for 4398046511104 bytes but its storage has 4, expected at most 64 times as many"
    commands = ("digest", "convert FILE OUT --format safetensors", "convert FILE OUT --format npz", "average FILE FILE OUT", "diff FILE FILE")
    outcomes = {**fine("1099511627776"), **{command: Outcome(3, far) for command in commands}}
    yield Attack("expanded-4-tib.pt", torch_zip(one, {"0": FLOATS[:4]}), outcomes)
    several = program(b"](" + b"".join(tensor(storage(elements=1), (1 << 60,), (0,)) for _ in range(100)) + b"e")
    yield Attack("expanded-past-64-bits.pt", torch_zip(several, {"0": FLOATS[:4]}), fine("100 tensors"))
    overlap = of(storage(elements=4), (1 << 20, 4), (0, 1))
    yield Attack(
        "expanded-16-mib.pt", torch_zip(overlap, {"0": FLOATS}), {**fine("[1048576, 4]"), "digest": Outcome(0, "w")}
    )


def controls():
    for title, shape, stride, offset, shown in (
        ("strided", (2, 2), (2, 1), 0, "[2, 2]"),
        ("transposed", (2, 2), (1, 2), 0, "[2, 2]"),
        ("every-other", (2,), (2,), 1, "[2]"),
        ("overlapping", (3, 2), (1, 1), 0, "[3, 2]"),
        ("scalar", (), (), 3, "[]"),
        ("empty", (0,), (1,), 0, "[0]"),
        ("empty-far", (0,), (1,), 1 << 40, "[0]"),
        ("empty-with-strides", (4, 0, 4), (1 << 40, 1 << 40, 1), 0, "[4, 0, 4]"),
        ("one-of-many", (1, 1, 1), (1 << 60, 1 << 60, 1), 3, "[1, 1, 1]"),
        ("dimensions-64", (1,) * 64, (1,) * 64, 0, "[1, 1"),
    ):
        yield from everywhere(f"tensor-{title}", of(None, shape, stride, offset), fine(shown))
    nothing = of(storage(elements=0), (0,), (1,))
    yield Attack("storage-empty.pt", torch_zip(nothing, {"0": b""}), fine("[0]"))
    yield from everywhere(
        "size-spelt-out",
        rebuild(storage(), number(0), call(name("torch", "Size"), many(number(4))), many(number(1)), b"\x89", HOOKS),
        fine("[4]"),
    )
    yield from everywhere(
        "size-as-a-list",
        rebuild(storage(), number(0), b"](" + number(4) + b"e", b"](" + number(1) + b"e", b"\x89", HOOKS),
        fine("[4]"),
    )
    key = "\x1b]0;owned\x07\u202e\n\u200b\x9b31m"
    yield from everywhere("key-escape", program(mapping((key, WEIGHT))), fine("\\x1b]0;owned\\x07\\u202e\\n"))
    yield from everywhere("key-bytes", program(b"}U\x04\xff\x1b[2" + WEIGHT + b"s"), fine("\\x1b[2"))


class Pipe(io.RawIOBase):
    """What is written, which cannot be gone back in."""

    def __init__(self):
        self.bytes = bytearray()

    def writable(self):
        return True

    def write(self, piece):
        self.bytes += piece
        return len(piece)


def streams():
    """In gzip a storage's size is believed until its bytes come, and two may come to more than 64 bits."""
    sizes = {"0": 10 << 20, "1": (1 << 64) - (8 << 20)}

    def of_bytes(key):
        elements = sizes[key] // 8
        return tensor(storage(key, "LongStorage", elements=elements), (elements,))

    code = program(mapping(*((f"w{key}", of_bytes(key)) for key in sizes)))
    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w") as archive:
        for name_, data in (("r/data.pkl", code), ("r/data/0", bytes(10 << 20)), ("r/data/1", bytes(9 << 20)), ("r/version", b"3\n")):
            archive.writestr(zipfile.ZipInfo(name_), data)
    yield Attack(
        "storages-of-2-64-bytes.pt.gz",
        gzip.compress(bytes(pipe.bytes), 1, mtime=0),
        {"convert FILE OUT --format safetensors": Outcome(3, "tensors of 2^64 bytes and more"), "convert": Outcome(3, "member 'r/data/1'")},
    )


def attacks():
    for group in (geometry, storages, calls, expansion, streams, controls):
        yield from group()
