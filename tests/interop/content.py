"""The bytes: gzip as Python reads it, digests as hashlib makes them, and files of big-endian machines."""

import gzip
import hashlib

import cases
import saving
import tensor_cases
import torch
from equal import tensor_bytes, tensor_parts
from saving import LEGACY, ZIP


def gzip_files(checks):
    """What we compress, Python's GzipFile reads: by torch.load on the file object itself, too."""
    for name in ("data parallel", "views", "old dtypes", "many", "empty dict", "large storage small view"):
        obj = cases.ALL[name]()
        for way in (ZIP, LEGACY):
            source = checks.path()
            way.save(obj, source)
            bare = checks.written(f"gzip, {name}, {way.name}, bare", source)
            for options in ([], ["--gzip"], ["--gzip=3"], ["--gzip=6"], ["--gzip=9"]):
                label = f"gzip, {name}, {way.name}, {' '.join(options) or 'by suffix'}"
                out = checks.written(label, source, *options, suffix=".pt.gz" if not options else ".pt")
                if not out:
                    continue
                with gzip.GzipFile(out) as file:
                    checks.suite.check(f"{label}: the bytes of the bare file", file.read() == bare.read_bytes())
                with gzip.GzipFile(out) as file:
                    checks.same_object(
                        label, saving.load(source, weights_only=True), torch.load(file, weights_only=True)
                    )
                back = checks.written(f"{label}, and back", out, "--no-gzip")
                checks.suite.check(
                    f"{label}: --no-gzip gives the bare file again", back and back.read_bytes() == bare.read_bytes()
                )


def expected_digests(obj):
    """By name: (sha256, what a line of the total has between that and the name), of a flat dict of tensors."""
    found = {}
    for name, t in obj.items():
        if not isinstance(t, torch.Tensor) or t.device.type == "meta":
            continue
        if t.is_quantized and t.qscheme() == torch.per_tensor_affine:
            parts = {name: (t.int_repr(), f" per_tensor_affine({t.q_scale()!r},{t.q_zero_point()})")}
        elif t.is_quantized:
            parts = {
                name: (t.int_repr(), f" per_channel_affine({t.q_per_channel_axis()})"),
                f"{name}.scales": (t.q_per_channel_scales(), ""),
                f"{name}.zero_points": (t.q_per_channel_zero_points(), ""),
            }
        elif t.layout is not torch.strided:
            whole = f" of {str(t.layout).removeprefix('torch.')} {sizes(t)}"
            parts = {f"{name}.{part}": (v, whole) for part, v in tensor_parts(t).items()}
        else:
            parts = {name: (t, "")}
        for key, (v, more) in parts.items():
            dtype = t.dtype if key == name else v.dtype
            kind = f"{str(dtype).removeprefix('torch.')} {sizes(v)}{more}"
            found[key] = hashlib.sha256(tensor_bytes(v)).hexdigest(), kind
    return found


def escaped(name):
    return name.replace("\\", "\\\\").replace("\n", "\\n")


def sizes(t):
    return f"[{','.join(map(str, t.shape))}]"


def digests(checks):
    """ckpt digest is hashlib over the contiguous bytes, whatever container holds them."""
    names = "dtypes views tied sparse quantised retyped flags nans meta many".split() + ["data parallel"]
    objects = {name: cases.ALL[name]() for name in names}
    objects["names of two lines"] = {"a\nb": torch.ones(2), "a\\nb": torch.ones(2), "a": torch.ones(2)}
    matrix = torch.eye(3).to_sparse_csr()
    objects["equal bytes"] = {"z": matrix.col_indices().clone(), "a": matrix}
    for name, obj in objects.items():
        found = expected_digests(obj)
        lines = sorted(f"{sha} {kind} {escaped(key)}\n".encode() for key, (sha, kind) in found.items())
        expected = {
            "digest": hashlib.sha256(b"".join(lines)).hexdigest(),
            "tensors": {key: sha for key, (sha, _) in found.items()},
        }
        for way in saving.WAYS:
            source, label = checks.path(way.suffix), f"digest, {name}, {way.name}"
            if way.save(obj, source):
                done = checks.run(label, "digest", "--json", source)
                if done.code == 0:
                    got = {k: done.json.get(k) for k in expected}
                    checks.suite.equal(f"{label}: order", list(got["tensors"]), list(expected["tensors"]))
                    checks.suite.equal(label, got, expected)
    trainer, bare = checks.path(), checks.path()
    model = cases.data_parallel()
    ZIP.save({"epoch": 1, "model": model}, trainer)
    ZIP.save(model, bare)
    for root in ("model", "auto"):
        done, other = checks.ckpt("digest", "--json", "--root", root, trainer), checks.ckpt("digest", "--json", bare)
        checks.suite.check(
            f"digest --root {root}: the bare weights'",
            done.code == other.code == 0 and done.json == other.json,
            f"{done}\n{other}",
        )


def byte_order(checks):
    """A big-endian machine's file: unchanged where the target can say so, swapped where it cannot."""
    obj = tensor_cases.old_dtypes()
    little, big = checks.path(), checks.path()
    ZIP.save(obj, little)
    saving.big_endian(little, big, {str(i): t.dtype for i, t in enumerate(obj.values())})
    modes = [{"weights_only": True}, {"weights_only": False}]
    checks.alike("big-endian, as PyTorch reads it", little, big, modes=modes)
    checks.alike("big-endian, unedited", big, checks.written("big-endian", big), modes=modes)
    checks.alike(
        "big-endian, to legacy",
        big,
        checks.written("big-endian to legacy", big, "--format", "torch-legacy"),
        modes=modes,
    )
    # What is younger than typed storages is in no order: torch leaves it as it is.
    integers = {name: t for name, t in tensor_cases.dtypes().items() if "int" in name}
    young, young_big = checks.path(), checks.path()
    ZIP.save(integers, young)
    units = [t.dtype if name in obj else torch.uint8 for name, t in integers.items()]
    saving.big_endian(young, young_big, {str(i): unit for i, unit in enumerate(units)})
    wanted = checks.ckpt("digest", "--json", young).json
    for name in ("torch-index", "safetensors-index", "npz", "dcp"):
        label = f"big-endian, to {name}"
        out = checks.written(label, young_big, "--format", name, suffix="")
        done = checks.run(f"{label}, digest", "digest", "--json", out)
        checks.suite.equal(label, done.json["digest"], wanted["digest"])
    done, other = checks.ckpt("digest", "--json", big), checks.ckpt("digest", "--json", little)
    checks.suite.check(
        "big-endian: the same digests", done.code == other.code == 0 and done.json == other.json, f"{done}\n{other}"
    )
