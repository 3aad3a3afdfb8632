#!/usr/bin/env python3
"""Makes the files that fuzzing starts from, by plain Python (no torch): small, and of many shapes.

    python3 fuzz/seeds.py FOLDER        # a folder a target: FOLDER/pickle, FOLDER/torch_zip, …

Nothing here is ever unpickled.
"""

import gzip
import io
import json
import math
import pickle
import random
import struct
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections import OrderedDict
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests" / "data"), str(HERE.parent / "tests" / "bad")]

import dcp_attacks as dcp  # noqa: E402
import forge  # noqa: E402
import scan_attacks  # noqa: E402

from torchfile import Call, Global, Pickler, Storage, Tensor, pickled, save_legacy, save_zip, state_dict  # noqa: E402

# How many commands targets/program.cpp knows: the first byte of its input chooses one.
COMMANDS = 16
LARGEST = 6000


def every_opcode():
    """Each opcode in the shortest pickle that takes it, and the orders of changes and calls that are hard to keep."""
    literals = [b"N", b"I5\n", b"I01\n", b"I00\n", b"I007\n", b"L-99999999999999999999L\n", b"F1.5\n", b"Fnan\n", b"K\x01", b"M\x01\x00",
                b"J\xff\xff\xff\xff", b"G\x3f\xf8\0\0\0\0\0\0", b"S'x\\n'\n", b"Vx\\u20ac\n", b"U\x01x", b"T\x01\0\0\0x", b"X\x01\0\0\0x",
                b"\x8c\x01x", b"\x8d\x01" + bytes(7) + b"x", b"C\x01x", b"B\x01\0\0\0x", b"\x8e\x01" + bytes(7) + b"x",
                b"\x96\x01" + bytes(7) + b"x", b"\x88", b"\x89", b"\x8a\x01\x01", b"\x8a\x00", b"\x8b\x01\0\0\0\x01", b"cm\nO\n",
                b"\x8c\x01m\x8c\x01O\x93", b"\x82\x01", b"\x83\x01\x00", b"\x84\x01\0\0\0", b"Pid\n", b"K\x01Q"]
    containers = [b"]", b")", b"}", b"(l", b"(t", b"(d", b"\x8f", b"(\x91", b"(K\x01l", b"(K\x01K\x02d", b"K\x01\x85", b"K\x01K\x02\x86",
                  b"K\x01K\x02K\x03\x87", b"(K\x01\x91", b"]K\x01a", b"](K\x01K\x02e", b"}K\x01K\x02s", b"}(K\x01K\x02u", b"\x8f(K\x01\x90",
                  b"cm\nO\n)R", b"cm\nO\n)\x81", b"cm\nO\n)}\x92", b"(K\x01im\nO\n", b"(cm\nO\nK\x01o", b"cm\nO\n)RK\x01b"]
    orders = [b"]q\0h\0a", b"}q\0K\x01h\0s", b"]q\0h\0\x85q\x01a0h\x01", b"(]q\0(h\0tq\x01a1h\x01", b"cm\nO\n)\x81q\0}K\x01h\0sb",
              b"]q\0cm\nO\nh\0\x85Rh\0K\x01a0\x86", b"]q\0cm\nO\nh\0\x85q\x01Rh\0K\x01a0cm\nP\nh\x01R\x87",
              b"\x8fq\0(K\x01\x90cm\nO\nh\0\x85Rh\0(K\x02\x900\x86", b"]q\0cm\nO\nh\0\x85Rq\x01ah\x010", b"cm\nO\n)R0N", b"K\x01](K\x021",
              b"]2a", b"cm\nO\n)R2\x86", b"(]p0\np7\ng0\ng7\nt", b"]\x94(K\x01\x94h\x00h\x01e", b"(0N", b"cm\nO\nq\0)Rh\0}b\x86",
              b"\x8f\x94(\x8c\x01m\x94\x8c\x01O\x94\x93\x94)\x81\x94}\x94K\x01h\0sb\x90", b"\x95\x02" + bytes(7) + b"N0N",
              b"]r\0\x01\0\0j\0\x01\0\0a", b"ccollections\nOrderedDict\n)Rq\0K\x01]s}X\x09\0\0\0_metadata}sb"]
    for body in literals + containers + orders:
        yield body + b"."
        yield b"\x80\x02" + body + b"."
    yield from (b"\x80\x04" + b"(" + b"".join(literals) + b"t.", b"(" + b"".join(containers) + b"l.")


class Text(str):
    pass


def ordinary_objects():
    """What the standard pickler makes of Python's own values."""
    shared = [1, "a"]
    cycle = []
    cycle.append(cycle)
    yield {"a": [1, 2.5, None, True], "b": (1, (2, ())), "n": 2**70, "m": -(2**31), "s": {1, 2}, "f": frozenset("x"), "y": b"\0\xff"}
    yield [shared, shared, {"again": shared}, "é\n", "\U0001f600", bytearray(b"ab"), -1, 255, 256, 65536]
    yield cycle
    yield OrderedDict([("x", 1), ("y", OrderedDict())])


def layout(name):
    return Call("torch.serialization", "_get_layout", f"torch.{name}")


def typed(elements, kind, like, device="cpu"):
    """A storage of a class that torchfile has no numbers for; `like` has the same size."""
    storage = Storage(elements, like, device)
    storage.global_ = Global("torch", f"{kind}Storage")
    return storage


def rebuilt(name, *args):
    return Call("torch._utils", name, *args)


def hooks():
    return Call("collections", "OrderedDict")


def small_weights(prefix="", device="cpu"):
    return {f"{prefix}fc.weight": Tensor([2, 3], device=device), f"{prefix}fc.bias": Tensor([2], device=device)}


def module(name, parameters, buffers=(), children=()):
    """A whole module, as torch.save(model) pickles it."""
    state = {"_parameters": parameters, "_buffers": OrderedDict(buffers), "_modules": dict(children)}
    state["_non_persistent_buffers_set"] = Call("__builtin__", "set", ["away"])
    return Call(*name.rsplit(".", 1), state={**state, "_state_dict_hooks": OrderedDict()}, new=True)


def torch_objects():
    """Name and object, as torch.save is given them."""
    yield "weights", state_dict(small_weights(), ["", "fc"])
    yield "parallel", state_dict(small_weights("module.", "cuda:0"), ["", "module", "module.fc"])
    yield "bare", Tensor([2, 2])
    yield "scalar", Tensor([])
    yield "empty", Tensor([0, 3], storage=Storage(0))
    yield "none", None
    yield "listed", [Tensor([2]), {5: Tensor([1]), (1, 2): Tensor([1]), None: Tensor([1]), 1.5: Tensor([1])}]
    shared = Storage(6)
    yield "views", {"a": Tensor([2, 3], storage=shared), "t": Tensor([3, 2], storage=shared, stride=[1, 3]),
                    "tail": Tensor([2], storage=shared, offset=4), "wide": Tensor([4, 2], storage=shared, stride=[0, 1])}
    tied = Tensor([2])
    yield "tied", state_dict({"a": tied, "b": tied, "p": Tensor([2], parameter=True)})
    yield "kinds", {kind: Tensor([1], kind) for kind in ("Double", "Long", "Int", "Short", "Char", "Byte", "Bool")}
    yield "trainer", {
        "epoch": 3, "best": 0.5, "state_dict": state_dict(small_weights("module.", "cuda:1"), ["", "module"]),
        "optimizer": {"state": {0: {"step": Tensor([]), "exp_avg": Tensor([2])}}, "param_groups": [{"lr": 0.1, "params": [0]}]},
        "args": Call("argparse", "Namespace", state={"device": "cuda:0", "seed": 2**70}, new=True),
    }
    yield "module", {"model": module("net.Net", {"w": Tensor([2], parameter=True), "none": None}, {"b": tied, "away": Tensor([1])}, {
        "fc": module("torch.nn.modules.linear.Linear", {"weight": tied}), "again": module("net.Net", {"weight": tied}), "gone": None,
    })}
    two, four = Tensor([2, 2], "Long"), Tensor([2])
    yield "sparse", rebuilt("_rebuild_sparse_tensor", layout("sparse_coo"), (two, four, (3, 3), True))
    yield "csr", rebuilt("_rebuild_sparse_csr_tensor", layout("sparse_csr"), (Tensor([3], "Long"), Tensor([2], "Long"), four, (2, 2)))
    yield "nested", rebuilt("_rebuild_nested_tensor", Tensor([4]), two, two, Tensor([2], "Long"))
    for count, kind, like in ((4, "QInt8", "Char"), (4, "QUInt8", "Byte"), (2, "QInt32", "Int"), (4, "QUInt4x2", "Byte")):
        scheme = (Global("torch", "per_tensor_affine"), 0.5, 3)
        yield kind, {"q": rebuilt("_rebuild_qtensor", typed(count, kind, like), 0, (count,), (1,), scheme, False, hooks())}
    channels = (Global("torch", "per_channel_affine"), Tensor([2], "Double"), Tensor([2], "Long"), 0)
    yield "channels", rebuilt("_rebuild_qtensor", typed(4, "QInt8", "Char"), 0, (2, 2), (2, 1), channels, False, hooks())
    for kind, like in (("Half", "Short"), ("BFloat16", "Short"), ("ComplexFloat", "Double")):
        yield kind, Tensor([2], storage=typed(2, kind, like))
    untyped = Storage(8, "Byte")
    untyped.global_ = Global("torch.storage", "UntypedStorage")
    yield "v3", rebuilt("_rebuild_tensor_v3", untyped, 0, (2,), (1,), False, hooks(), Global("torch", "float32"))
    yield "storage", untyped
    yield "conj", rebuilt("_rebuild_tensor_v2", typed(2, "ComplexFloat", "Double"), 0, (2,), (1,), False, hooks(), {"conj": True, "neg": True})
    yield "meta", {"m": rebuilt("_rebuild_meta_tensor_no_storage", Global("torch", "float32"), (2, 3), (3, 1), False)}
    yield "npu", rebuilt("_rebuild_device_tensor_from_cpu_tensor", Tensor([2]), Global("torch", "float32"), "npu:0", False)
    yield "subclass", rebuilt("_rebuild_wrapper_subclass", Global("m", "T"), Global("torch", "float32"), (2,), (1,), 0,
                              layout("strided"), Call("torch", "device", "cuda", 0), False)
    yield "from_type", Call("torch._tensor", "_rebuild_from_type_v2", Global("torch._utils", "_rebuild_tensor_v2"), Global("m", "T"),
                            (Storage(2), 0, (2,), (1,), False, hooks()), {"tag": 1})
    yield "old", {"w": Call("torch.cuda", "FloatTensor", state=(Storage(2, device="cuda:0"), 0, (2,), (1,)))}
    yield "extra", state_dict({"a": Tensor([1]), "a._extra_state": {"n": 1}, "none": None})
    yield "module", Call("mylab.nets", "Net", state={"_parameters": OrderedDict(w=Tensor([1], parameter=True)), "_modules": OrderedDict()}, new=True)
    yield "dangerous", {"w": Tensor([1]), "x": Call("posix", "system", "true")}
    yield "size", Call("torch", "Size", (2, 3))


def legacy_views():
    """A storage that is named through a view of it, as torch 0.x wrote tensors that share one."""
    body = (b"\x80\x02(X\x01\0\0\0actorch._utils\n_rebuild_tensor\n((X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0kX\x03\0\0\0cpuK\x04"
            b"(X\x01\0\0\0vK\x01K\x02ttQK\0K\x02\x85K\x01\x85tRd.")
    heads = b"".join(pickle.dumps(head, 2) for head in (0x1950A86A20F9469CFC6C, 1001, {"protocol_version": 1001, "little_endian": True}))
    return heads + body + pickle.dumps(["k"], 2) + struct.pack("<q4f", 4, 1, 2, 3, 4)


def as_bytes(save, obj, **options):
    with tempfile.TemporaryDirectory() as folder:
        return save(Path(folder) / "a.pt", obj, **options).read_bytes()


def zips():
    for name, obj in torch_objects():
        yield name, as_bytes(save_zip, obj)
    weights = state_dict(small_weights("module.", "cuda:0"), ["", "module"])
    for protocol in (0, 1, 3, 4, 5):
        yield f"protocol{protocol}", as_bytes(save_zip, weights, protocol=protocol)
    yield "deflated", as_bytes(save_zip, weights, compression=zipfile.ZIP_DEFLATED)
    yield "big_endian", as_bytes(save_zip, weights, order="big")
    yield "extra", as_bytes(save_zip, weights, extra=[("extra/note.txt", b"hello"), ("extra/empty", b"")])
    yield "unaligned", as_bytes(save_zip, weights, extra=[(".storage_alignment", None), ("byteorder", None)])
    yield "torchscript", as_bytes(save_zip, weights, extra=[("constants.pkl", b"\x80\x02).")])
    yield "outside", as_bytes(save_zip, {"a": Tensor([4], storage=Storage(4), offset=2)})
    yield "short", as_bytes(save_zip, {"a": Tensor([4], storage=Storage(4, record=b"\0" * 12))})
    for fixture in (HERE.parent / "tests" / "data").glob("*.pt"):  # written by torch itself
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
        yield f"protocol{protocol}", as_bytes(save_legacy, state_dict(small_weights()), protocol=protocol)
    yield "views", legacy_views()


def gzip_named(data):
    """A header with everything in it: extra field, name, comment, checksum of the header."""
    head = b"\x1f\x8b\x08\x1e" + bytes(4) + b"\x00\xff" + struct.pack("<H", 4) + b"ab\0\0" + b"name\0" + b"comment\0"
    body = zlib.compressobj(6, zlib.DEFLATED, -15)
    packed = body.compress(data) + body.flush()
    return head + struct.pack("<H", zlib.crc32(head) & 0xFFFF) + packed + struct.pack("<II", zlib.crc32(data), len(data))


def gzips():
    text = b"".join(b"%d " % i for i in range(400))
    for level in (0, 1, 6, 9):
        yield f"level{level}", gzip.compress(text, level, mtime=0)
    yield "empty", gzip.compress(b"", mtime=0)
    yield "members", gzip.compress(text[:700], mtime=0) + gzip.compress(b"", mtime=0) + gzip.compress(text[700:], mtime=0)
    yield "padded", gzip.compress(text, mtime=0) + bytes(100)
    yield "trailing", gzip.compress(text, mtime=0) + b"what is this?"
    yield "twice", gzip.compress(gzip.compress(text, mtime=0), mtime=0)
    yield "named", gzip_named(text)
    yield "long", gzip.compress(bytes(700_000) + text, mtime=0)
    parts = [text[:700], text[700:701], text[701:]]
    members = [forge.gzip_member(part) for part in parts]
    records = forge.gzip_records(members, map(len, parts))
    yield "index", b"".join(members) + forge.gzip_index(records)
    yield "index-of-two-as-one", b"".join(members) + forge.gzip_index(
        [(records[0][0] + records[1][0], len(parts[1]), zlib.crc32(members[0] + members[1])), records[2]])


def npy(descr, shape, data=b"", fortran=False, version=1):
    line = repr({"descr": descr, "fortran_order": fortran, "shape": shape}).encode() + b" \n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(line)) + line + data


def arrays():
    """numpy's files: each dtype and version, and zips of them."""
    items = struct.pack("<4f", 0, 1, 2, 3)
    codes = ["|b1", "|u1", "<u2", ">u4", "<u8", "|i1", ">i2", "<i4", ">i8", "<f2", ">f4", "<f8", ">c8", "<c16", "=f4", "f8"]
    singles = [(f"{code[-2:]}-{i}", npy(code, (16 // int(code.strip("<>|=")[1:]),), items)) for i, code in enumerate(codes)]
    singles += [(f"version{v}", npy("<f4", (2, 2), items, version=v)) for v in (1, 2, 3)]
    singles += [("fortran", npy("<f4", (2, 2), items, fortran=True)), ("scalar", npy("<f8", (), items[:8]))]
    singles += [("empty", npy("<f4", (0, 3))), ("objects", npy("|O", (1,), b"\x80\x04N.")), ("two", npy("|u1", (1,), b"a") * 2)]
    singles += [("records", npy([("x", "<f4"), ("y", "<i4")], (1,), items[:8])), ("cut", npy("<f4", (4,), items[:15]))]
    yield from singles
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w", compression) as z:
            for name, data in singles[:4] + [singles[19]]:
                z.writestr(f"{name}.npy", data)
            z.writestr("notes.txt", b"hello")
        yield f"zip{compression}", target.getvalue()


def safetensors(header, data=b""):
    header = header.encode()
    return struct.pack("<Q", len(header)) + header + data


def safetensors_files():
    """Each dtype, metadata, views, and indexes of shards."""
    bits = {"BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8}
    bits |= {"F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32}
    bits |= {"F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64}

    def info(dtype, shape, begin):
        size = math.prod(shape) * bits[dtype] // 8
        return {"dtype": dtype, "shape": shape, "data_offsets": [begin, begin + size]}

    data = bytes(range(64))
    for dtype in bits:
        size = 8 * bits[dtype] // 8
        yield dtype, safetensors(json.dumps({"w": info(dtype, [2, 4], 0)}), data[:size])
    two = {"w": info("F32", [2, 3], 0), "b é": info("U8", [], 24), "e": info("I64", [0, 3], 25)}
    yield "three", safetensors(json.dumps(two) + "  \n", data[:25])
    views = {"t": {"of": "w", "shape": [3, 2], "stride": [1, 3], "offset": 0}, "again": {"of": "w"}}
    views["row"] = {"of": "w", "shape": [2], "stride": [2], "offset": 3}
    for name, metadata in (
        ("metadata", {"format": "pt", "license": "w", "\u20ac": "\n\\"}),
        ("views", {"ckpt.views": json.dumps(views), "again": "w"}),
        ("removed", {"head.weight": "a.weight"}),
    ):
        header = {"__metadata__": metadata, "w": two["w"], "a.weight": info("F32", [1], 24)}
        yield name, safetensors(json.dumps(header), data[:28])
    yield "hole", safetensors(json.dumps({"w": info("U8", [4], 4)}), data[:8])
    yield "empty", safetensors("{}")
    index = {"metadata": {"total_size": 32}, "weight_map": {"a": "m-00001-of-00002.bin", "b": "m-00002-of-00002.bin"}}
    yield "index", json.dumps(index, indent=2).encode()
    yield "index-plain", json.dumps({"weight_map": {"a": "m.safetensors"}}).encode()
    yield "header", json.dumps(two).encode()


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
def ggufs():
    """GGUF: each type of tensor and of value, both byte orders, the three versions."""

    def text(value, order, word):
        return struct.pack(order + word, len(value)) + value

    for version, order, word in ((1, "<", "I"), (2, "<", "Q"), (3, "<", "Q"), (3, ">", "Q")):
        formats = ["B", "b", "H", "h", "I", "i", "f", "?", None, None, "Q", "q", "d"]
        values = [text(b"k%d" % i, order, word) + struct.pack(f"{order}I{f}", i, 1) for i, f in enumerate(formats) if f]
        values.append(text(b"text", order, word) + struct.pack(order + "I", 8) + text(b"hello", order, word))
        for kind, item in ((4, struct.pack(order + "I", 7)), (8, text(b"a", order, word))):
            array = struct.pack(f"{order}I{word}", kind, 20) + item * 20
            values.append(text(b"a%d" % kind, order, word) + struct.pack(order + "I", 9) + array)
        values.append(text(b"general.alignment", order, word) + struct.pack(order + "II", 4, 16))
        tensors, data = b"", b""
        kinds = [(0, 1, 4), (1, 1, 2), (2, 32, 18), (8, 32, 34), (12, 256, 144), (24, 1, 1), (28, 1, 8), (30, 1, 2)]
        for kind, block, size in kinds:
            tensors += text(b"t%d" % kind, order, word) + struct.pack(f"{order}I2{word}", 2, block, 2)
            tensors += struct.pack(order + "IQ", kind, len(data))
            data += bytes(range(2 * size % 251)) * (2 * size // (2 * size % 251))
            data += bytes(-len(data) % 16)
        head = b"GGUF" + struct.pack(f"{order}I2{word}", version, len(kinds), len(values)) + b"".join(values) + tensors
        yield f"gguf{version}{'le' if order == '<' else 'be'}", head + bytes(-len(head) % 16) + data
        none = b"GGUF" + struct.pack(f"{order}I2{word}", version, 0, 1) + values[0]
        yield f"gguf{version}{'le' if order == '<' else 'be'}-no-tensors", none


def packed(files):
    """Some of them in gzip, in one member or two."""
    for name, data in files:
        yield f"{name}.gz", gzip.compress(data, mtime=0)
        if name == "weights":
            yield f"{name}.members.gz", gzip.compress(data[:500], mtime=0) + gzip.compress(data[500:], 9, mtime=0)


def plain_pickles():
    """Arrays in each way to spell them, files in bytes, several pickles in one file."""
    floats = struct.pack("<4f", 0, 1, 2, 3)
    for protocol in range(6):
        for code, order, fortran in (("f4", "<", False), ("i2", ">", True), ("u8", "<", False), ("b1", "|", False), ("U1", "<", False)):
            state = (3, order, None, None, None, -1, -1, 0)
            dtype = Call("numpy", "dtype", code, False, True, state=state)
            count = 16 // int(code[1:])
            shape = (count // 2, 2) if count > 1 else (1,)
            made = Call("numpy._core.multiarray", "_reconstruct", Global("numpy", "ndarray"), (0,), b"b")
            made.state = (1, shape, dtype, fortran, floats)
            buffer = Call("numpy.core.numeric", "_frombuffer", floats, dtype, shape, "F" if fortran else "C")
            for name, value in (("array", made), ("buffer", buffer)):
                yield f"{name}-{code}.{protocol}", pickled({"w": value, "epoch": 3}, protocol)[0]
        scalar = Call("numpy.core.multiarray", "scalar", Call("numpy", "dtype", "f4", False, True), floats[:4])
        yield f"scalar.{protocol}", pickled([scalar], protocol)[0]
        for name, save in (("legacy", save_legacy), ("zip", save_zip)):
            nested = Call("torch.storage", "_load_from_bytes", as_bytes(save, Storage(4)))
            tensor = rebuilt("_rebuild_tensor_v2", nested, 0, (2, 2), (2, 1), False, hooks())
            whole = Call("torch.storage", "_load_from_bytes", as_bytes(save, state_dict(small_weights())))
            yield f"{name}.{protocol}", pickled({"w": tensor, "again": tensor, "s": nested}, protocol)[0]
            yield f"{name}-whole.{protocol}", pickled([whole], protocol)[0]
        yield f"two.{protocol}", pickle.dumps([1], protocol) + pickle.dumps({"a": "b"}, protocol)


def tar_file(members, form):
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=form) as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return target.getvalue()[:LARGEST]


def tars():
    """PyTorch 0.1's files, and archives around later ones, in each of tar's own formats."""

    class Key:
        def __init__(self, value):
            self.value = value

    class Ids(Pickler):
        def persistent_id(self, obj):
            return obj.value if isinstance(obj, Key) else None

    def record(*values):
        return pickled(values)[0]

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
        weights = as_bytes(save_zip, state_dict(small_weights()))
        yield f"around-{name}", tar_file([("config.json", b"{}"), ("f/" * 90 + "weights.pt", weights)], form)


def pickles():
    for i, code in enumerate(every_opcode()):
        yield f"opcode{i}", code
    for i, obj in enumerate(ordinary_objects()):
        for protocol in range(6):
            yield f"plain{i}.{protocol}", pickle.dumps(obj, protocol)
    for name, obj in torch_objects():
        for protocol in (0, 2, 4):
            yield f"{name}.{protocol}", pickled(obj, protocol)[0]


def pngs():
    """Every colour type and depth, plain and interlaced, of noise and of nothing."""
    depths = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
    adam7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    rng = random.Random(3)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    for colour, depth in ((colour, depth) for colour in depths for depth in depths[colour]):
        for interlaced, (width, height) in ((0, (9, 5)), (1, (5, 11)), (0, (300, 2))):
            rows = b""
            for x, y, dx, dy in adam7 if interlaced else [(0, 0, 1, 1)]:
                bits = len(range(x, width, dx)) * channels[colour] * depth
                for _ in range(y, height, dy) if bits else ():
                    rows += bytes([rng.randrange(5)]) + bytes(rng.randrange(256) for _ in range((bits + 7) // 8))
            header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
            extra = chunk(b"PLTE", bytes(range(30))) + chunk(b"tRNS", bytes(3)) if colour == 3 else b""
            yield (
                f"{colour}.{depth}.{width}",
                b"\x89PNG\r\n\x1a\n"
                + chunk(b"IHDR", header)
                + chunk(b"gAMA", struct.pack(">I", 45455))
                + extra
                + chunk(b"IDAT", zlib.compress(rows))
                + chunk(b"IEND", b""),
            )


def idx_files():
    """Of each number of dimensions, cut, too long, of another type, and in gzip."""
    for shape in ((7,), (2, 3), (3, 4, 5), (1, 2, 2, 2), (0, 28, 28)):
        elements = bytes(i % 256 for i in range(math.prod(shape)))
        whole = bytes([0, 0, 8, len(shape)]) + struct.pack(f">{len(shape)}I", *shape) + elements
        yield f"{len(shape)}", whole
        yield f"{len(shape)}.cut", whole[:-1]
        yield f"{len(shape)}.more", whole + b"x"
        yield f"{len(shape)}.gz", gzip.compress(whole, mtime=0)
    yield "floats", bytes([0, 0, 13, 1]) + struct.pack(">If", 1, 1.5)
    yield "huge", bytes([0, 0, 8, 3]) + struct.pack(">3I", *[0xFFFFFFFF] * 3)


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


def seeds():
    """Each target and its files, as (name, bytes)."""
    all_pickles, all_zips, all_legacies, all_gzips = list(pickles()), list(zips()), list(legacies()), list(gzips())
    all_arrays, all_safetensors, all_ggufs = list(arrays()), list(safetensors_files()), list(ggufs())
    all_scripts, all_plain, all_tars = list(scripts()), list(plain_pickles()), list(tars())
    archives = all_zips + list(odd_zips())
    files = [
        *archives,
        *all_scripts[-7:],
        *all_legacies,
        *all_plain[::9],
        *all_tars,
        *all_arrays,
        *all_safetensors,
        *all_ggufs,
        *packed(all_zips[:6] + all_legacies[:6] + all_arrays[-2:]),
    ]
    return {
        "pickle": all_pickles,
        "torch_zip": archives,
        "torch_legacy": all_legacies,
        "torchscript": all_scripts,
        "plain_pickle": all_plain + all_pickles,
        "torch_tar": all_tars,
        "numpy": all_arrays,
        "safetensors": all_safetensors,
        "dcp": list(distributed()),
        "gguf": all_ggufs,
        "scan": files[::3] + list(hidden()),
        "gzip": all_gzips + list(packed(all_zips[:4])),
        "zip": archives,
        "png": list(pngs()),
        "idx": list(idx_files()),
        "recover": archives + all_legacies + list(packed(all_zips[:4] + all_legacies[:4])),
        "roundtrip": files + all_pickles,
        "program": [(f"{name}.{i % COMMANDS}", bytes([i % COMMANDS]) + data) for i, (name, data) in enumerate(files * 4)],
    }


def main():
    for target, files in seeds().items():
        folder = Path(sys.argv[1]) / target
        folder.mkdir(parents=True, exist_ok=True)
        for i, (name, data) in enumerate(files):
            if len(data) <= LARGEST:
                (folder / f"{i:04}-{name}").write_bytes(data)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
