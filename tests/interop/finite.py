"""verify --finite against torch.isnan and torch.isinf, and verify --digest against what digest prints."""

import re

import cases
import saving
import torch
from saving import WAYS, ZIP

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
FLOAT8 = [
    torch.float8_e4m3fn,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2,
    torch.float8_e5m2fnuz,
    torch.float8_e8m0fnu,
]
COMPLEX = [torch.complex32, torch.complex64, torch.complex128]


def expected(t):
    """(NaN, +Inf, -Inf, first index) of the numbers that PyTorch sees."""
    parts = torch.view_as_real(t.resolve_conj().resolve_neg()) if t.is_complex() else t.unsqueeze(-1)
    numbers = parts.to(torch.float64) if parts.dtype not in FLOAT8 else parts.to(torch.float32)
    bad = ~numbers.isfinite()
    if not bad.any():
        return None
    first = bad.any(-1).reshape(-1).nonzero()[0].item()
    index = []
    for size in reversed(t.shape):
        index.insert(0, first % size)
        first //= size
    return (int(numbers.isnan().sum()), int((numbers == torch.inf).sum()), int((numbers == -torch.inf).sum()), index)


def sample(dtype):
    """Random bits: each kind of number there is, in several shapes and views."""
    size = torch.empty(0, dtype=dtype).element_size()
    flat = torch.randint(0, 256, (7 * 11 * 13 * size,), dtype=torch.uint8)
    if dtype in FLOAT8:
        flat[:256] = torch.arange(256, dtype=torch.uint8)
    made = flat.view(dtype).reshape(7, 11, 13)
    return {
        "all": made,
        "part": made[2:4],
        "columns": made[:, 3:9:2, ::3],
        "turned": made.permute(2, 0, 1),
        "expanded": made[:1, :, :1].expand(5, 11, 3),
        "windows": made.reshape(-1).unfold(0, 5, 2),
        "one": made[0, 0, 0],
        "none": made[:0],
        "few": torch.zeros(2, 3, dtype=torch.float32).to(dtype) if dtype not in FLOAT8 else made[:1, :1, :1].clone(),
    }


def numbers(checks):
    torch.manual_seed(3)
    for dtype in FLOATS + FLOAT8 + COMPLEX:
        obj = sample(dtype)
        if dtype in COMPLEX:
            obj["conjugate"] = obj["all"].conj()
        if dtype in FLOATS:
            special = torch.tensor([0.0, torch.nan, torch.inf, -torch.inf, 1.0], dtype=torch.float64).to(dtype)
            obj["special"] = special
            obj["negative"] = torch._neg_view(special)
        found = {name: expected(t) for name, t in obj.items()}
        for way in WAYS:
            source, label = checks.path(way.suffix), f"--finite, {dtype}, {way.name}"
            if not way.save(obj, source) or (way.legacy and saving.load(source).__class__ is saving.Failed):
                continue
            done = checks.ckpt("verify", "--finite", "--json", source)
            got = {}
            for finding in done.json["findings"] if done.code in (0, 1) else []:
                if finding["fault"]:
                    name = finding["where"].removeprefix("tensor '").removesuffix("'")
                    counts = [re.search(rf"([\d,]+) {re.escape(w)}", finding["what"]) for w in ("NaN", "+Inf", "-Inf")]
                    index = re.search(r"first at \[(.*)\]", finding["what"])[1]
                    got[name] = (
                        *(int(m[1].replace(",", "")) if m else 0 for m in counts),
                        [int(i) for i in index.split(", ")] if index else [],
                    )
            wanted = {k: v for k, v in found.items() if v}
            checks.suite.check(f"{label}: exit", done.code == bool(wanted), done)
            checks.suite.equal(label, got, wanted)


def lists(checks):
    """Each file agrees with the list of any other that holds the same weights, and with no other."""
    obj = cases.ALL["dtypes"]()
    source, other = checks.path(), checks.path()
    ZIP.save(obj, source)
    # A part of a sparse tensor is called as another tensor is; an attribute has no name.
    twice, listed = checks.path(), checks.path(".digest")
    held = torch.nn.Parameter(torch.ones(2))
    held.best = torch.arange(3.0)
    torch.save({"w": torch.eye(3).to_sparse(), "w.values": torch.ones(2), "p": held}, twice)
    for options in ([], ["--json"]):
        listed.write_bytes(checks.ckpt("digest", *options, twice).out)
        done = checks.run(f"verify --digest {options}, a name that comes twice", "verify", "--digest", listed, twice)
        checks.suite.check(f"verify --digest {options}: what no list has", "remark: 1 tensor without a name" in done.text, done)
    changed = dict(obj)
    name = next(k for k, v in obj.items() if v.dtype == torch.float32 and v.numel())
    changed[name] = obj[name] + 1
    ZIP.save(changed, other)
    for options in ([], ["--json"]):
        listed = checks.path(".digest")
        listed.write_bytes(checks.ckpt("digest", *options, source).out)
        for way in WAYS:
            copy = checks.path(way.suffix)
            if way.save(obj, copy):
                checks.run(f"verify --digest {options}, {way.name}", "verify", "--digest", listed, copy)
        done = checks.run(f"verify --digest {options}, one changed", "verify", "--digest", listed, other, code=1)
        checks.suite.check(
            f"verify --digest {options}: names the one, and the total",
            f"tensor '{name}'" in done.text and "the total is" in done.text and done.text.count("fault: ") == 2,
            done,
        )
