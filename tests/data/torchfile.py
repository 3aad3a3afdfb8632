"""A small writer of PyTorch files in plain Python: what torch would write, and what it never would.

    save_zip(path, {"weight": Tensor([2, 3])})           # torch.save's zip
    save_legacy(path, OrderedDict(weight=Tensor([4])))   # torch.save before 1.6

A Tensor's numbers count up from its storage's key, so that no two storages hold the same bytes.
"""

import io
import pickle
import struct
import zipfile
from collections import OrderedDict
from math import prod

TYPES = {
    "Float": ("f", 4),
    "Double": ("d", 8),
    "Long": ("q", 8),
    "Int": ("i", 4),
    "Short": ("h", 2),
    "Char": ("b", 1),
    "Byte": ("B", 1),
    "Bool": ("?", 1),
}
MAGIC, LEGACY_PROTOCOL = 0x1950A86A20F9469CFC6C, 1001


class Global:
    """A name that the pickle imports. Nothing here ever resolves it."""

    def __init__(self, module, name):
        self.module, self.__name__ = module, name

    def __call__(self):
        raise TypeError("only written, never called")


class Call:
    """callable(*args), then BUILD with `state` and SETITEMS with `items`."""

    def __init__(self, module, name, *args, state=None, items=None, new=False):
        self.callable, self.args, self.state, self.items, self.new = Global(module, name), args, state, items, new


class Storage:
    """`elements` numbers; `record` overrides the bytes that the file holds for it."""

    def __init__(self, elements, kind="Float", device="cpu", record=None):
        self.elements, self.kind, self.device, self.record = elements, kind, device, record
        self.key = None
        self.global_ = Global("torch", f"{kind}Storage")

    def bytes(self, order="<"):
        if self.record is not None:
            return self.record
        code, _ = TYPES[self.kind]
        start = int(self.key) if self.key.isdigit() else 0
        numbers = ((start * 7 + i) % 100 for i in range(self.elements))
        return struct.pack(f"{order}{self.elements}{code}", *numbers)


class Tensor:
    """A tensor of its own, or a view of a storage that others use too."""

    def __init__(self, shape, kind="Float", device="cpu", storage=None, stride=None, offset=0, parameter=False):
        if stride is None:
            stride = [prod(shape[i + 1 :]) for i in range(len(shape))]
        self.shape, self.stride, self.offset = tuple(shape), tuple(stride), offset
        self.storage = storage or Storage(prod(shape), kind, device)
        self.parameter = parameter


class Pickler(pickle._Pickler):
    """Python's own pickler, taught the classes above."""

    def __init__(self, file, protocol=2):
        super().__init__(file, protocol)
        self.storages = OrderedDict()
        self.globals = {}

    def persistent_id(self, obj):
        if not isinstance(obj, Storage):
            return None
        if obj.key is None:
            obj.key = str(len(self.storages))
        self.storages[obj.key] = obj
        return self.persistent_tuple(obj)

    def persistent_tuple(self, obj):
        return ("storage", obj.global_, obj.key, obj.device, obj.elements)

    def save_pers(self, pid):
        """torch needs a tuple, whatever the protocol: protocol 0's own PERSID could hold only its text."""
        if self.bin:
            super().save_pers(pid)
        else:
            self.save(pid, save_persistent_id=False)
            self.write(pickle.BINPERSID)

    def save_global_(self, obj):
        known = self.globals.setdefault((obj.module, obj.__name__), obj)
        if known is not obj and id(known) in self.memo:
            self.write(self.get(self.memo[id(known)][0]))
            return
        if self.proto >= 4:
            self.save(obj.module)
            self.save(obj.__name__)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(b"c" + obj.module.encode() + b"\n" + obj.__name__.encode() + b"\n")
        self.memoize(obj)

    def save_call(self, obj):
        self.save(obj.callable)
        self.save(obj.args)
        self.write(pickle.NEWOBJ if obj.new else pickle.REDUCE)
        self.memoize(obj)
        if obj.items is not None:
            self._batch_setitems(iter(obj.items))
        if obj.state is not None:
            self.save(obj.state)
            self.write(pickle.BUILD)

    def save_tensor(self, obj):
        hooks = Call("collections", "OrderedDict")
        inner = Call("torch._utils", "_rebuild_tensor_v2", obj.storage, obj.offset, obj.shape, obj.stride, False, hooks)
        if obj.parameter:
            inner = Call("torch._utils", "_rebuild_parameter", inner, True, Call("collections", "OrderedDict"))
        self.save_call(inner)
        self.memo[id(obj)] = self.memo[id(inner)][0], obj

    dispatch = dict(pickle._Pickler.dispatch)
    dispatch[Global] = save_global_
    dispatch[Call] = save_call
    dispatch[Tensor] = save_tensor


def state_dict(tensors, metadata=None):
    """An OrderedDict as Module.state_dict() makes it, `_metadata` included."""
    state = None
    if metadata is not None:
        state = {"_metadata": OrderedDict((name, {"version": 1}) for name in metadata)}
    return Call("collections", "OrderedDict", items=list(tensors.items()), state=state)


def weights(prefix="", device="cpu"):
    """The tensors of a Linear(3, 2) named fc."""
    return {f"{prefix}fc.weight": Tensor([2, 3], device=device), f"{prefix}fc.bias": Tensor([2], device=device)}


def pickled(obj, protocol=2, pickler=Pickler):
    out = io.BytesIO()
    writer = pickler(out, protocol)
    writer.dump(obj)
    return out.getvalue(), writer.storages


def save_zip(path, obj, protocol=2, root=None, order="little", compression=zipfile.ZIP_STORED, extra=()):
    """`extra`: further members, as (name below the root, bytes); None for bytes leaves the member of that name out."""
    data, storages = pickled(obj, protocol)
    sign = "<" if order == "little" else ">"
    members = [
        ("data.pkl", data),
        (".format_version", b"1"),
        (".storage_alignment", b"64"),
        ("byteorder", order.encode()),
    ]
    members += [(f"data/{key}", storage.bytes(sign)) for key, storage in storages.items()]
    members += [("version", b"3\n"), (".data/serialization_id", b"0" * 40)]
    left_out = {name for name, content in extra if content is None}
    members = [m for m in members if m[0] not in left_out] + [m for m in extra if m[1] is not None]
    root = root or path.name.split(".")[0]
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members:
            info = zipfile.ZipInfo(f"{root}/{name}", date_time=(1980, 1, 1, 0, 0, 0))
            info.compress_type = compression
            full = len(f"{root}/{name}")
            gap = -(archive.fp.tell() + 30 + full + 4) % 64
            if name.startswith("data/") and compression == zipfile.ZIP_STORED:
                info.extra = struct.pack("<2sH", b"FB", gap) + b"Z" * gap
            archive.writestr(info, content)
    return path


def save_legacy(path, obj, protocol=2):
    out = io.BytesIO()
    for head in (
        MAGIC,
        LEGACY_PROTOCOL,
        {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}},
    ):
        pickle.dump(head, out, protocol)

    class Legacy(Pickler):
        def persistent_tuple(self, obj):
            return ("storage", obj.global_, obj.key, obj.device, obj.elements, None)

    data, storages = pickled(obj, protocol, Legacy)
    out.write(data)
    pickle.dump(list(storages), out, protocol)
    for storage in storages.values():
        out.write(struct.pack("<q", storage.elements) + storage.bytes())
    path.write_bytes(out.getvalue())
    return path
