"""Tensors of every kind to save: each function makes new ones."""

import collections
import math
import struct

import torch
from specimens import Sub
from torch import nn

DTYPES = [
    getattr(torch, n)
    for n in (
        "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex32 complex64 complex128 "
        "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2"
    ).split()
    if hasattr(torch, n)
]


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
    return {
        k: v
        for k, v in dtypes().items()
        if not k.startswith(("uint16", "uint32", "uint64", "complex32", "float8", "float4"))
    }


def nans():
    bits = [0x7FC00001, 0xFFC12345, 0x7F800001, 0x80000000, 0x7F800000, 1]
    return {
        "t": torch.frombuffer(bytearray(struct.pack("<6I", *bits)), dtype=torch.float32),
        "python": struct.unpack("<d", struct.pack("<Q", 0x7FF8000000001234))[0],
        "-0": -0.0,
        "inf": math.inf,
    }


def views():
    base = torch.arange(60, dtype=torch.float32)
    other = torch.arange(24, dtype=torch.int16).reshape(2, 3, 4)
    return {
        "base": base,
        "slice": base[10:20],
        "strided": base[3:50:7],
        "transposed": base.reshape(6, 10).t(),
        "expanded": base[5:6].expand(4, 3, 1),
        "zero_stride": torch.zeros(1).expand(5),
        "permuted": other.permute(2, 0, 1),
        "0-d": torch.tensor(3.5),
        "0-d of base": base[7],
        "empty": torch.empty(0, 3),
        "empty slice": base[60:],
        "empty of nothing": torch.empty(0, dtype=torch.int64),
        "channels_last": torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
        "flipped": torch.flip(base[:4], (0,)),
        "diagonal": base[:36].reshape(6, 6).diagonal(),
    }


def large_storage_small_view():
    return {"x": torch.arange(100_000, dtype=torch.float64)[5:9]}


def retyped():
    """One storage under two dtypes: torch saves that only of those that have no typed storage."""
    base = of_dtype(torch.uint32, (8,))
    return {"ints": base, "shorts": base.view(torch.uint16)[3:9], "eighths": base.view(torch.float8_e5m2)[1:]}


def tied():
    weight = nn.Parameter(torch.randn(4, 3))
    return collections.OrderedDict(
        [("encoder", weight), ("decoder", weight), ("data", weight.data), ("t", weight.data.t())]
    )


def flags():
    complex_ = torch.randn(3, dtype=torch.complex64)
    return {
        "grad": torch.ones(2, requires_grad=True),
        "parameter": nn.Parameter(torch.ones(2)),
        "frozen": nn.Parameter(torch.ones(2), requires_grad=False),
        "buffer": nn.Buffer(torch.zeros(1)),
        "conj": complex_.conj(),
        "neg": torch.randn(2, dtype=torch.complex64).conj().imag,
        "neg of integers": torch._neg_view(torch.tensor([0, 1, -(2**63)])),
        "plain": complex_,
    }


def sparse():
    dense = torch.tensor([[0, 1.5, 0, 2], [0, 0, 3, 0], [0, 0, 0, 0], [4, 0, 0, 5]])
    loose = torch.sparse_coo_tensor(torch.tensor([[0, 0, 1], [2, 2, 0]]), torch.tensor([3.0, 4.0, 5.0]), (2, 3))
    return {
        "coo": dense.to_sparse_coo(),
        "coalesced": dense.to_sparse().coalesce(),
        "loose": loose,
        "csr": dense.to_sparse_csr(),
        "csc": dense.to_sparse_csc(),
        "bsr": dense.to_sparse_bsr((2, 2)),
        "bsc": dense.to_sparse_bsc((2, 2)),
        "hybrid": torch.sparse_coo_tensor([[0, 2]], torch.randn(2, 3), (4, 3)),
    }


def quantised():
    x = torch.randn(3, 4)
    per_tensor = {
        str(d).removeprefix("torch."): torch.quantize_per_tensor(x, 0.1, 3, d)
        for d in (torch.quint8, torch.qint8, torch.qint32)
    }
    channel = torch.quantize_per_channel(x, torch.tensor([0.1, 0.2, 0.5]), torch.tensor([0, 1, 2]), 0, torch.qint8)
    return {**per_tensor, "per_channel": channel, "view": channel[1:]}


def sub_byte():
    return {
        "quint4x2": torch.quantize_per_channel(
            torch.randn(3, 5), torch.tensor([0.1, 0.2, 0.5]), torch.zeros(3), 0, torch.quint4x2
        )
    }


def nested():
    return {"nested": torch.nested.nested_tensor([torch.randn(2, 3), torch.randn(4, 3)])}


def meta():
    return {"meta": torch.empty(5, 7, device="meta"), "parameter": nn.Parameter(torch.empty(2, device="meta"))}


def storages():
    base, bytes_ = torch.arange(6, dtype=torch.float32), torch.arange(5, dtype=torch.uint8)
    return {
        "typed": torch.TypedStorage(_internal=True, wrap_storage=base.untyped_storage(), dtype=torch.float32),
        "tensor": base,
        "untyped": bytes_.untyped_storage(),
        "bytes": bytes_,
        "of its own": torch.UntypedStorage(7).fill_(3),
    }


def attributes():
    t = torch.ones(3)
    t.note = {"why": "kept"}
    p = nn.Parameter(torch.zeros(2))
    p.tag = "mine"
    return {"tensor": t, "parameter": p}


def subclass():
    return {"sub": torch.ones(2).as_subclass(Sub), "t": torch.ones(1)}


def many():
    return {f"layer.{i}.weight": torch.full((2,), i) for i in range(1200)}


CASES = """
    dtypes old_dtypes nans views large_storage_small_view retyped tied flags sparse quantised sub_byte nested meta storages
    attributes subclass many
""".split()
