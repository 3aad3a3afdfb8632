"""What PyTorch writes: zip, legacy, TorchScript, tar, the metadata of distributed checkpoints, and what scan must find."""

import io
import pickle
import struct
import tarfile
import tempfile
import zipfile
from pathlib import Path

import dcp_attacks as dcp
import forge
import scan_attacks
from torch_objects import hooks, rebuilt, torch_objects
from torchfile import Global, Pickler, Storage, Tensor, pickled, save_legacy, save_zip, state_dict, weights

DATA = Path(__file__).resolve().parents[2] / "tests" / "data"
LARGEST = 6000  # bytes of a file to start from


def as_bytes(save, obj, **options):
    with tempfile.TemporaryDirectory() as folder:
        return save(Path(folder) / "a.pt", obj, **options).read_bytes()


def legacy_views():
    """A storage that is named through a view of it, as torch 0.x wrote tensors that share one."""
    body = (b"\x80\x02(X\x01\0\0\0actorch._utils\n_rebuild_tensor\n((X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0kX\x03\0\0\0cpuK\x04"
            b"(X\x01\0\0\0vK\x01K\x02ttQK\0K\x02\x85K\x01\x85tRd.")
    heads = b"".join(pickle.dumps(head, 2) for head in (0x1950A86A20F9469CFC6C, 1001, {"protocol_version": 1001, "little_endian": True}))
    return heads + body + pickle.dumps(["k"], 2) + struct.pack("<q4f", 4, 1, 2, 3, 4)


def zips():
    for name, obj in torch_objects():
        yield name, as_bytes(save_zip, obj)
    parallel = state_dict(weights("module.", "cuda:0"), ["", "module"])
    for protocol in (0, 1, 3, 4, 5):
        yield f"protocol{protocol}", as_bytes(save_zip, parallel, protocol=protocol)
    yield "deflated", as_bytes(save_zip, parallel, compression=zipfile.ZIP_DEFLATED)
    yield "big_endian", as_bytes(save_zip, parallel, order="big")
    yield "extra", as_bytes(save_zip, parallel, extra=[("extra/note.txt", b"hello"), ("extra/empty", b"")])
    yield "unaligned", as_bytes(save_zip, parallel, extra=[(".storage_alignment", None), ("byteorder", None)])
    yield "torchscript", as_bytes(save_zip, parallel, extra=[("constants.pkl", b"\x80\x02).")])
    yield "outside", as_bytes(save_zip, {"a": Tensor([4], storage=Storage(4), offset=2)})
    yield "short", as_bytes(save_zip, {"a": Tensor([4], storage=Storage(4, record=b"\0" * 12))})
    for fixture in DATA.glob("*.pt"):  # written by torch itself
        if fixture.stat().st_size <= LARGEST:
            yield fixture.stem, fixture.read_bytes()


def odd_zips():
    """Containers that are no checkpoint: ZIP64, descriptors, comments, no checksums."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        with archive.open("a/one", "w", force_zip64=True) as member:
            member.write(b"content")
        archive.writestr("a/two", b"x" * 300, zipfile.ZIP_DEFLATED)
        archive.comment = b"a comment"
    yield "zip64", out.getvalue()

    class NoSeek(io.RawIOBase):
        """zipfile writes descriptors after the data where it cannot go back."""

        def __init__(self):
            self.bytes = b""

        def writable(self):
            return True

        def write(self, data):
            self.bytes += bytes(data)
            return len(data)

    stream = NoSeek()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a/data.pkl", b"N.")
        archive.writestr("a/version", b"3\n", zipfile.ZIP_DEFLATED)
    yield "descriptors", stream.bytes
    empty = io.BytesIO()
    zipfile.ZipFile(empty, "w").close()
    yield "empty", empty.getvalue()
    yield "no_checksums", without_checksums(stream.bytes)


def without_checksums(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            data = data.replace(struct.pack("<I", info.CRC), bytes(4))
    return data


def legacies():
    for name, obj in torch_objects():
        yield name, as_bytes(save_legacy, obj)
    for protocol in (0, 1, 3, 4, 5):
        yield f"protocol{protocol}", as_bytes(save_legacy, state_dict(weights()), protocol=protocol)
    yield "views", legacy_views()


def scripts():
    """TorchScript archives, the pickles and model.json alone, and code."""
    code = b'class Net(Module):\n  __parameters__ = ["w", ]\n  __buffers__ = ["b", ]\n  w : Tensor\n'

    def storage(key, place=b"X\x03\0\0\0cpu"):
        return b"(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0" + key + place + b"K\x04tQ"

    def tensor(key, place=b"X\x03\0\0\0cpu"):
        return b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage(key, place) + b"K\0(K\x04t(K\x01t\x89ccollections\nOrderedDict\n)RtR"

    def module(*pairs):
        return b"c__torch__\nNet\n)\x81}(" + b"".join(b"X\x01\0\0\0" + k + v for k, v in pairs) + b"ub"

    data = {
        "plain": b"\x80\x02" + module((b"w", tensor(b"0"))) + b".",
        "memo": b"\x80\x02" + module((b"w", tensor(b"0", b"X\x06\0\0\0cuda:0q\x05")), (b"b", tensor(b"0", b"h\x05")), (b"d", b"h\x05")) + b".",
        "nested": b"\x80\x02" + module((b"m", module((b"w", tensor(b"0")))), (b"n", b"N")) + b".",
    }
    entry = '{"dims":["4"],"offset":"0","strides":["1"],"dataType":"FLOAT","data":{"key":"tensors/0"},"device":"cpu"}'
    model = ('{"mainModule":{"name":"net","parameters":[{"tensorId":"0","name":"w"}],"submodules":[{"name":"s","attributes":'
             '[{"name":"a","id":"0"}]}]},"tensors":[' + entry + "," + entry + "]}").encode()
    yield from data.items()
    yield from (("model", model), ("code", code))
    for name, pickle_ in data.items():
        for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            target = io.BytesIO()
            with zipfile.ZipFile(target, "w", compression) as z:
                members = {"data/0": bytes(16), "data.pkl": pickle_, "code/__torch__.py": code, "constants/0": bytes(16),
                           "constants.pkl": b"\x80\x02" + tensor(b"0") + b"\x85.", "bytecode.pkl": b"\x80\x02K\x08" + tensor(b"0") + b"\x86.",
                           "version": b"3\n"}
                for member, content in members.items():
                    z.writestr(f"r/{member}", content)
            yield f"{name}{compression}.zip", target.getvalue()
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as z:
        attributes = b"\x80\x02ctorch.jit._pickle\nbuild_tensor_from_id\nK\x01\x85R\x85."
        for member, content in {"version": b"1\n", "attributes.pkl": attributes, "tensors/0": bytes(16), "model.json": model}.items():
            z.writestr(f"r/{member}", content)
    yield "model.zip", target.getvalue()


def tar_file(members, form):
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=form) as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return target.getvalue()[:LARGEST]


def record(*values):
    """Of a tar's member."""
    return pickled(values)[0]


class TarPickler(Pickler):
    """Of PyTorch 0.1: tensors and storages are numbers of records in other members."""

    def __init__(self, file, protocol=2):
        super().__init__(file, protocol)
        self.tensors = {}

    def number(self, obj):
        records = self.tensors if isinstance(obj, Tensor) else self.storages
        known = next((key for key, record in records.items() if record is obj), None)
        if known is None:
            known = str(1 + len(self.tensors) + len(self.storages))
            records[known] = obj
        return known

    def persistent_id(self, obj):
        if isinstance(obj, Storage):
            obj.key = self.number(obj)
            return obj.key
        if isinstance(obj, Tensor) and not obj.parameter:
            self.persistent_id(obj.storage)
            return self.number(obj)
        return None


def tar_members(obj):
    """What PyTorch 0.1 would write of an object."""
    out = io.BytesIO()
    writer = TarPickler(out)
    writer.dump(obj)

    storages, tensors = pickled(len(writer.storages))[0], pickled(len(writer.tensors))[0]
    for key, storage in writer.storages.items():
        storages += record(int(key), storage.device, storage.global_) + struct.pack("<q", storage.elements) + storage.bytes()
    for key, tensor in writer.tensors.items():
        kind = Global(tensor.storage.global_.module, tensor.storage.global_.__name__.replace("Storage", "Tensor"))
        places = (len(tensor.shape), *tensor.shape, *tensor.stride, tensor.offset)
        tensors += record(int(key), int(tensor.storage.key), kind) + struct.pack(f"<{len(places)}q", *places)
    return [("pickle", out.getvalue()), ("tensors", tensors), ("storages", storages + pickled([])[0])]


def tars():
    """PyTorch 0.1's files, and archives around later ones, in each of tar's own formats."""

    class Key:
        def __init__(self, value):
            self.value = value

    class Ids(Pickler):
        def persistent_id(self, obj):
            return obj.value if isinstance(obj, Key) else None

    floats = struct.pack("<4f", 0, 1, 2, 3)
    kind, tensor = Global("torch", "FloatStorage"), Global("torch", "FloatTensor")
    storages = pickled(1)[0] + record(1, "cuda:0", kind) + struct.pack("<q", 4) + floats + pickled([(5, 1, 1, 2)])[0]
    tensors = pickled(2)[0] + record(7, 1, tensor) + struct.pack("<6q", 2, 2, 2, 2, 1, 0)
    tensors += record(8, 5, tensor) + struct.pack("<4q", 1, 2, 1, 0)
    graph = state_dict({"w": Key("7"), "v": Key("8"), "s": Key("1"), "again": Key("7")})
    module = Key((Global("zoo", "Net"), "zoo.py", "class Net: pass"))
    plain_id = ("storage", kind, "1", "cpu", 4)
    other = state_dict({"w": rebuilt("_rebuild_tensor_v2", plain_id, 0, (4,), (1,), False, hooks())})
    system = ("sys_info", pickled({"protocol_version": 1000})[0])
    for name, form in (("ustar", tarfile.USTAR_FORMAT), ("gnu", tarfile.GNU_FORMAT), ("pax", tarfile.PAX_FORMAT)):
        for title, obj in (("weights", graph), ("module", [module, Key("7")])):
            members = [system, ("pickle", pickled(obj, 2, Ids)[0]), ("tensors", tensors), ("storages", storages)]
            yield f"torch-{title}-{name}", tar_file(members, form)
        yield f"other-{name}", tar_file([system, ("pickle", pickled(other)[0]), ("storages", storages)], form)
        plain = as_bytes(save_zip, state_dict(weights()))
        yield f"around-{name}", tar_file([("config.json", b"{}"), ("f/" * 90 + "weights.pt", plain)], form)
    for name, obj in torch_objects():
        yield f"torch-{name}", tar_file([system, *tar_members(obj)], tarfile.USTAR_FORMAT)


def distributed():
    """`.metadata` beside the items of targets/dcp.cpp: each file has 2 rows of 4 floats and the number 7, in 2,048 bytes each."""

    def tensor(shape, chunks):
        return dcp.described(shape, [dcp.chunk(offsets, (2, 4)) for offsets in chunks])

    def places(*chunks):
        return [(dcp.index("w", *at), dcp.place(f"__{i}_0.distcp", 0, 2048)) for i, at in enumerate(chunks)]

    value = (dcp.index("v"), dcp.place("__0_0.distcp", 2048, 2048))
    paths = forge.mapping(("w", forge.many(forge.text("m"), forge.text("l"), forge.number(1))), ("v", forge.many(forge.text("m"), forge.text("v"))))
    rows, columns = [(0, 0), (2, 0)], [(0, 4), (0, 0)]
    yield "one", dcp.metadata([("w", tensor((2, 4), [(0, 0)]))], places((0, 0)))
    yield "rows", dcp.metadata([("w", tensor((4, 4), rows))], places(*rows))
    yield "columns", dcp.metadata([("w", tensor((2, 8), columns))], places(*columns))
    yield "value", dcp.metadata([("v", dcp.BYTES)], [value])
    yield "nested", dcp.metadata([("w", tensor((4, 4), rows)), ("v", dcp.BYTES)], [*places(*rows), value], paths)
    for attack in dcp.attacks():
        if isinstance(attack.data, dict) and ".metadata" in attack.data:
            yield attack.name, attack.data[".metadata"]


def hidden():
    """What scan must find; of the attacks that repeat a thing by the thousand, none."""
    for group in scan_attacks.GROUPS:
        if group is not scan_attacks.bombs:
            yield from ((attack.name, attack.data) for attack in group() if isinstance(attack.data, bytes))
