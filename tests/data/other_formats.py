"""Fixtures that torch.save does not write: numpy, GGUF, tar, what pickle.dump writes, and files that are something else."""

import gzip
import io
import struct
import tarfile
import zipfile

from torchfile import Call, Global, Pickler, Storage, pickled, save_legacy, save_zip, state_dict, weights


def npy(descr, shape, data, fortran=False):
    """As numpy.save writes it."""
    line = f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00\x76\x00" + line.ljust(117) + b"\n" + data


def save_npz(path, arrays, compression=zipfile.ZIP_STORED, extra=()):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in [*((f"{name}.npy", array) for name, array in arrays.items()), *extra]:
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, compression)


def numpy_files(to):
    floats = struct.pack("<6f", *range(6))
    (to / "array.npy").write_bytes(npy("<f4", (2, 3), floats))
    images = {"images": npy("|u1", (2, 2, 2), bytes(range(8))), "labels": npy(">i8", (2,), struct.pack(">2q", 7, 1))}
    save_npz(to / "data.npz", images)
    save_npz(to / "packed.npz", {"W": npy("<f4", (2, 3), floats, True), "w": npy("<f8", (), bytes(8))}, zipfile.ZIP_DEFLATED)
    save_npz(to / "notes.npz", {"w": npy("<f4", (6,), floats)}, extra=[("README.txt", b"read me")])
    objects = npy("|O", (1,), b"\x80\x02]N.")
    save_npz(to / "objects.npz", {**images, "classes": objects})
    (to / "cut.npy").write_bytes(npy("<f4", (2, 3), floats)[:-4])
    broken = (to / "data.npz").read_bytes().replace(bytes(range(8)), bytes(range(1, 9)))
    (to / "bad_crc.npz").write_bytes(broken)


def foreign(to):
    """Files that are something else, under a checkpoint's name."""
    (to / "empty.pt").write_bytes(b"")
    (to / "text.pt").write_text("This is not a checkpoint.\n")
    (to / "lfs.pt").write_text(
        "version https://git-lfs.github.com/spec/v1\n"
        "oid sha256:4665a5ea423c2713d436b5ee50593a9640e0018c1550b5a0002f74190d6caea8\nsize 12345\n"
    )
    (to / "page.pt").write_text("<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>\n")
    (to / "7z.pt").write_bytes(b"7z\xbc\xaf\x27\x1c\x00\x04" + bytes(56))
    (to / "rar.pt").write_bytes(b"Rar!\x1a\x07\x01\x00" + bytes(56))
    header = b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
    (to / "a.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    (to / "whisper.bin").write_bytes(b"lmgg" + struct.pack("<3I", 51864, 1500, 512))
    (to / "llama.bin").write_bytes(b"tjgg" + struct.pack("<3I", 3, 32000, 4096))
    (to / "model.onnx").write_bytes(b"\x08\x08\x12\x07pytorch\x1a\x052.1.0:\x80\x01")
    (to / "keras.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(56))
    (to / "config.json").write_text('{"architectures": ["LlamaForCausalLM"]}\n')
    with zipfile.ZipFile(to / "pictures.pt", "w") as archive:
        archive.writestr(zipfile.ZipInfo("holiday/one.txt", (1980, 1, 1, 0, 0, 0)), "sea")


def array(code, shape, data, order="<", fortran=False):
    """numpy's, as a pickle of protocol 4 has it."""
    dtype = Call("numpy", "dtype", code, False, True, state=(3, order, None, None, None, -1, -1, 63 if code.startswith("O") else 0))
    made = Call("numpy._core.multiarray", "_reconstruct", Global("numpy", "ndarray"), (0,), b"b")
    made.state = (1, shape, dtype, fortran, data)
    return made


def as_bytes(to, save, obj):
    path = to / "scratch"
    save(path, obj)
    data = path.read_bytes()
    path.unlink()
    return data


def nested(to, storage):
    """A storage as pickle.dump has it: a whole file, in bytes."""
    return Call("torch.storage", "_load_from_bytes", as_bytes(to, save_legacy, storage))


def plain_pickles(to):
    """What pickle.dump writes of arrays and of tensors."""
    floats = struct.pack("<6f", *range(6))
    model = {
        "fc.weight": array("f4", (2, 3), floats),
        "fc.bias": array("i2", (2,), b"\0\1\0\2", ">"),
        "t": array("f4", (2, 3), floats, fortran=True),
    }
    odd = {"names": array("O8", (1,), ["x"], "|"), "epoch": 3}
    (to / "arrays.pkl").write_bytes(pickled({"model": model, **odd}, 4)[0])
    hooks = Call("collections", "OrderedDict")
    tensor = Call("torch._utils", "_rebuild_tensor_v2", nested(to, Storage(6, device="cuda:0")), 0, (2, 3), (3, 1), False, hooks)
    (to / "tensors.pkl").write_bytes(pickled({"w": tensor, "again": tensor}, 3)[0])
    payload = Call("torch.storage", "_load_from_bytes", as_bytes(to, save_legacy, [Call("os", "system", "true")]))
    (to / "payload.pkl").write_bytes(pickled({"w": tensor, "x": payload}, 3)[0])
    (to / "two.pkl").write_bytes(pickled({"a": 1}, 3)[0] * 2)


def tar(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def tars(to):
    """PyTorch 0.1's, and archives around what is of later versions."""

    class Ids(Pickler):
        def persistent_id(self, obj):
            return obj if obj == "7" else None

    kind, of = Global("torch", "FloatStorage"), Global("torch", "FloatTensor")
    numbers = struct.pack("<q6f", 6, *range(6))
    members = [
        ("sys_info", pickled({"protocol_version": 1000})[0]),
        ("pickle", pickled(state_dict({"w": "7", "again": "7"}), 2, Ids)[0]),
        ("tensors", pickled(1)[0] + pickled((7, 1, of))[0] + struct.pack("<6q", 2, 2, 3, 3, 1, 0)),
        ("storages", pickled(1)[0] + pickled((1, "cuda:0", kind))[0] + numbers + pickled([])[0]),
    ]
    (to / "old.tar").write_bytes(tar(members))
    whole = as_bytes(to, save_zip, state_dict(weights()))
    around = tar([("config.json", b"{}"), ("weights.th", whole), ("vocabulary/tokens.txt", b"a\nb\n")])
    (to / "model.tar.gz").write_bytes(gzip.compress(around, mtime=0))
    (to / "several.tar").write_bytes(tar([("a.pt", whole), ("b.pt", whole)]))
    (to / "texts.tar").write_bytes(tar([("a.txt", b"text")]))


def gguf_files(to):
    """A tensor as it is and one in blocks, with keys of several types."""

    def text(value):
        return struct.pack("<Q", len(value)) + value

    def tensor(name, sizes, kind, offset):
        return text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, kind, offset)

    keys = [text(b"general.architecture") + struct.pack("<I", 8) + text(b"llama")]
    keys.append(text(b"llama.block_count") + struct.pack("<II", 4, 2))
    words = b"".join(text(b"w%d" % i) for i in range(20))
    keys.append(text(b"tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 20) + words)
    tensors = tensor(b"norm.weight", (3, 2), 0, 0) + tensor(b"blk.0.weight", (32,), 8, 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, 2, len(keys)) + b"".join(keys) + tensors
    data = struct.pack("<6f", *range(6)) + bytes(8) + struct.pack("<e32b", 0.5, *range(-16, 16))
    whole = head + bytes(-len(head) % 32) + data
    (to / "model.gguf").write_bytes(whole)
    (to / "cut.gguf").write_bytes(whole[:-10])
    (to / "k_quant.gguf").write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + tensor(b"w", (256,), 12, 0) + bytes(31 + 144))
