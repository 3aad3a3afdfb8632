"""Strict equality of two loaded checkpoints: types, key order, identity, bits.

    assert not differences(torch.load(a), torch.load(b))

Two graphs are equal where a walk over both sees the same at every step, and each object (tensor, storage, list, dict …)
of the one always meets the same object of the other: what was shared stays shared, and nothing else is.
"""

import collections
import struct
import types
import weakref

import numpy
import torch

ATOMS = (
    int,
    str,
    bytes,
    bool,
    type(None),
    type(Ellipsis),
    type(NotImplemented),
    type,
    types.FunctionType,
    types.BuiltinFunctionType,
    range,
    slice,
    torch.dtype,
    torch.device,
    torch.layout,
    torch.memory_format,
    torch.qscheme,
)
CAP = 10


class Comparer:
    def __init__(self):
        self.found = []
        self.forward, self.backward = {}, {}
        self.storages = {}, {}
        self.alive = []  # an id stands for an object only while that lives
        self.todo = []

    def note(self, path, what):
        if len(self.found) < CAP:
            self.found.append(f"{path or 'root'}: {what}")

    def same(self, path, what, a, b):
        if a != b:
            self.note(path, f"{what}: {a!r:.200} became {b!r:.200}")
            return False
        return True

    def run(self, a, b):
        self.todo.append(("", a, b))
        while self.todo and len(self.found) < CAP:
            self.visit(*self.todo.pop())
        return self.found

    def push(self, path, pairs):
        self.todo += [(f"{path}{name}", x, y) for name, x, y in pairs]

    def visit(self, path, a, b):
        if type(a) is not type(b):
            return self.note(path, f"type {type(a)} became {type(b)}")
        if type(a) in (float, complex):
            pack = (
                (lambda v: struct.pack("<d", v)) if type(a) is float else (lambda v: struct.pack("<2d", v.real, v.imag))
            )
            return self.same(path, "bits", pack(a).hex(), pack(b).hex())
        if isinstance(a, ATOMS) and type(a).__module__ != "specimens":
            return self.same(path, "value", a, b)
        if self.forward.setdefault(id(a), id(b)) != id(b) or self.backward.setdefault(id(b), id(a)) != id(a):
            return self.note(path, f"sharing of a {type(a).__name__} differs")
        if any(x is a for x in self.alive_of(a)):
            return None
        self.alive_of(a).append(a)
        self.alive.append((a, b))
        self.inside(path, a, b)

    def alive_of(self, a):
        self.seen = getattr(self, "seen", collections.defaultdict(list))
        return self.seen[id(a)]

    def inside(self, path, a, b):
        if isinstance(a, torch.Tensor):
            self.tensor(path, a, b)
        elif isinstance(a, (torch.UntypedStorage, torch.TypedStorage)):
            self.storage(path, a, b)
            if isinstance(a, torch.TypedStorage):
                self.same(path, "dtype", a.dtype, b.dtype)
            return
        elif isinstance(a, numpy.ndarray):
            self.array(path, a, b)
        elif isinstance(a, numpy.generic):
            self.same(path, "numpy dtype", a.dtype.str, b.dtype.str)
            self.same(path, "bytes", a.tobytes(), b.tobytes())
            return
        elif isinstance(a, dict):
            if self.same(path, "keys", [repr(k) for k in a], [repr(k) for k in b]):
                self.push(path, ((".key", x, y) for x, y in zip(a, b)))
                self.push(path, ((f".{k}", x, y) for k, x, y in zip(a, a.values(), b.values())))
            if isinstance(a, collections.defaultdict):
                self.push(path, [(".default_factory", a.default_factory, b.default_factory)])
        elif isinstance(a, (list, tuple, collections.deque)):
            if self.same(path, "length", len(a), len(b)):
                self.push(path, ((f".{i}", x, y) for i, (x, y) in enumerate(zip(a, b))))
            if isinstance(a, collections.deque):
                self.same(path, "maxlen", a.maxlen, b.maxlen)
        elif isinstance(a, (set, frozenset)):
            key = lambda v: (type(v).__name__, repr(v))  # noqa: E731
            if self.same(path, "members", sorted(map(key, a)), sorted(map(key, b))):
                self.push(path, (("{}", x, y) for x, y in zip(sorted(a, key=key), sorted(b, key=key))))
        elif isinstance(a, weakref.ref):
            return self.push(path, [("()", a(), b())])
        elif isinstance(a, bytearray):
            self.same(path, "value", a, b)
        elif not hasattr(a, "__dict__") and not slots(a):
            self.same(path, "value", a, b)
        self.attributes(path, a, b)

    def attributes(self, path, a, b):
        mine, theirs = getattr(a, "__dict__", {}), getattr(b, "__dict__", {})
        if self.same(path, "attributes", list(mine), list(theirs)):
            self.push(path, ((f".{k}", x, theirs[k]) for k, x in mine.items()))
        for name in slots(a):
            if self.same(path, f"has {name}", hasattr(a, name), hasattr(b, name)) and hasattr(a, name):
                self.push(path, [(f".{name}", getattr(a, name), getattr(b, name))])

    def tensor(self, path, a, b):
        if a.is_nested and b.is_nested:
            return self.push(path, [(".unbind()", list(a.unbind()), list(b.unbind()))])
        for what in ("dtype", "layout", "device", "shape", "requires_grad", "is_leaf", "is_quantized", "is_nested"):
            if not self.same(path, what, getattr(a, what), getattr(b, what)):
                return
        self.same(path, "conj", a.is_conj(), b.is_conj())
        self.same(path, "neg", a.is_neg(), b.is_neg())
        with torch.no_grad():
            for name, parts in tensor_parts(a).items():
                self.push(path, [(f".{name}()", parts, tensor_parts(b)[name])])
        if a.layout is not torch.strided:
            if a.layout is torch.sparse_coo:
                self.same(path, "coalesced", a.is_coalesced(), b.is_coalesced())
            return
        self.same(path, "stride", a.stride(), b.stride())
        self.same(path, "storage_offset", a.storage_offset(), b.storage_offset())
        if a.device.type != "meta":
            self.storage(path, a, b)

    def storage(self, path, a, b):
        if isinstance(a, torch.UntypedStorage):
            mine, theirs = a, b
        elif isinstance(a, torch.TypedStorage):
            mine, theirs = a._untyped_storage, b._untyped_storage
        else:
            mine, theirs = a.untyped_storage(), b.untyped_storage()
        self.alive.append((mine, theirs))
        there, back = self.storages
        known = mine._cdata in there
        if (
            there.setdefault(mine._cdata, theirs._cdata) != theirs._cdata
            or back.setdefault(theirs._cdata, mine._cdata) != mine._cdata
        ):
            self.note(path, "sharing of a storage differs")
        if known or not self.same(path, "storage bytes", mine.nbytes(), theirs.nbytes()):
            return
        if raw(mine) != raw(theirs):
            self.note(path, "bits of its storage differ")

    def array(self, path, a, b):
        if not (
            self.same(path, "dtype", (a.dtype.str, a.dtype), (b.dtype.str, b.dtype))
            and self.same(path, "shape", a.shape, b.shape)
        ):
            return
        self.same(path, "strides", a.strides, b.strides)
        if a.dtype.hasobject:
            self.push(path, ((f".{i}", x, y) for i, (x, y) in enumerate(zip(a.flat, b.flat))))
        else:
            self.same(path, "bytes", a.tobytes(), b.tobytes())


def slots(a):
    names = []
    for kind in type(a).__mro__:
        own = kind.__dict__.get("__slots__", ())
        names += [own] if isinstance(own, str) else list(own)
    return [n for n in names if n not in ("__dict__", "__weakref__")]


def tensor_parts(t):
    """What a tensor is made of beside one strided storage."""
    if t.layout is torch.sparse_coo:
        return {"indices": t._indices(), "values": t._values()}
    if t.layout in (torch.sparse_csr, torch.sparse_bsr):
        return {"crow_indices": t.crow_indices(), "col_indices": t.col_indices(), "values": t.values()}
    if t.layout in (torch.sparse_csc, torch.sparse_bsc):
        return {"ccol_indices": t.ccol_indices(), "row_indices": t.row_indices(), "values": t.values()}
    if t.is_quantized:
        if t.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
            return {"quantiser": [str(t.qscheme()), t.q_scale(), t.q_zero_point()]}
        return {
            "quantiser": [str(t.qscheme()), t.q_per_channel_axis()],
            "scales": t.q_per_channel_scales(),
            "zero_points": t.q_per_channel_zero_points(),
        }
    return {}


def tensor_bytes(t):
    """Of its elements, in the order of its shape."""
    t = t.detach().resolve_conj().resolve_neg().contiguous()
    return bytes(t.reshape(-1).view(torch.uint8).numpy()) if t.numel() else b""


def same_bytes(a, b):
    """Two dense tensors of one dtype and shape, bit by bit."""
    return a.dtype == b.dtype and a.shape == b.shape and tensor_bytes(a) == tensor_bytes(b)


def raw(storage):
    return bytes(torch.empty(0, dtype=torch.uint8).set_(storage).numpy()) if storage.nbytes() else b""


def differences(a, b):
    """What differs, at most ten lines; empty where the two are equal."""
    return Comparer().run(a, b)
