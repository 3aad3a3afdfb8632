"""Objects to save: each function makes a new one. And the classes that they use, which ckpt has never heard of."""

import argparse
import collections
import dataclasses
import datetime
import enum
import math
import struct

import numpy
import torch
from torch import nn


class Colour(enum.Enum):
    RED = 1
    BLUE = "b"


class Flag(enum.IntFlag):
    A = 1
    B = 2


@dataclasses.dataclass
class Config:
    width: int
    names: list
    inner: object = None


class Slotted:
    __slots__ = ("x", "y")

    def __init__(self, x=None, y=None):
        self.x, self.y = x, y


class Reduced:
    """Made by a call with arguments, then changed by a state."""

    def __init__(self, items):
        self.items = items

    def __reduce__(self):
        return Reduced, (self.items,), {k: v for k, v in self.__dict__.items() if k != "items"}


class KeywordOnly:
    """Protocol 4's NEWOBJ_EX; earlier, functools.partial."""

    def __new__(cls, *, size):
        self = super().__new__(cls)
        self.size = size
        return self

    def __getnewargs_ex__(self):
        return (), {"size": self.size}


class Plain:
    def __init__(self, *items):
        self.items = items


class Snapshot:
    """Copies what it is given, so that it keeps what that was at the time of the call."""

    def __init__(self, value):
        self.seen = list(value)


class Registered:
    """In copyreg's registry of extensions (hand.py)."""


class Outer:
    class Inner:
        pass


notes = []


def note(word):
    """A call with an effect elsewhere: it must still be made, once, though its result is thrown away."""
    notes.append(word)
    return word


class FancyList(list):
    pass


class FancyDict(dict):
    pass


class FancyInt(int):
    pass


class Sub(torch.Tensor):
    pass


Pair = collections.namedtuple("Pair", "left right")

DTYPES = [getattr(torch, n) for n in (
    "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex32 complex64 complex128 "
    "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2").split() if hasattr(torch, n)]


def pattern(nbytes, seed=0):
    return bytes((i * 37 + seed * 101 + 11) % 256 for i in range(nbytes))


def of_dtype(dtype, shape=(3, 4), seed=0):
    """Bits of every kind, NaNs among them (a bool's are 0 and 1)."""
    size = torch.empty(0, dtype=dtype).element_size()
    data = pattern(math.prod(shape) * size, seed)
    if dtype is torch.bool:
        data = bytes(b & 1 for b in data)
    return torch.frombuffer(bytearray(data), dtype=torch.uint8).view(dtype).reshape(shape)


def dtypes():
    return {str(d).removeprefix("torch."): of_dtype(d, seed=i) for i, d in enumerate(DTYPES)}


def old_dtypes():
    """Those that a legacy file can say."""
    return {k: v for k, v in dtypes().items() if not k.startswith(("uint16", "uint32", "uint64", "complex32", "float8", "float4"))}


def nans():
    bits = [0x7FC00001, 0xFFC12345, 0x7F800001, 0x80000000, 0x7F800000, 1]
    return {"t": torch.frombuffer(bytearray(struct.pack("<6I", *bits)), dtype=torch.float32),
            "python": struct.unpack("<d", struct.pack("<Q", 0x7FF8000000001234))[0], "-0": -0.0, "inf": math.inf}


def views():
    base = torch.arange(60, dtype=torch.float32)
    other = torch.arange(24, dtype=torch.int16).reshape(2, 3, 4)
    return {"base": base, "slice": base[10:20], "strided": base[3:50:7], "transposed": base.reshape(6, 10).t(),
            "expanded": base[5:6].expand(4, 3, 1), "zero_stride": torch.zeros(1).expand(5), "permuted": other.permute(2, 0, 1),
            "0-d": torch.tensor(3.5), "0-d of base": base[7], "empty": torch.empty(0, 3), "empty slice": base[60:],
            "empty of nothing": torch.empty(0, dtype=torch.int64), "channels_last": torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
            "flipped": torch.flip(base[:4], (0,)), "diagonal": base[:36].reshape(6, 6).diagonal()}


def large_storage_small_view():
    return {"x": torch.arange(100_000, dtype=torch.float64)[5:9]}


def retyped():
    """One storage under two dtypes: torch saves that only of those that have no typed storage."""
    base = of_dtype(torch.uint32, (8,))
    return {"ints": base, "shorts": base.view(torch.uint16)[3:9], "eighths": base.view(torch.float8_e5m2)[1:]}


def tied():
    weight = nn.Parameter(torch.randn(4, 3))
    return collections.OrderedDict([("encoder", weight), ("decoder", weight), ("data", weight.data), ("t", weight.data.t())])


def flags():
    complex_ = torch.randn(3, dtype=torch.complex64)
    return {"grad": torch.ones(2, requires_grad=True), "parameter": nn.Parameter(torch.ones(2)),
            "frozen": nn.Parameter(torch.ones(2), requires_grad=False), "buffer": nn.Buffer(torch.zeros(1)),
            "conj": complex_.conj(), "neg": torch.randn(2, dtype=torch.complex64).conj().imag, "plain": complex_}


def sparse():
    dense = torch.tensor([[0, 1.5, 0, 2], [0, 0, 3, 0], [0, 0, 0, 0], [4, 0, 0, 5]])
    loose = torch.sparse_coo_tensor(torch.tensor([[0, 0, 1], [2, 2, 0]]), torch.tensor([3.0, 4.0, 5.0]), (2, 3))
    return {"coo": dense.to_sparse_coo(), "coalesced": dense.to_sparse().coalesce(), "loose": loose, "csr": dense.to_sparse_csr(),
            "csc": dense.to_sparse_csc(), "bsr": dense.to_sparse_bsr((2, 2)), "bsc": dense.to_sparse_bsc((2, 2)),
            "hybrid": torch.sparse_coo_tensor([[0, 2]], torch.randn(2, 3), (4, 3))}


def quantised():
    x = torch.randn(3, 4)
    per_tensor = {str(d).removeprefix("torch."): torch.quantize_per_tensor(x, 0.1, 3, d) for d in (torch.quint8, torch.qint8, torch.qint32)}
    channel = torch.quantize_per_channel(x, torch.tensor([0.1, 0.2, 0.5]), torch.tensor([0, 1, 2]), 0, torch.qint8)
    return {**per_tensor, "per_channel": channel, "view": channel[1:]}


def sub_byte():
    return {"quint4x2": torch.quantize_per_channel(torch.randn(3, 4), torch.tensor([0.1, 0.2, 0.5]), torch.zeros(3), 0, torch.quint4x2)}


def nested():
    return {"nested": torch.nested.nested_tensor([torch.randn(2, 3), torch.randn(4, 3)])}


def meta():
    return {"meta": torch.empty(5, 7, device="meta"), "parameter": nn.Parameter(torch.empty(2, device="meta"))}


def shared():
    inner, words, t = [1, 2], {"a": 1}, torch.ones(3)
    pair = (inner, words)
    return {"a": inner, "b": inner, "pair": pair, "again": pair, "d": {"x": words, "y": words}, "ts": [t, t, t[1:]],
            "equal but apart": [[1, 2], [1, 2], {"a": 1}]}


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
    return {"ints": [0, 1, -1, 255, 256, 65535, 65536, 2**31 - 1, 2**31, -2**31, -2**31 - 1, 2**63 - 1, 2**63, -2**63, 2**64, -2**64,
                     2**200, -2**200, 2**2039 - 1, 2**2040, -2**2047], "bools": [True, False, None],
            "floats": [0.0, -0.0, 1e308, 5e-324, math.pi, -math.inf], "complex": [1 + 2j, complex(-0.0, math.inf)], -5: "negative key", 2.5: "x",
            None: 0, (1, "a"): 2, True: 3, 2**80: 4}


def texts():
    return {"str": ["", "a", "ü€😀", "\ud800 lone", "nul\0nul", "line\nline\r", "x" * 300, "y" * 70_000, "\\ '\"", "\u2028"],
            "bytes": [b"", b"a", bytes(range(256)), b"z" * 300, b"w" * 70_000], "bytearray": [bytearray(), bytearray(b"\xff\0")],
            "ü": 1, "": 2, "a.b": 3}


def plain_values():
    """What weights_only takes of numbers, text and containers."""
    return {"ints": [0, -1, 255, 256, 65536, 2**31, -2**63, 2**64, -2**200], "floats": [0.5, -0.0, math.inf], "str": ["", "ü😀", "x" * 300],
            "nothing": [None, True, False], "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)], 5: (2.5, "key"), "set": {1, 2},
            "size": torch.Size([2, 3]), "dtype": torch.bfloat16, "device": torch.device("cuda:1"), "counter": collections.Counter("hello"),
            "t": torch.ones(1), "bytes": b"\0\xff", "bytearray": bytearray(b"ab")}


def containers():
    ordered = collections.OrderedDict([("z", 1), ("a", 2)])
    ordered.note = {"kept": [1]}
    return {"set": {1, 2, "x"}, "empty set": set(), "frozenset": frozenset({1, ("a", 2)}), "deque": collections.deque([1, 2], 5),
            "defaultdict": collections.defaultdict(list, {"k": [1]}), "counter": collections.Counter("hello"), "ordered": ordered,
            "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)], "range": range(1, 9, 2), "slice": slice(1, None, 2), "size": torch.Size([2, 3]),
            "device": torch.device("cuda:0"), "dtype": [torch.float32, torch.float32, torch.bfloat16], "layout": torch.strided,
            "long list": list(range(2500)), "long dict": {i: str(i) for i in range(2500)}, "type": [int, list],
            "date": datetime.datetime(2026, 1, 2, 3, 4, 5)}


def classes():
    config = Config(3, ["a"], Config(4, []))
    fancy = FancyList([1, 2])
    fancy.note = "n"
    table = FancyDict(a=1)
    table.own = [table]
    return {"enum": [Colour.RED, Colour.BLUE, Colour.RED], "flag": Flag.A | Flag.B, "dataclass": config, "same": config, "slots": Slotted(1, [2]),
            "reduced": Reduced([1]), "keyword": KeywordOnly(size=3), "list": fancy, "dict": table, "int": FancyInt(7), "pair": Pair(1, [2]),
            "namespace": argparse.Namespace(lr=0.1, device="cuda:0", nested=argparse.Namespace(x=1)), "class": Config, "t": torch.ones(2)}


def arrays():
    structured = numpy.array([(1, 2.5), (3, 4.5)], dtype=[("i", "<i4"), ("f", "<f8")])
    return {"array": numpy.arange(12, dtype=numpy.float32).reshape(3, 4), "fortran": numpy.asfortranarray(numpy.arange(6).reshape(2, 3)),
            "big": numpy.arange(3, dtype=">i4"), "bool": numpy.array([True, False]), "text": numpy.array(["a", "üü"]), "bytes": numpy.array([b"ab"]),
            "structured": structured, "empty": numpy.empty((0, 2)), "0-d": numpy.array(5), "scalars": [numpy.float32(1.5), numpy.float64(-0.0), numpy.int64(7), numpy.bool_(True), numpy.uint8(3)],
            "dtype": numpy.dtype("float16"), "dates": numpy.array(["2026-01-01"], dtype="datetime64[D]"), "t": torch.ones(1)}


def object_arrays():
    return {"objects": numpy.array([1, "a", None, [2]], dtype=object), "state": numpy.random.RandomState(3).get_state()}


def net():
    torch.manual_seed(7)
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 3))


def trainer(optimiser="Adam"):
    model = nn.DataParallel(net())
    kinds = {"Adam": lambda p: torch.optim.Adam(p, amsgrad=True), "SGD": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
             "AdamW": lambda p: torch.optim.AdamW(p, lr=torch.tensor(0.01))}
    opt = kinds[optimiser](model.parameters())
    scheduler = torch.optim.lr_scheduler.StepLR(opt, 2)
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(4, 1, 4, 4)).square().mean().backward()
        opt.step()
        scheduler.step()
    return {"epoch": 3, "model": model.state_dict(), "optimizer": opt.state_dict(), "scheduler": scheduler.state_dict(),
            "loss": 0.25, "best": torch.tensor(0.5), "rng": torch.get_rng_state(), "history": [{"loss": 0.1}, {"loss": 0.2}],
            "device": "cuda:0"}


def trainer_with_args():
    return {**trainer("SGD"), "top1": numpy.float64(0.25), "args": argparse.Namespace(device="cuda:0", gpus=[0, 1], seed=2**40), "classes": {"cat", "dog"}}


def data_parallel():
    return nn.DataParallel(net()).state_dict()


def extra_state():
    class WithExtra(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 2)
        def get_extra_state(self):
            return {"calls": 3, "words": ["a"]}
        def set_extra_state(self, state):
            pass
    return nn.Sequential(WithExtra()).state_dict()


def attributes():
    t = torch.ones(3)
    t.note = {"why": "kept"}
    p = nn.Parameter(torch.zeros(2))
    p.tag = "mine"
    return {"tensor": t, "parameter": p}


def subclass():
    return {"sub": torch.ones(2).as_subclass(Sub), "t": torch.ones(1)}


def storages():
    base, bytes_ = torch.arange(6, dtype=torch.float32), torch.arange(5, dtype=torch.uint8)
    return {"typed": torch.TypedStorage(_internal=True, wrap_storage=base.untyped_storage(), dtype=torch.float32), "tensor": base,
            "untyped": bytes_.untyped_storage(), "bytes": bytes_, "of its own": torch.UntypedStorage(7).fill_(3)}


def deep_nesting():
    top = []
    for _ in range(150):
        top = [top, {"d": (1,)}]
    return {"deep": top, "t": torch.ones(1)}


def many():
    return {f"layer.{i}.weight": torch.full((2,), i) for i in range(1200)}


# Whole objects, as they are handed to torch.save.
WHOLE = {
    "bare tensor": lambda: torch.arange(6.0).reshape(2, 3), "bare view": lambda: torch.arange(20)[4:9], "bare 0-d": lambda: torch.tensor(2),
    "bare parameter": lambda: nn.Parameter(torch.ones(2, 2)), "bare storage": lambda: torch.arange(4, dtype=torch.uint8).untyped_storage(),
    "list of tensors": lambda: [torch.ones(2), torch.zeros(1, dtype=torch.int8)], "tuple": lambda: (torch.ones(1), {"a": 1}),
    "sequential": net, "lstm": lambda: nn.LSTM(3, 4, 2, bidirectional=True), "transformer layer": lambda: nn.TransformerEncoderLayer(8, 2, 16),
    "data parallel module": lambda: nn.DataParallel(net()), "no tensors": lambda: {"epoch": 3}, "none": lambda: None, "text": lambda: "hello",
    "empty dict": dict, "number": lambda: 2**100,
}
NAMED = {f.__name__.replace("_", " "): f for f in (
    plain_values, subclass,
    dtypes, old_dtypes, nans, views, large_storage_small_view, retyped, tied, flags, sparse, quantised, sub_byte, nested, meta, shared, loops,
    benign_loops, numbers, texts, containers, classes, arrays, object_arrays, trainer, trainer_with_args, data_parallel, extra_state, attributes, storages,
    deep_nesting, many)}
ALL = {**WHOLE, **NAMED}
