"""Where torch reckons that storages stand, instead of looking: for map_location="meta", fake tensors, and mmap that does not
read the directory. What ckpt writes is found there, or says nothing that torch would reckon from."""

import copy
from collections import OrderedDict

import torch
from saving import LEGACY, ZIP, Way
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.serialization import config

PACKED = Way("gzip", packed=True)


def places(path):
    """By name, whether the bytes at the place that torch reckons are the storage's."""
    data, truth = path.read_bytes(), torch.load(path, weights_only=True)
    with FakeTensorMode():
        fake = torch.load(path, weights_only=True)
    found = {}
    for name, tensor in truth.items():
        storage, at = tensor.untyped_storage(), fake[name].untyped_storage()._checkpoint_offset
        found[name] = data[at : at + storage.nbytes()] == bytes(storage)
    return found


def reckoned(checks, label, path):
    truth = torch.load(path, weights_only=True)
    try:
        meta = torch.load(path, map_location="meta", weights_only=True)
        checks.suite.equal(f"{label}: meta", [t.shape for t in meta.values()], [t.shape for t in truth.values()])
        checks.suite.equal(f"{label}: places", places(path), dict.fromkeys(truth, True))
        config.load.calculate_storage_offsets = True
        mapped = torch.load(path, mmap=True, weights_only=True)
        checks.suite.check(f"{label}: mmap", all(torch.equal(mapped[name], truth[name]) for name in truth))
    except Exception as error:
        checks.suite.check(f"{label}: torch finds the storages", False, repr(error))
    finally:
        config.load.calculate_storage_offsets = False


def storages(checks):
    torch.manual_seed(31)
    large = torch.randn(1000)
    model = OrderedDict((name, torch.randn(size)) for name, size in (("a", 5), ("b", 70), ("c", 0), ("d", 9)))
    shared = OrderedDict(x=large[:3], y=torch.randn(4), z=large[500:504], same=torch.arange(4.0), again=torch.arange(4.0))
    trainer = {"optimizer": {"m": torch.randn(6)}, "model": model}
    for way in (ZIP, PACKED, LEGACY):
        cases = [
            ("unedited", model, []),
            ("the first dropped", model, ["--drop", "a"]),
            ("one dropped", model, ["--drop", "b"]),
            ("cast", model, ["--dtype", "float16"]),
            ("renamed", model, ["--rename", "b=z"]),
            ("a part", trainer, ["--root", "model"]),
            ("the weights", trainer, ["--weights-only"]),
            ("cut up", shared, ["--compact"]),
            ("closed up", OrderedDict(t=torch.randn(4, 6).t(), u=torch.randn(2)), ["--contiguous"]),
            ("made one", shared, ["--dedupe"]),
        ]
        for title, obj, options in cases:
            source = checks.path(way.suffix)
            way.save(copy.deepcopy(obj), source)
            out = checks.written(f"offsets, {title}, {way.name}", source, *options, "--format", "torch", "--no-gzip", suffix=".pt")
            if out:
                reckoned(checks, f"offsets, {title}, {way.name}", out)
    paths = [checks.path() for _ in range(2)]
    for path in paths:
        ZIP.save(OrderedDict(v=torch.randn(3), w=torch.randn(8)[2:5]), path)
    out = checks.path()
    checks.run("offsets, average", "average", *paths, out)
    reckoned(checks, "offsets, average", out)
    out = checks.path()
    ZIP.save(OrderedDict(other=torch.randn(3)), paths[1])
    checks.run("offsets, merge", "merge", *paths, out)
    reckoned(checks, "offsets, merge", out)


GROUPS = [storages]
