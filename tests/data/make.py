#!/usr/bin/env python3
"""Makes the fixtures of the command line tests in a folder, by plain Python (no torch):

    python3 tests/data/make.py FOLDER

Beside them go copies of the files in this folder that real PyTorch wrote. Nothing here is ever unpickled.
"""

import argparse
import gzip
import shutil
import struct
import zipfile
from pathlib import Path

from other_formats import foreign, gguf_files, numpy_files, plain_pickles, tars
from torchfile import Call, Global, Storage, Tensor, pickled, save_legacy, save_zip, state_dict, weights

HERE = Path(__file__).resolve().parent


def save_pickle(path, pickle, compression):
    """A torch zip around a pickle that no pickler wrote."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in (("data.pkl", pickle), ("version", b"3\n")):
            archive.writestr(zipfile.ZipInfo(f"{path.stem}/{name}", (1980, 1, 1, 0, 0, 0)), content, compression)


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
    spread = Storage(12, record=struct.pack("<12f", 0, *[47] * 10, 100))
    widest = Storage(4, "Double", record=struct.pack("<4d", -1.7e308, 1.7e308, 0, 1))
    save_zip(to / "spread.pt", state_dict({"spread": Tensor([12], storage=spread), "widest": Tensor([4], "Double", storage=widest)}))
    save_zip(
        to / "kinds.pt",
        state_dict(
            {kind.lower(): Tensor([3], kind) for kind in ("Double", "Long", "Int", "Short", "Char", "Byte", "Bool")}
        ),
    )
    save_zip(to / "escape.pt", state_dict({"red\x1b[31m\x07": Tensor([1]), "new\nline": Tensor([1])}))
    one, two = (Tensor([1], storage=Storage(1, record=struct.pack("<f", number))) for number in (1, 2))
    save_zip(to / "alike.pt", state_dict({"a\n": one, "a\\n": two}))
    save_zip(to / "same_name.pt", {"a": {"b": one}, "a.b": two})
    # State dicts that are none, for other values stand among the weights.
    save_zip(to / "mixed_root.pt", {**weights(), "normalizer": {"mean": Tensor([2]), "std": Tensor([2])}})
    save_zip(to / "mixed_model.pt", {"state_dict": {**weights(), "scale": 1.0, 7: None}, "ema": state_dict(weights())})
    # A model among what else maps names to tensors.
    scaler, states = {"scale": Tensor([1]), "growth": Tensor([1])}, {"cpu": Tensor([4], "Byte")}
    save_zip(to / "scaler.pt", {"generator": state_dict(weights()), "scaler": scaler, "rng": states})
    save_zip(to / "protocol4.pt", state_dict(weights(device="cuda:0")), protocol=4)
    save_zip(to / "deflated.pt", state_dict(weights()), compression=zipfile.ZIP_DEFLATED)
    # A small file that asks for much: many values, and deep nesting.
    save_pickle(to / "bomb.pt", b"\x80\x02(" + b"N" * (20 << 20) + b"l.", zipfile.ZIP_DEFLATED)
    save_pickle(to / "deep.pt", b"\x80\x02" + b"]" * 60_000 + b"a" * 59_999 + b".", zipfile.ZIP_DEFLATED)
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


def pairs(to):
    """Checkpoints to be compared with each other, or with one of the ordinary ones."""

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
    constant_members = [*((f"constants/{key}", storage.bytes()) for key, storage in data.items()), ("constants.pkl", constants)]
    code_members = [("code/__torch__.py", code), ("code/__torch__/layers.py", layers)]
    save_zip(to / "script.pt", net, extra=[*code_members, *constant_members])
    # As torch.jit.freeze leaves one: its tensors are constants of its code.
    frozen = module(("", "Frozen"), training=False)
    code = b"class Frozen(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n"
    save_zip(to / "frozen.pt", frozen, extra=[("code/__torch__.py", code), *constant_members])


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
    make_all(p.parse_args().folder)
