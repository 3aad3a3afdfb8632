"""From a checkpoint to libtorch's tensors and back: Python loads what it saved."""

import io
import zipfile
from collections import OrderedDict

import torch
from torch import nn

DTYPES = "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex32 complex64 \
complex128 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu".split()


def states():
    torch.manual_seed(1)
    base = torch.randn(6, 8)
    tied = torch.randn(5, 3)
    yield (
        "views",
        OrderedDict(
            whole=base, turned=base.t(), row=base[2], step=base[1::2, ::3], wide=base[:1].expand(4, 8), one=base[3, 4]
        ),
    )
    yield "tied", OrderedDict(encoder=tied, other=torch.ones(2), decoder=tied)
    yield "small", OrderedDict(scalar=torch.tensor(2.5), none=torch.empty(0), flat=torch.empty(3, 0, 2))
    bits = torch.arange(48, dtype=torch.uint8).view(3, 16)
    yield "dtypes", OrderedDict((name, dtype_of(bits, name)) for name in DTYPES)
    yield "lazy views", OrderedDict(conj=torch.randn(3, dtype=torch.complex64).conj(), plain=torch.ones(1))
    yield "names", OrderedDict([("", torch.ones(1)), ("a.b", torch.zeros(2)), ("ключ", torch.ones(3))])
    yield "channels last", OrderedDict(weight=torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last))


def dtype_of(bits, name):
    if name == "bool":
        return bits[0] > 7
    return bits.clone().view(getattr(torch, name))


def described(state):
    """Everything that should survive, storages numbered as they come."""
    numbers = {}
    for key, tensor in state.items():
        storage = numbers.setdefault(tensor.untyped_storage().data_ptr() if tensor.numel() else key, len(numbers))
        data = tensor.resolve_conj().contiguous()
        raw = bytes(data.reshape(-1).view(torch.uint8).numpy()) if tensor.numel() else b""
        yield key, str(tensor.dtype), tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), storage, raw


def bridged(t, name, source, *settings, out=None):
    out = out or t.path()
    done = t.tool("bridge", source, out, *settings)
    return torch.load(out, weights_only=True) if t.suite.check(f"{name}: exit 0", done.code == 0, done) else None


def round_trips(t):
    for name, state in states():
        for legacy in (False, True):
            if legacy and name == "dtypes":
                continue  # a legacy file cannot say all of them
            torch.save(state, path := t.path(), _use_new_zipfile_serialization=not legacy)
            guise = f"{name}{', legacy' if legacy else ''}"
            back = bridged(t, guise, path)
            if back is None:
                continue
            t.suite.equal(f"{guise}: type", type(back), OrderedDict)
            expected, got = list(described(state)), list(described(back))
            if name == "lazy views":  # resolved, so in storages of their own
                expected, got = ([row[:3] + row[6:] for row in rows] for rows in (expected, got))
            t.suite.equal(guise, got, expected)


def as_torch_saves(t):
    """The pickle is torch.save's own, byte for byte, `_metadata` included."""
    torch.manual_seed(2)
    model = nn.ModuleDict({"fc": nn.Linear(3, 3), "bn": nn.BatchNorm1d(3)})
    for name, settings in [("_metadata", ["metadata"]), ("no _metadata", [])]:
        state = model.state_dict()
        if not settings:
            del state._metadata
        torch.save(state, path := t.path())
        back = bridged(t, name, path, *settings, out=(out := t.path()))
        if back is None:
            continue
        t.suite.equal(f"{name}: attribute", getattr(back, "_metadata", None), getattr(state, "_metadata", None))
        expected, got = (pickle_of(file) for file in (path, out))
        t.suite.equal(f"{name}: the same pickle", got, expected)


def pickle_of(path):
    with zipfile.ZipFile(path) as archive:
        return archive.read(next(name for name in archive.namelist() if name.endswith("/data.pkl")))


def values_only(t):
    """Sparse and quantised tensors arrive with their values, however they are laid out."""
    dense = torch.tensor([[0, 1.5, 0, 2], [0, 0, 0, 0], [3, 0, 0, -4.0], [0, 0, 5, 0]])
    scales, zeros = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64), torch.tensor([0, 1, 2, 3])
    state = OrderedDict(
        coo=dense.to_sparse(),
        csr=dense.to_sparse_csr(),
        csc=dense.to_sparse_csc(),
        bsr=dense.to_sparse_bsr((2, 2)),
        bsc=dense.to_sparse_bsc((2, 2)),
        per_tensor=torch.quantize_per_tensor(dense, 0.1, 2, torch.qint8),
        per_tensor_32=torch.quantize_per_tensor(dense, 0.01, 0, torch.qint32),
        per_channel=torch.quantize_per_channel(dense, scales, zeros, 1, torch.quint8),
        turned=torch.quantize_per_tensor(dense, 0.1, 2, torch.qint8).t(),
    )
    torch.save(state, path := t.path())
    back = bridged(t, "values", path, "values")
    for key, tensor in state.items():
        plain = tensor.dequantize() if tensor.is_quantized else tensor.to_dense()
        t.suite.check(key, back is not None and torch.equal(back[key], plain), lambda: f"{back and back[key]}")
    done = t.tool("bridge", path, t.path())
    t.suite.check("saving them is refused by name", done.code == 3 and "tensor 'coo'" in done.err, done)


def big_endian(t):
    """A file as a big-endian machine saves it: elements swapped, complex ones by halves."""
    state = OrderedDict(
        f32=torch.randn(3, 2), f64=torch.randn(4, dtype=torch.float64), i16=torch.arange(5, dtype=torch.int16),
        c64=torch.randn(2, dtype=torch.complex64), b=torch.tensor([True, False]),
    )  # fmt: skip
    torch.save(state, buffer := io.BytesIO())
    swapped = t.path()
    with zipfile.ZipFile(buffer) as source, zipfile.ZipFile(swapped, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name.endswith("/byteorder"):
                data = b"big"
            elif "/data/" in name:
                tensor = list(state.values())[int(name.rsplit("/", 1)[1])]
                size = tensor.element_size() // (2 if tensor.is_complex() else 1)
                data = b"".join(data[i : i + size][::-1] for i in range(0, len(data), size))
            target.writestr(name, data)
    back = bridged(t, "big-endian", swapped)
    t.suite.equal("big-endian", list(described(back)), list(described(state)))


def damage(t):
    """A flipped bit in a weight is found; one in a storage that nobody needs is not read."""
    torch.manual_seed(3)
    state = {"model": OrderedDict(weight=torch.randn(100)), "other": torch.randn(100)}
    torch.save(state, path := t.path())
    data = bytearray(path.read_bytes())

    def flipped(tensor):
        at = data.index(tensor.numpy().tobytes())
        damaged = t.path()
        damaged.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        return damaged

    done = t.tool("bridge", flipped(state["model"]["weight"]), t.path())
    t.suite.check("a weight", done.code == 3 and "CRC" in done.err, done)
    back = bridged(t, "another storage", flipped(state["other"]))
    t.suite.equal("another storage", list(described(back)), list(described(state["model"])))


def no_values(t):
    torch.save(OrderedDict(weight=torch.empty(3, device="meta")), path := t.path())
    done = t.tool("bridge", path, t.path())
    said = "tensor 'weight': it is on the meta device" in done.err
    t.suite.check("a meta tensor", done.code == 3 and said, done)


def lying_indices(t):
    """Sparse tensors that point outside of themselves: libtorch would write there."""
    values, outside = torch.tensor([1.0, 2.0]), torch.tensor([0, 10**9])
    tensors = dict(
        coo=torch.sparse_coo_tensor(torch.stack([outside, outside]), values, (4, 4), check_invariants=False),
        csr=torch.sparse_csr_tensor(torch.tensor([0, 1, 2]), outside, values, (2, 4), check_invariants=False),
        csc=torch.sparse_csc_tensor(torch.tensor([0, 1, 2]), outside, values, (4, 2), check_invariants=False),
    )
    for name, tensor in tensors.items():
        torch.save(OrderedDict(weight=tensor), path := t.path())
        done = t.tool("bridge", path, t.path(), "values")
        t.suite.check(name, done.code == 3 and "tensor 'weight'" in done.err, done)


GROUPS = [round_trips, as_torch_saves, values_only, lying_indices, big_endian, damage, no_values]
