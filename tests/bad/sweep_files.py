"""Small good files of each format and compression, to be cut at every byte and to have every bit flipped."""

import gzip
import json
import pickle
import struct
import zipfile
import zlib

import forge
import gguf_attacks as ggml
from forge import (
    WEIGHT,
    Part,
    archive,
    legacy,
    many,
    mapping,
    npy,
    number,
    program,
    safetensors,
    storage,
    tensor,
    tensor_info,
    text,
    torch_parts,
)
from harness import DATA
from script_attacks import model_archive, script_parts
from plain_attacks import array, nested
from tar_attacks import member, tar, torch_tar
from torchfile import Call, Tensor, save_legacy, save_zip, state_dict

CODE = program(mapping(("a", WEIGHT), ("b", tensor(None, (2, 2), (1, 2)))))


def described():
    """As torch writes members: sizes and CRC behind the data, open in front of it."""
    parts = torch_parts(CODE)
    for part in parts:
        part.flags, part.local_size, part.local_compressed, part.local_crc = 0x808, 0, 0, 0
        part.after = struct.pack("<4sIII", b"PK\7\x08", zlib.crc32(part.data), len(part.data), len(part.data))
    return parts


def legacy_views():
    view = storage(more=many(text("v"), number(1), number(2)))
    whole = storage(more=b"N")
    return legacy(program(mapping(("a", tensor(view, (2,))), ("b", tensor(whole, (2, 2), (1, 2))))))


def in_members(data, count):
    size = len(data) // count + 1
    return b"".join(gzip.compress(data[i : i + size], mtime=0) for i in range(0, len(data), size))


def trainer():
    return {
        "epoch": 3,
        "model": state_dict({"w": Tensor([2, 2], device="cuda:0"), "b": Tensor([2], "Long")}, ["", "fc"]),
        "args": Call("argparse", "Namespace", state={"lr": 0.1}),
    }


def safetensors_views():
    """Metadata, a transposed view, a whole one, and tensors of two dtypes."""
    views = {"t": {"of": "w", "shape": [2, 2], "stride": [1, 2], "offset": 0}, "v.w": {"of": "w"}}
    metadata = json.dumps({"format": "pt", "ckpt.views": json.dumps(views), "v.w": "w"})
    return safetensors(
        f'{{"__metadata__":{metadata},"w":{tensor_info(shape="[2,2]")},"b":{tensor_info("U8", "[3]", 16, 19)}}}',
        forge.FLOATS + b"abc",
    )


def gguf():
    """Keys of several types, an alignment of its own, and tensors of floats, of half floats and of blocks of Q8_0."""
    keys = [
        ggml.entry("general.alignment", 4, struct.pack("<I", 16)),
        ggml.entry("name", 8, ggml.text("net")),
        ggml.entry("list", 9, ggml.array(5, 2, struct.pack("<2i", -1, 7))),
    ]
    tensors = [ggml.tensor("w", (2, 2)), ggml.tensor("h", (4,), 1, 16), ggml.tensor("q", (32,), 8, 32)]
    blocks = struct.pack("<e32b", 0.5, *range(-16, 16))
    return ggml.gguf(tensors, keys, forge.FLOATS + struct.pack("<4e", 1, 2, 3, 4) + bytes(8) + blocks, alignment=16)


def make_all(folder):
    """Writes them and returns their paths."""
    plain = {
        "zip-old": archive(torch_parts(CODE)),
        "zip-described": archive(described()),
        "zip-64": archive(torch_parts(CODE), zip64=True),
        "zip-deflated": archive([Part(p.name, p.data, deflate=True) for p in torch_parts(CODE)]),
        "zip-no-crc": archive([Part(p.name, p.data, crc=0) for p in torch_parts(CODE)]),
        "zip-comment": archive(torch_parts(CODE), comment=b"comment", after=b"after"),
        "legacy-views": legacy_views(),
        "script": archive(script_parts()),
        "script-turned": archive([*script_parts(bytecode=True)][::-1]),
        "script-model-json": model_archive(),
        "npy": npy(descr=">i2", shape="(2, 4)", fortran="True"),
        "npz": archive([Part("a.npy", npy()), Part("b.npy", npy(descr="<c8", shape="(2,)", version=3)), Part("c.txt", b"c")]),
        "safetensors": safetensors_views(),
        "npz-deflated": archive([Part("a.npy", npy(shape="(2, 2)"), deflate=True), Part("b.npy", npy(), deflate=True)]),
        "gguf": gguf(),
        "pickle-tensors": program(mapping(("a", tensor(nested())), ("b", b"K\1")), 3),
        "pickle-arrays": program(mapping(("a", array()), ("b", array("i2", (2, 4), order=">", fortran=b"\x88"))), 3),
        "torch-tar": torch_tar(),
        "tar-around": tar(member(b"config.json", b"{}"), member(b"w.pt", archive(torch_parts(CODE))), end=b""),
        "legacy-protocol-0": legacy(
            b"(dS'a'\nI01\nsV\\u0062\nL12L\nsS'c'\nF1.5\ns.",
            head=[pickle.dumps(p, 0) for p in (forge.MAGIC, 1001, forge.SYSTEM)],
            keys=b"(l.",
        ),
    }
    for name in ("foonet_cuda0.pt", "foonet_legacy.pt"):  # PyTorch itself wrote these
        plain[name.removesuffix(".pt").replace("_", "-")] = (DATA / name).read_bytes()
    made = folder / "made.pt"
    plain["zip-trainer"] = save_zip(made, trainer()).read_bytes()
    plain["zip-trainer-protocol-4"] = save_zip(made, trainer(), protocol=4).read_bytes()
    plain["zip-trainer-deflated"] = save_zip(made, trainer(), compression=zipfile.ZIP_DEFLATED).read_bytes()
    plain["zip-big-endian"] = save_zip(made, state_dict({"w": Tensor([3])}), order="big").read_bytes()
    plain["legacy-trainer"] = save_legacy(made, trainer()).read_bytes()
    made.unlink()

    files = {f"{name}.pt": data for name, data in plain.items()}
    for name in (
        "zip-described",
        "zip-deflated",
        "zip-no-crc",
        "zip-trainer",
        "legacy-views",
        "legacy-protocol-0",
        "legacy-trainer",
        "foonet-legacy",
        "npy",
        "npz",
        "npz-deflated",
        "safetensors",
        "gguf",
        "pickle-tensors",
        "torch-tar",
        "tar-around",
    ):
        files[f"{name}.pt.gz"] = gzip.compress(plain[name], mtime=0)
    for name in ("zip-old", "legacy-views"):
        files[f"{name}-members.pt.gz"] = in_members(plain[name], 3)
        files[f"{name}-twice.pt.gz"] = gzip.compress(gzip.compress(plain[name], mtime=0), mtime=0)
        files[f"{name}-padded.pt.gz"] = gzip.compress(plain[name], mtime=0) + bytes(4)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return [folder / name for name in sorted(files, key=lambda name: -len(files[name]))]
