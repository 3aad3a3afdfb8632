"""ckpt stats against torch's own figures of tensor.to(float64)."""

import math
from pathlib import Path

import cases
import saving
import tensor_cases
import torch
from finite import COMPLEX, FLOAT8, FLOATS, sample
from saving import WAYS, ZIP

BINS = 7
CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "good"
INTEGERS = [
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint8,
    torch.uint16,
    torch.uint32,
    torch.uint64,
    torch.bool,
]


def as_doubles(t):
    if t.is_quantized:
        t = t.int_repr()
    if t.is_complex():
        return t.resolve_conj().to(torch.complex128).abs()
    if t.dtype in FLOAT8:
        return t.to(torch.float32).to(torch.float64)
    return t.to(torch.float64)


def expected(t):
    x = as_doubles(t).reshape(-1)
    finite = x[x.isfinite()]
    some = finite.numel() > 0
    exact = t.reshape(-1).tolist() if t.dtype in (torch.int64, torch.uint64) else None
    return {
        "elements": x.numel(),
        "zeros": int((x == 0).sum()),
        "nan": int(x.isnan().sum()),
        "positive_infinity": int((x == torch.inf).sum()),
        "negative_infinity": int((x == -torch.inf).sum()),
        "min": (min(exact) if exact else finite.min().item()) if some else None,
        "max": (max(exact) if exact else finite.max().item()) if some else None,
        "mean": finite.mean().item() if some else None,
        "std": finite.std().item() if finite.numel() > 1 else None,
        "l2": torch.linalg.vector_norm(finite).item(),
        "histogram": histogram(finite) if some else None,
    }


def histogram(x):
    low, high = x.min().item(), x.max().item()
    if low == high:
        low, high = low - 1, high + 1
    if not math.isfinite((high - low) * BINS):
        return "not torch's"
    return {"min": low, "max": high, "counts": [int(n) for n in torch.histc(x, BINS, low, high)]}


def close(a, b, scale):
    """Equal but for rounding: what cancels is measured by what it is made of."""
    if a is None or b is None:
        return a == b or not math.isfinite(a if b is None else b)
    return abs(a - b) <= 1e-12 * max(abs(b), scale) + 1e-300


def difference(got, wanted, t):
    if got is None:
        return "no figures"
    x = as_doubles(t)
    scale = x[x.isfinite()].abs().mean().item() if x.isfinite().any() else 0
    for key, value in wanted.items():
        if key in ("mean", "std", "l2"):
            same = close(got[key], value, scale if key == "mean" else 0)
        else:
            same = value == "not torch's" or got[key] == value
        if not same:
            return f"{key}: {got[key]}, torch has {value}"
    return None


def compare(checks, label, source, tensors):
    done = checks.run(label, "stats", "--json", "--bins", str(BINS), source)
    if done.code:
        return None
    got = {row["name"]: row for row in done.json["tensors"]}
    checks.suite.equal(f"{label}: names", list(got), list(tensors))
    for name, tensor in tensors.items():
        wrong = difference(got.get(name, {}).get("stats"), expected(tensor), tensor)
        checks.suite.check(f"{label}, {name}", wrong is None, lambda wrong=wrong: wrong)
    return done.json["floating"]


def dtypes(checks):
    torch.manual_seed(5)
    for dtype in FLOATS + FLOAT8 + COMPLEX + INTEGERS:
        obj = sample(dtype)
        if dtype == torch.bool:
            obj = {name: (t.view(torch.uint8) & 1).to(torch.bool) for name, t in obj.items()}
        if dtype in COMPLEX:
            obj["conjugate"] = obj["all"].conj()
        if dtype in FLOATS:
            obj["negative"] = torch._neg_view(obj["few"] + 2)
            obj["normal"] = torch.randn(10_007).to(dtype)
        for way in WAYS[:1] + WAYS[-1:]:
            source = checks.path(way.suffix)
            if way.save(obj, source) and saving.load(source).__class__ is not saving.Failed:
                compare(checks, f"stats, {dtype}, {way.name}", source, obj)


def extremes(checks):
    """What is hard for sums: sizes, cancellation, a mean far from zero, numbers without a normal exponent."""
    torch.manual_seed(6)
    random = torch.randn(100_003, dtype=torch.float64)
    obj = {
        "large": random * 1e150,
        "too large": torch.tensor([1e300, 3e300, -2.0], dtype=torch.float64),
        "largest": torch.tensor([-1.7e308, 1.7e308], dtype=torch.float64),
        "small": random * 1e-150,
        "denormal": torch.tensor([5e-324, 3e-320, 2e-310, 0], dtype=torch.float64),
        "far": 1e9 + random,
        "cancel": torch.cat([random * 1e8, -random * 1e8, random.abs()]),
        "alternating": torch.tensor([1e16, 1.0, -1e16] * 5000, dtype=torch.float64),
        "constant": torch.full((5000,), 0.1),
        "half": (torch.randn(70_001) * 1e4).to(torch.float16),
        "edges": (torch.randn(10_001, dtype=torch.float64) * 7).round() / 7,
        "whole": torch.randint(-50, 51, (9001,)),
    }
    source = checks.path()
    ZIP.save(obj, source)
    wanted = {name: t for name, t in obj.items() if name not in ("too large", "largest", "denormal")}
    done = checks.run("stats, extremes", "stats", "--json", "--bins", str(BINS), source)
    got = {row["name"]: row["stats"] for row in done.json["tensors"]}
    for name, tensor in wanted.items():
        wrong = difference(got[name], expected(tensor), tensor)
        checks.suite.check(f"stats, {name}", wrong is None, lambda wrong=wrong: wrong)
    # torch's sums pass what a double holds, or fall below it; so do these.
    checks.suite.equal("stats, too large", [got["too large"][k] for k in ("std", "l2")], [None, None])
    checks.suite.check("stats, too large: mean", close(got["too large"]["mean"], obj["too large"].mean().item(), 0), got)
    checks.suite.equal("stats, largest: histogram", got["largest"]["histogram"]["counts"], [1, 0, 0, 0, 0, 0, 1])
    checks.suite.equal("stats, denormal: max", got["denormal"]["max"], 2e-310)
    checks.suite.equal("stats, denormal: l2", got["denormal"]["l2"], 0)


def views(checks):
    for name in ("views", "retyped", "tied", "large_storage_small_view", "quantised"):
        obj = {k: v.detach() for k, v in getattr(tensor_cases, name)().items()}
        source = checks.path()
        ZIP.save(obj, source)
        compare(checks, f"stats, {name}", source, obj)
    sparse = {k: v for k, v in tensor_cases.sparse().items() if k in ("coalesced", "csr")}
    source = checks.path()
    ZIP.save(sparse, source)
    coo, csr = sparse["coalesced"], sparse["csr"]
    parts = {
        "coalesced.indices": coo.indices(),
        "coalesced.values": coo.values(),
        "csr.crow_indices": csr.crow_indices(),
        "csr.col_indices": csr.col_indices(),
        "csr.values": csr.values(),
    }
    compare(checks, "stats, sparse", source, parts)
    packed = tensor_cases.sub_byte()["quint4x2"]
    ZIP.save({"q": packed}, source)
    numbers = torch.quantize_per_channel(packed.dequantize(), packed.q_per_channel_scales(), torch.zeros(3), 0, torch.quint8)
    compare(checks, "stats, quint4x2", source, {"q": numbers})
    ZIP.save(tensor_cases.meta(), source)
    done = checks.run("stats, meta", "stats", "--json", source)
    checks.suite.equal("stats, meta: no figures", [row["stats"] for row in done.json["tensors"]], [None, None])


def all_floating(checks):
    """The row for all of them is that of their concatenation."""
    obj = cases.ALL["dtypes"]() | {"more": torch.randn(1000), "again": torch.randn(3, 5, dtype=torch.float64) * 100}
    obj = {k: v for k, v in obj.items() if v.dtype in FLOATS + [torch.int32, torch.complex64]}
    source = checks.path(".pt.gz")
    saving.Way("gzip", packed=True).save(obj, source)
    floating = [as_doubles(v).reshape(-1) for v in obj.values() if v.dtype in FLOATS]
    got = compare(checks, "stats, several", source, obj)
    together = torch.cat(floating)
    checks.suite.equal("stats, all floating: how many", got["tensors"], len(floating))
    wrong = difference(got["stats"], expected(together), together)
    checks.suite.check("stats, all floating", wrong is None, lambda: wrong)
    shown = checks.ckpt("inspect", "--json", "--stats", source).json["tensors"]
    listed = checks.ckpt("stats", "--json", source).json["tensors"]
    checks.suite.equal("inspect --stats", [row["stats"] for row in shown], [row["stats"] for row in listed])


def real_files(checks):
    """State dicts that others wrote, those that PyTorch loads without running anything."""
    if not CORPUS.is_dir():
        return checks.suite.skip("real files", f"no shared corpus at {CORPUS}")
    found = 0
    for source in sorted(CORPUS.iterdir()):
        if source.stat().st_size > 1 << 20:
            continue
        loaded = saving.load(source, weights_only=True)
        if not isinstance(loaded, dict) or not loaded:
            continue
        if not all(isinstance(k, str) and isinstance(v, torch.Tensor) and v.layout == torch.strided for k, v in loaded.items()):
            continue
        compare(checks, f"stats, {source.name}", source, {k: v.detach() for k, v in loaded.items()})
        found += 1
    checks.suite.check("there are state dicts in the corpus", found > 10, found)


GROUPS = [dtypes, extremes, views, all_floating, real_files]
