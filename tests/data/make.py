#!/usr/bin/env python3
"""Makes the fixtures of the command line tests in a folder, by plain Python (no torch):

    python3 tests/data/make.py FOLDER

Beside them go copies of the files in this folder that real PyTorch wrote. Nothing here is ever unpickled.
"""

import argparse
import gzip
import io
import shutil
import struct
import sys
import tarfile
import zipfile
from pathlib import Path

from torchfile import Call, Global, Pickler, Storage, Tensor, pickled, save_legacy, save_zip, state_dict

HERE = Path(__file__).resolve().parent


def save_pickle(path, pickle, compression):
    """A torch zip around a pickle that no pickler wrote."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in (("data.pkl", pickle), ("version", b"3\n")):
            archive.writestr(zipfile.ZipInfo(f"{path.stem}/{name}", (1980, 1, 1, 0, 0, 0)), content, compression)


def weights(prefix="", device="cpu"):
    return {f"{prefix}fc.weight": Tensor([2, 3], device=device), f"{prefix}fc.bias": Tensor([2], device=device)}


def ordinary(to):
    """Files that all is well with."""
    save_zip(to / "weights.pt", state_dict(weights(), ["", "fc"]))
    save_zip(to / "parallel.pt", state_dict(weights("module.", "cuda:0"), ["", "module", "module.fc"]))
    save_legacy(to / "parallel_legacy.pt", state_dict(weights("module.", "cuda:0"), ["", "module", "module.fc"]))
    save_zip(to / "compiled.pt", state_dict(weights("_orig_mod."), ["", "_orig_mod", "_orig_mod.fc"]))
    save_zip(to / "mixed.pt", state_dict({"module.a": Tensor([2]), "b": Tensor([3]), "module.module.c": Tensor([1])}))
    save_zip(to / "collide.pt", state_dict({"module.a": Tensor([2]), "a": Tensor([3])}))
    save_zip(
        to / "gan.pt",
        {"generator": state_dict(weights("module.")), "step": 7, "discriminator": state_dict(weights("module."))},
    )
    save_zip(to / "bare.pt", Tensor([2, 2]))
    save_zip(to / "no_tensors.pt", {"epoch": 3, "name": "none here"})
    save_zip(to / "listed.pt", [Tensor([2]), {"x": Tensor([1]), 5: Tensor([3]), (1, 2): Tensor([4])}])
    save_zip(
        to / "devices.pt",
        state_dict(
            {"a": Tensor([2], device="cuda:0"), "b": Tensor([2], device="cuda:1"), "c": Tensor([2], device="cpu")}
        ),
    )
    shared = Storage(6)
    save_zip(
        to / "tied.pt",
        state_dict(
            {
                "encoder.weight": Tensor([2, 3], storage=shared),
                "decoder.weight": Tensor([2, 3], storage=shared),
                "decoder.t": Tensor([3, 2], storage=shared, stride=[1, 3]),
            }
        ),
    )
    save_zip(to / "slice.pt", state_dict({"row": Tensor([10], storage=Storage(500_000), offset=20)}))
    numbers = Storage(6, record=struct.pack("<6f", 1, float("nan"), float("inf"), -float("inf"), 2, 3))
    save_zip(
        to / "nonfinite.pt",
        state_dict({"bad": Tensor([2, 2], storage=numbers), "good": Tensor([2], storage=numbers, offset=4)}),
    )
    save_zip(
        to / "kinds.pt",
        state_dict(
            {kind.lower(): Tensor([3], kind) for kind in ("Double", "Long", "Int", "Short", "Char", "Byte", "Bool")}
        ),
    )
    save_zip(to / "escape.pt", state_dict({"red\x1b[31m\x07": Tensor([1]), "new\nline": Tensor([1])}))
    save_zip(to / "protocol4.pt", state_dict(weights(device="cuda:0")), protocol=4)
    save_zip(to / "deflated.pt", state_dict(weights()), compression=zipfile.ZIP_DEFLATED)
    # A small file that asks for much: many values, and deep nesting.
    save_pickle(to / "bomb.pt", b"\x80\x02(" + b"N" * (20 << 20) + b"l.", zipfile.ZIP_DEFLATED)
    save_pickle(to / "deep.pt", b"\x80\x02" + b"]" * 400_000 + b"a" * 399_999 + b".", zipfile.ZIP_DEFLATED)
    save_zip(to / "big_endian.pt", state_dict(weights()), order="big")
    save_zip(to / "trainer.pt", trainer("cuda:0"))
    save_legacy(to / "trainer_legacy.pt", trainer("cuda:0"))
    whole = (to / "parallel.pt").read_bytes()
    (to / "parallel.pt.gz").write_bytes(gzip.compress(whole, mtime=0))
    (to / "members.pt.gz").write_bytes(gzip.compress(whole[:1000], mtime=0) + gzip.compress(whole[1000:], mtime=0))
    (to / "twice.pt.gz").write_bytes(gzip.compress(gzip.compress(whole, mtime=0), mtime=0))
    (to / "thrice.pt.gz").write_bytes(gzip.compress((to / "twice.pt.gz").read_bytes(), mtime=0))
    shutil.copy(to / "parallel.pt.gz", to / "gzip_inside.pt")


def trainer(device):
    """What a training script saves: the model is a part of it, and "cuda:0" stands in it as a word, too."""
    step = [Tensor([], device=device) for _ in range(2)]
    average = [Tensor([2, 3], device=device), Tensor([2], device=device)]
    return {
        "epoch": 3,
        "best": 0.97,
        "state_dict": state_dict(weights("module.", device), ["", "module", "module.fc"]),
        "optimizer": {
            "state": {i: {"step": step[i], "exp_avg": average[i]} for i in range(2)},
            "param_groups": [{"lr": 0.1, "betas": (0.9, 0.999), "params": [0, 1]}],
        },
        "args": Call("argparse", "Namespace", state={"device": "cuda:0", "prefix": "module.", "seed": 2**70}, new=True),
    }


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


def pairs(to):
    """Checkpoints to be compared with each other, or with one of the ordinary ones."""
    import struct

    def numbers(*values):
        return Storage(len(values), record=struct.pack(f"<{len(values)}f", *values))

    inf, nan = float("inf"), float("nan")
    before = {
        "same": Tensor([3]),
        "w": Tensor([2, 3], storage=numbers(0, 1, 2, 3, 4, 5)),
        "odd": Tensor([3], storage=numbers(1, nan, inf)),
        "grown": Tensor([2]),
        "moved": Tensor([2], device="cuda:0"),
        "cast": Tensor([2], storage=numbers(1, 2)),
        "gone": Tensor([4]),
        "old name": Tensor([5], storage=numbers(9, 8, 7, 6, 5)),
    }
    after = {
        "same": Tensor([3], storage=numbers(0, 1, 2)),
        "w": Tensor([2, 3], storage=numbers(0, 1, 2, 3, 4.5, 5.25)),
        "odd": Tensor([3], storage=numbers(1, 2, -inf)),
        "grown": Tensor([3]),
        "moved": Tensor([2]),
        "cast": Tensor([2], "Double", storage=Storage(2, "Double", record=struct.pack("<2d", 1, 2))),
        "new name": Tensor([5], storage=numbers(9, 8, 7, 6, 5)),
        "new": Tensor([6]),
    }
    save_zip(to / "before.pt", {"model": state_dict(before), "epoch": 3, "lr": 0.1, "sizes": [1, 2], "tag": "a\x1b[31m"})
    save_zip(to / "after.pt", {"lr": 0.1, "model": state_dict(after), "epoch": 4.0, "sizes": (1, 2, 3), "more": None})
    apart = {"encoder.weight": Tensor([2, 3]), "decoder.weight": Tensor([2, 3], storage=numbers(0, 1, 2, 3, 4, 5))}
    apart["decoder.t"] = Tensor([3, 2], storage=numbers(0, 3, 1, 4, 2, 5))
    save_zip(to / "untied.pt", state_dict(apart))
    save_zip(to / "many_a.pt", {f"value {i}": i for i in range(30)})
    save_zip(to / "many_b.pt", {f"value {i}": i + 1 for i in range(30)})
    save_zip(to / "escape_b.pt", state_dict({"red\x1b[31m\x07": Tensor([1], storage=numbers(5)), "new\nline": Tensor([2])}))
    save_zip(to / "float.pt", state_dict({"w": Tensor([2])}))
    save_zip(to / "double.pt", state_dict({"w": Tensor([2], "Double")}))
    save_zip(
        to / "bigger.pt",
        state_dict({n: Tensor([4]) for n in "abc"} | {"head.w": Tensor([2]), "head.b": Tensor([1])}),
    )


def unsafe(to):
    """Names that a pickle should not hold. Nothing of ckpt calls them, and nothing of Python may."""
    payload = Call("posix", "system", "echo this must never run > ran")
    save_zip(to / "dangerous.pt", {"weight": Tensor([2]), "x": payload})
    save_legacy(to / "dangerous_legacy.pt", {"weight": Tensor([2]), "x": payload})
    save_zip(to / "dangerous4.pt", {"weight": Tensor([2]), "x": payload}, protocol=4)
    save_zip(
        to / "dangerous_metadata.pt",
        Call("collections", "OrderedDict", items=[("weight", Tensor([2]))], state={"_metadata": payload}),
    )
    save_zip(to / "getattr.pt", {"weight": Tensor([2]), "x": Call("builtins", "getattr", Global("os", "path"), "join")})
    save_zip(
        to / "unknown.pt", {"weight": Tensor([2]), "model": Call("mylab.nets", "Net", state={"width": 3}, new=True)}
    )


def spoil(path, marker, replacement, to):
    """A copy with one thing wrong."""
    data = path.read_bytes()
    assert data.count(marker) == 1, (path, marker, data.count(marker))
    to.write_bytes(data.replace(marker, replacement))


def broken(to):
    """Checkpoints with something wrong in them, each named for what."""
    save_zip(to / "good.pt", state_dict({"a": Tensor([4]), "b": Tensor([4]), "c": Tensor([4])}))
    second = struct.pack("<4f", 7, 8, 9, 10)
    spoil(to / "good.pt", second, struct.pack("<4f", 7, 8, 9, 11), to / "bad_crc.pt")
    both = (to / "bad_crc.pt").read_bytes()
    third = struct.pack("<4f", 14, 15, 16, 17)
    assert both.count(third) == 1
    (to / "bad_crcs.pt").write_bytes(both.replace(third, struct.pack("<4f", 14, 15, 16, 18)))
    whole = (to / "parallel.pt").read_bytes()
    (to / "truncated.pt").write_bytes(whole[: len(whole) // 2])
    legacy = (to / "parallel_legacy.pt").read_bytes()
    (to / "truncated_legacy.pt").write_bytes(legacy[:-5])
    (to / "truncated_pickle_legacy.pt").write_bytes(legacy[:150])
    save_zip(to / "short_storage.pt", state_dict({"a": Tensor([4], storage=Storage(4, record=b"\0" * 12))}))
    save_zip(to / "outside.pt", state_dict({"a": Tensor([4], storage=Storage(4), offset=2)}))
    save_zip(to / "missing_storage.pt", state_dict({"a": Tensor([4])}), extra=[("data/0", None)])
    save_zip(to / "negative.pt", state_dict({"a": Tensor([4], stride=[-1])}))
    save_zip(to / "two_pickles.pt", state_dict({"a": Tensor([4])}), extra=[("other/data.pkl", b"N.")])
    pack = gzip.compress(whole, mtime=0)
    (to / "truncated.pt.gz").write_bytes(pack[: len(pack) * 2 // 3])
    (to / "trailing.pt.gz").write_bytes(pack + b"what is this?")
    (to / "padded.pt.gz").write_bytes(pack + b"\0" * 512)
    (to / "bad_crc.pt.gz").write_bytes(pack[:-8] + bytes([pack[-8] ^ 1]) + pack[-7:])
    (to / "bad_isize.pt.gz").write_bytes(pack[:-1] + bytes([pack[-1] ^ 1]))


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


def scripts(to):
    """A module as torch.jit.save writes it: attributes by name, code that tells parameters from buffers, constants."""

    def module(kind, **state):
        return Call(f"__torch__{kind[0]}", kind[1], state=state, new=True)

    def tensor(*shape, **options):
        return Tensor(list(shape), **options)

    fc = module((".layers", "Linear"), weight=tensor(2, 3, device="cuda:0"), bias=tensor(2, device="cuda:0"))
    net = module(("", "Net"), training=False, scale=tensor(2, device="cuda:0"), fc=fc, mean=tensor(3, device="cuda:0"))
    constants, data = pickled((tensor(2, device="cuda:0"),))
    code = (
        b'class Net(Module):\n  __parameters__ = []\n  __buffers__ = ["mean", ]\n  training : bool\n  scale : Tensor\n'
        b"  mean : Tensor\n  fc : __torch__.layers.Linear\n  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n"
        b'    return torch.add(x, torch.zeros([2], device=torch.device("cuda:0")))\n'
    )
    layers = b'class Linear(Module):\n  __parameters__ = ["weight", "bias", ]\n  __buffers__ = []\n  weight : Tensor\n  bias : Tensor\n'
    save_zip(
        to / "script.pt",
        net,
        extra=[
            ("code/__torch__.py", code),
            ("code/__torch__/layers.py", layers),
            *((f"constants/{key}", storage.bytes()) for key, storage in data.items()),
            ("constants.pkl", constants),
        ],
    )


def as_bytes(to, save, obj):
    path = to / "scratch"
    save(path, obj)
    data = path.read_bytes()
    path.unlink()
    return data


def array(code, shape, data, order="<", fortran=False):
    """numpy's, as a pickle of protocol 4 has it."""
    dtype = Call("numpy", "dtype", code, False, True, state=(3, order, None, None, None, -1, -1, 0))
    made = Call("numpy._core.multiarray", "_reconstruct", Global("numpy", "ndarray"), (0,), b"b")
    made.state = (1, shape, dtype, fortran, data)
    return made


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
    odd = {"names": array("O", (1,), ["x"]), "epoch": 3}
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
def module(name, parameters=None, buffers=None, modules=None, **more):
    """An object of a torch.nn.Module's class, as torch.save(model) pickles it."""
    state = {"training": True, "_parameters": parameters or {}, "_buffers": buffers or {}, "_modules": modules or {}, **more}
    return Call(*name.rsplit(".", 1), state=state, new=True)


def parallel(inside):
    return module("torch.nn.parallel.data_parallel.DataParallel", modules={"module": inside}, device_ids=[0])


def modules(to):
    """Whole modules, of classes that nobody has the source of."""

    def net():
        fc = module("torch.nn.modules.linear.Linear", {"weight": Tensor([2, 3], parameter=True), "bias": None})
        counts = {"running_mean": Tensor([2]), "num_batches_tracked": Tensor([], "Long")}
        return module("net.Net", modules={"fc": fc, "bn": module("torch.nn.modules.batchnorm.BatchNorm1d", buffers=counts)})

    save_zip(to / "module.pt", net())
    save_legacy(to / "module_legacy.pt", net())
    save_zip(to / "trainer_module.pt", {"epoch": 3, "model": parallel(net()), "optimizer": {"state": {}, "param_groups": []}})
    hook = Call("net", "Hook", new=True)
    inside = module("net.Hooked", {"w": Tensor([2], parameter=True)}, _state_dict_hooks={0: hook})
    save_zip(to / "hooked.pt", module("net.Outer", modules={"layer": inside}))
    save_zip(to / "two_modules.pt", {"a": net(), "b": net()})


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


def make_all(to):
    to.mkdir(parents=True, exist_ok=True)
    for path in HERE.glob("*.pt*"):
        shutil.copy(path, to / path.name)
    ordinary(to)
    numpy_files(to)
    pairs(to)
    unsafe(to)
    broken(to)
    foreign(to)
    scripts(to)
    plain_pickles(to)
    tars(to)
    modules(to)
    gguf_files(to)


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("folder", type=Path)
    sys.path.insert(0, str(HERE))
    make_all(p.parse_args().folder)
