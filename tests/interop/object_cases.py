"""Python objects of every kind to save, beside tensors: each function makes new ones."""

import argparse
import collections
import datetime
import math

import numpy
import torch
from specimens import Colour, Config, FancyDict, FancyInt, FancyList, Flag, KeywordOnly, Pair, Reduced, Slotted


def shared():
    inner, words, t = [1, 2], {"a": 1}, torch.ones(3)
    pair = (inner, words)
    return {
        "a": inner,
        "b": inner,
        "pair": pair,
        "again": pair,
        "d": {"x": words, "y": words},
        "ts": [t, t, t[1:]],
        "equal but apart": [[1, 2], [1, 2], {"a": 1}],
    }


def loops():
    mine, table, deep = [1], {}, ([],)
    mine.append(mine)
    table["self"] = table
    deep[0].append(deep)
    config = Config(1, [])
    config.inner = config
    late = []
    reduced = Reduced(late)
    late.append(reduced)
    return {"list": mine, "dict": table, "tuple": deep, "object": config, "reduced": reduced, "late": late}


def benign_loops():
    mine, table = [1], {}
    mine.append(mine)
    table["self"], table["list"] = table, mine
    return {"list": mine, "dict": table, "t": torch.ones(1)}


def numbers():
    return {
        "ints": [
            0,
            1,
            -1,
            255,
            256,
            65535,
            65536,
            2**31 - 1,
            2**31,
            -(2**31),
            -(2**31) - 1,
            2**63 - 1,
            2**63,
            -(2**63),
            2**64,
            -(2**64),
            2**200,
            -(2**200),
            2**2039 - 1,
            2**2040,
            -(2**2047),
        ],
        "bools": [True, False, None],
        "floats": [0.0, -0.0, 1e308, 5e-324, math.pi, -math.inf],
        "complex": [1 + 2j, complex(-0.0, math.inf)],
        -5: "negative key",
        2.5: "x",
        None: 0,
        (1, "a"): 2,
        True: 3,
        2**80: 4,
    }


def texts():
    return {
        "str": [
            "",
            "a",
            "ü€😀",
            "\ud800 lone",
            "nul\0nul",
            "line\nline\r",
            "x" * 300,
            "y" * 70_000,
            "\\ '\"",
            "\u2028",
        ],
        "bytes": [b"", b"a", bytes(range(256)), b"z" * 300, b"w" * 70_000],
        "bytearray": [bytearray(), bytearray(b"\xff\0")],
        "ü": 1,
        "": 2,
        "a.b": 3,
    }


def plain_values():
    """What weights_only takes of numbers, text and containers."""
    return {
        "ints": [0, -1, 255, 256, 65536, 2**31, -(2**63), 2**64, -(2**200)],
        "floats": [0.5, -0.0, math.inf],
        "str": ["", "ü😀", "x" * 300],
        "nothing": [None, True, False],
        "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
        5: (2.5, "key"),
        "set": {1, 2},
        "size": torch.Size([2, 3]),
        "dtype": torch.bfloat16,
        "device": torch.device("cuda:1"),
        "counter": collections.Counter("hello"),
        "t": torch.ones(1),
        "bytes": b"\0\xff",
        "bytearray": bytearray(b"ab"),
    }


def containers():
    ordered = collections.OrderedDict([("z", 1), ("a", 2)])
    ordered.note = {"kept": [1]}
    return {
        "set": {1, 2, "x"},
        "empty set": set(),
        "frozenset": frozenset({1, ("a", 2)}),
        "deque": collections.deque([1, 2], 5),
        "defaultdict": collections.defaultdict(list, {"k": [1]}),
        "counter": collections.Counter("hello"),
        "ordered": ordered,
        "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
        "range": range(1, 9, 2),
        "slice": slice(1, None, 2),
        "size": torch.Size([2, 3]),
        "device": torch.device("cuda:0"),
        "dtype": [torch.float32, torch.float32, torch.bfloat16],
        "layout": torch.strided,
        "long list": list(range(2500)),
        "long dict": {i: str(i) for i in range(2500)},
        "type": [int, list],
        "date": datetime.datetime(2026, 1, 2, 3, 4, 5),
    }


def classes():
    config = Config(3, ["a"], Config(4, []))
    fancy = FancyList([1, 2])
    fancy.note = "n"
    table = FancyDict(a=1)
    table.own = [table]
    return {
        "enum": [Colour.RED, Colour.BLUE, Colour.RED],
        "flag": Flag.A | Flag.B,
        "dataclass": config,
        "same": config,
        "slots": Slotted(1, [2]),
        "reduced": Reduced([1]),
        "keyword": KeywordOnly(size=3),
        "list": fancy,
        "dict": table,
        "int": FancyInt(7),
        "pair": Pair(1, [2]),
        "namespace": argparse.Namespace(lr=0.1, device="cuda:0", nested=argparse.Namespace(x=1)),
        "class": Config,
        "t": torch.ones(2),
    }


def arrays():
    structured = numpy.array([(1, 2.5), (3, 4.5)], dtype=[("i", "<i4"), ("f", "<f8")])
    return {
        "array": numpy.arange(12, dtype=numpy.float32).reshape(3, 4),
        "fortran": numpy.asfortranarray(numpy.arange(6).reshape(2, 3)),
        "big": numpy.arange(3, dtype=">i4"),
        "bool": numpy.array([True, False]),
        "text": numpy.array(["a", "üü"]),
        "bytes": numpy.array([b"ab"]),
        "structured": structured,
        "empty": numpy.empty((0, 2)),
        "0-d": numpy.array(5),
        "scalars": [numpy.float32(1.5), numpy.float64(-0.0), numpy.int64(7), numpy.bool_(True), numpy.uint8(3)],
        "dtype": numpy.dtype("float16"),
        "dates": numpy.array(["2026-01-01"], dtype="datetime64[D]"),
        "t": torch.ones(1),
    }


def object_arrays():
    return {"objects": numpy.array([1, "a", None, [2]], dtype=object), "state": numpy.random.RandomState(3).get_state()}


def deep_nesting():
    top = []
    for _ in range(150):
        top = [top, {"d": (1,)}]
    return {"deep": top, "t": torch.ones(1)}


CASES = """
    shared loops benign_loops numbers texts plain_values containers classes arrays object_arrays deep_nesting
""".split()
