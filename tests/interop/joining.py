"""ckpt extract, shard and merge: what PyTorch, numpy and safetensors read of what they write."""

import collections

import numpy
import safetensors.torch
import tensor_cases
import torch
from averages import same, saved
from equal import same_bytes
from saving import LEGACY, ZIP, Way

NUMPY = [d for d in tensor_cases.DTYPES if str(d)[6:] in {*"float64 float32 float16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 complex128".split()}]
LACKED = (torch.complex32, torch.complex128)  # by safetensors


def extracts(checks):
    obj = tensor_cases.dtypes() | {"turned": torch.randn(5, 3).t(), "scalar": torch.tensor(2.5), "part": torch.randn(90_000)[3:7]}
    source = checks.path()
    ZIP.save({"state_dict": obj}, source)
    for name, tensor in obj.items():
        full = f"state_dict.{name}"
        for suffix in (".npy", ".npz", ".pt", ".safetensors"):
            label, out = f"extract {name}{suffix}", checks.path(suffix)
            if tensor.dtype in LACKED if suffix == ".safetensors" else suffix.startswith(".np") and tensor.dtype not in NUMPY:
                done = checks.run(label, "extract", source, full, "-o", out, code=3)
                checks.suite.check(f"{label}: says what does it", "hint:" in done.err, done)
                continue
            checks.run(label, "extract", source, full, "-o", out)
            got = read(out, full, suffix)
            checks.suite.check(label, same_bytes(got, tensor), lambda got=got, tensor=tensor: f"{got}\n{tensor}")
            checks.suite.check(f"{label}: no more bytes", out.stat().st_size < 4096, out.stat().st_size)
    out = checks.path(".npy")
    checks.run("extract --dtype", "extract", source, "state_dict.bfloat16", "-o", out, "--dtype", "float32")
    checks.suite.check("extract --dtype", same_bytes(torch.from_numpy(numpy.load(out)), obj["bfloat16"].float()))
    quantised = checks.path()
    ZIP.save({"q": torch.quantize_per_tensor(torch.randn(4), 0.1, 3, torch.qint8)}, quantised)
    checks.run("extract, quantised", "extract", quantised, "q", "-o", checks.path(".npy"), code=3)
    out = checks.path()
    checks.run("extract, quantised to .pt", "extract", quantised, "q", "-o", out)
    checks.suite.check("extract, quantised to .pt", torch.equal(torch.load(out), torch.load(quantised)["q"]))


def read(path, name, suffix):
    if suffix == ".npy":
        return torch.from_numpy(numpy.load(path))
    if suffix == ".npz":
        return torch.from_numpy(numpy.load(path)[name])
    return torch.load(path, weights_only=True) if suffix == ".pt" else safetensors.torch.load_file(path)[name]


def parts():
    a, b = torch.nn.Linear(3, 2).state_dict(prefix="a."), torch.nn.BatchNorm1d(4).state_dict(prefix="b.")
    weight = torch.randn(3, 3)
    a["a.tied"], a["a.turned"] = weight, weight.t()
    return a, b


def merges(checks):
    torch.manual_seed(14)
    a, b = parts()
    for ways in ((ZIP, LEGACY), (LEGACY, ZIP), (Way("gzip", packed=True), ZIP)):
        label, out = f"merge {ways[0].name} and {ways[1].name}", checks.path()
        checks.run(label, "merge", *saved(checks, [a, {"model": b, "epoch": 3}], ways), out, "--no-gzip")
        got = same(checks, label, out, {**a, **b})
        if got is None:
            continue
        checks.suite.equal(f"{label}: _metadata", dict(got._metadata), {**a._metadata, **b._metadata})
        tied = got["a.tied"].untyped_storage().data_ptr() == got["a.turned"].untyped_storage().data_ptr()
        checks.suite.check(f"{label}: still tied", tied, got)
    done = checks.run("merge, a name twice", "merge", *saved(checks, [a, dict(a)]), checks.path(), code=2)
    checks.suite.check("merge, a name twice: says both", "'a.weight' is in" in done.err, done)
    other = {"coo": tensor_cases.sparse()["coalesced"], "none._extra_state": {"x": [1]}}
    other |= {"parameter": torch.nn.Parameter(torch.ones(2)), **tensor_cases.quantised()}
    out = checks.path()
    paths = saved(checks, [a, other])
    checks.run("merge, of every kind", "merge", *paths, out)
    reference = checks.path()
    joined = collections.OrderedDict({**a, **torch.load(paths[1], weights_only=False)})
    joined._metadata = a._metadata
    ZIP.save(joined, reference)
    checks.run("merge, of every kind: as PyTorch would have saved it", "diff", reference, out)
    for suffix in (".safetensors", ".npz"):
        out = checks.path(suffix)
        checks.run(f"merge to {suffix}", "merge", *saved(checks, [{"x": torch.ones(2)}, {"y": torch.zeros(3)}]), out)
        names = list(safetensors.torch.load_file(out)) if suffix == ".safetensors" else list(numpy.load(out))
        checks.suite.equal(f"merge to {suffix}: names", sorted(names), ["x", "y"])


def shards(checks):
    torch.manual_seed(15)
    obj = collections.OrderedDict((f"layer{i}.weight", torch.randn(50, 10)) for i in range(9))
    source = saved(checks, [obj])[0]
    for options in ((), ("--format", "safetensors-index"), ("--max-size", "4kB")):
        label = f"shard {' '.join(options)}"
        folder, out = checks.path(""), checks.path()
        checks.run(label, "shard", source, folder, *options)
        files = [f for f in folder.iterdir() if f.suffix in (".bin", ".safetensors")]
        checks.suite.equal(f"{label}: files", len(files), 5 if "--max-size" in options else 1)
        checks.run(f"{label}, merge", "merge", folder, out)
        same(checks, f"{label}, merged", out, obj)
    pairs = torch.randn(4, 3, dtype=torch.cfloat)
    lazy = {"conjugate": pairs.conj(), "negative": torch.randn(3, dtype=torch.cfloat).conj().imag}
    for form in ("safetensors-index", "torch-index"):
        folder, out = checks.path(""), checks.path()
        checks.run(f"lazy views to {form}", "convert", *saved(checks, [lazy]), folder, "--format", form)
        checks.run(f"lazy views to {form}, merge", "merge", folder, out)
        got = torch.load(out, weights_only=True)
        for name, tensor in lazy.items():
            checks.suite.check(f"lazy views to {form}: {name}", torch.equal(got[name], tensor), lambda n=name: got[n])
    for kind, note in ((collections.OrderedDict, True), (dict, False)):
        done = checks.run(f"shard, a {kind.__name__}", "shard", *saved(checks, [kind(w=torch.ones(2))]), checks.path(""))
        checks.suite.equal(f"shard, a {kind.__name__}: told", "such as OrderedDict, become dicts" in done.err, note)
    folder = checks.path("")
    checks.run("to dcp", "convert", source, folder, "--format", "dcp")
    out = checks.path()
    checks.run("merge of dcp", "merge", folder, out)
    same(checks, "merge of dcp", out, obj)
    checks.run("shard, a trainer", "shard", *saved(checks, [{"epoch": 1, "model": obj}]), checks.path(""), "--weights-only")


GROUPS = [extracts, merges, shards]
