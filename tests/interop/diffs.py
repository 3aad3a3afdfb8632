"""ckpt diff against PyTorch: no difference however an object was saved, each difference by its path, torch's own numbers."""

import collections
import copy
import math
from fractions import Fraction

import cases
import saving
import tensor_cases
import torch
from equal import tensor_bytes
from saving import LEGACY, WAYS, ZIP, tagged
from torch import nn

OLD_PROTOCOLS = [saving.Way(f"zip, protocol {n}", n) for n in (0, 1)]


def diff(checks, name, a, b, *options, code=1):
    done = checks.run(name, "diff", "--json", a, b, *options, code=code)
    return done.json if done.code in (0, 1) else None


def nothing_differs(checks, name, a, b, *options):
    found = diff(checks, name, a, b, *options, code=0)
    if found:
        checks.suite.check(f"{name}: no difference", found["same"], found)


def spelling(checks):
    """One object, saved in every way: no difference."""
    for name, make in cases.ALL.items():
        torch.manual_seed(3)
        obj = make()
        first = checks.path()
        if not ZIP.save(obj, first):
            continue
        for way in WAYS + (OLD_PROTOCOLS if not has_tensors(obj) else []):
            other = checks.path(way.suffix)
            if way.save(obj, other):
                nothing_differs(checks, f"spelling, {name}, {way.name}", first, other)


def has_tensors(obj):
    seen, todo = set(), [obj]
    while todo:
        one = todo.pop()
        if isinstance(one, (torch.Tensor, torch.UntypedStorage, torch.TypedStorage, nn.Module)):
            return True
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, dict):
            todo += [*one, *one.values()]
        elif isinstance(one, (list, tuple, set, frozenset, collections.deque)):
            todo += one
        elif hasattr(one, "__dict__"):
            todo.append(vars(one))
    return False


def strangers(checks):
    """Different objects differ."""
    paths = {}
    for name, make in cases.ALL.items():
        paths[name] = checks.path()
        if not ZIP.save(make(), paths[name]):
            del paths[name]
    names = list(paths)
    for one, other in zip(names, names[1:] + names[:1]):
        diff(checks, f"strangers, {one} and {other}", paths[one], paths[other])


def places(checks):
    """Tensors of one name that torch.load gives under other keys."""
    t, u = torch.tensor([1.0]), torch.tensor([2.0])
    rows = [
        ({1: t}, {"1": t}),
        ({True: t}, {"True": t}),
        ({None: t}, {"None": t}),
        ({(0, 1): t}, {"(0, 1)": t}),
        ({"opt": {0: t, 1: u}}, {"opt": {"0": t, "1": u}}),
        ({"a.b": t, "a": {"c": u}}, {"a": {"b": t, "c": u}}),
        ({"a": {"x": t, "y": 1}}, {"a.x": t, "a": {"y": 1}}),
    ]
    for one, other in rows:
        paths = checks.path(), checks.path()
        for obj, path in zip((one, other), paths):
            ZIP.save(obj, path)
        found = diff(checks, f"places, {one} and {other}", *paths)
        if found:
            good = found["other"] and not found["tensors"] and not found["only_a"] and not found["only_b"]
            checks.suite.check(f"places, {one} and {other}: told", good, found)


def conversions(checks):
    """What ckpt converts differs in what was asked for, and in nothing else."""
    for name in ("trainer with args", "data parallel", "quantised", "sparse", "views", "tied"):
        source = checks.path()
        with tagged("cuda:0"):
            ZIP.save(cases.ALL[name](), source)
        label = f"conversions, {name}"
        out = checks.written(label, source, "--to", "cpu", *checks.allowed(label, source))
        found = diff(checks, label, source, out)
        checks.suite.check(
            f"{label}: devices alone",
            found["tensors"] and all(set(t) == {"name", "device"} for t in found["tensors"]) and not found["other"],
            found,
        )
        nothing_differs(checks, f"{label}, ignored", source, out, "--ignore", "devices")


def set_in(obj, *path_and_value):
    *path, last, value = path_and_value
    for part in path:
        obj = obj[part] if isinstance(obj, (dict, list)) else getattr(obj, part)
    if isinstance(obj, (dict, list)):
        obj[last] = value
    else:
        setattr(obj, last, value)


def edits(checks):
    """One edit, one difference, by its path and both values."""
    trainer = cases.trainer_with_args()
    rows = [
        (("epoch",), 4, "epoch", "3", "4"),
        (("epoch",), 3.0, "epoch", "3", "3.0"),
        (("epoch",), True, "epoch", "3", "True"),
        (("loss",), 0.25 + 2**-54, "loss", "0.25", "0.25000000000000006"),
        (("loss",), math.nan, "loss", "0.25", "nan"),
        (("history", 1, "loss"), 0.3, "history.1.loss", "0.2", "0.3"),
        (("history", 1), ({"loss": 0.2},), "history.1", "dict of 1", "tuple of 1"),
        (("device",), b"cuda:0", "device", "'cuda:0'", "b'cuda:0'"),
        (("args", "seed"), 2**40 + 1, "args.seed", str(2**40), str(2**40 + 1)),
        (("args", "gpus", 1), None, "args.gpus.1", "1", "None"),
        (("args", "new"), [1], "args.new", None, "list of 1"),
        (("classes",), {"cat", "dog", "owl"}, "classes.owl", None, "'owl'"),
        (("optimizer", "param_groups", 0, "lr"), 0.2, "optimizer.param_groups.0.lr", "0.01", "0.2"),
        (("optimizer", "param_groups", 0, "params", 0), 7, "optimizer.param_groups.0.params.0", "0", "7"),
        (("scheduler", "last_epoch"), 9, "scheduler.last_epoch", "2", "9"),
        (("model",), dict(trainer["model"]), "model", "collections.OrderedDict of", "dict of"),
    ]
    first = checks.path()
    ZIP.save(trainer, first)
    for path, value, where, a, b in rows:
        edited = copy.deepcopy(trainer)
        set_in(edited, *path, value)
        for way in (ZIP, LEGACY, WAYS[3]):
            other, label = checks.path(), f"edits, {where} = {value!r:.20}, {way.name}"
            way.save(edited, other)
            found = diff(checks, label, first, other)
            if not found:
                continue
            others = [o for o in found["other"] if not o["path"].endswith("_metadata")]
            good = len(others) == 1 and others[0]["path"] == where and not found["tensors"]
            if good:
                got = others[0]["a"], others[0]["b"]
                good = all(x == y or (y and x and x.startswith(y)) for x, y in zip(got, (a, b)))
            checks.suite.check(label, good, found)
            nothing_differs(checks, f"{label}, ignored", first, other, "--ignore", "other")


def flags(checks):
    """requires_grad, Parameter or Tensor, attributes: no bytes, but differences."""
    with_attribute = nn.Parameter(torch.ones(2))
    with_attribute.note = "x"
    t = torch.ones(2)
    rows = [
        ("requires_grad", t, torch.ones(2, requires_grad=True), "t.requires_grad"),
        ("Parameter", t, nn.Parameter(t, requires_grad=False), "t.type"),
        ("attribute", nn.Parameter(torch.ones(2)), with_attribute, "t.note"),
    ]
    for name, a, b, path in rows:
        one, other = checks.path(), checks.path()
        ZIP.save({"t": a}, one)
        ZIP.save({"t": b}, other)
        found = diff(checks, f"flags, {name}", one, other)
        checks.suite.check(f"flags, {name}: {path}", [o["path"] for o in found["other"]][:1] == [path], found)


def quantisers(checks):
    """A scale is part of what a quantised tensor means, whatever is ignored."""
    x, scales, zeros = torch.linspace(-1, 1, 12).reshape(3, 4), torch.tensor([0.1, 0.2, 0.3]), torch.zeros(3)
    a = {
        "tensor": torch.quantize_per_tensor(x, 0.1, 3, torch.qint8),
        "channel": torch.quantize_per_channel(x, scales, zeros, 0, torch.quint8),
    }
    b = {
        "tensor": torch._make_per_tensor_quantized_tensor(a["tensor"].int_repr(), 0.2, 3),
        "channel": torch._make_per_channel_quantized_tensor(
            a["channel"].int_repr(), scales + torch.tensor([0, 0, 0.1]), zeros, 0
        ),
    }
    one, other = checks.path(), checks.path()
    ZIP.save(a, one)
    ZIP.save(b, other)
    for options in ([], ["--ignore", "other"]):
        found = diff(checks, f"quantisers {options}", one, other, *options)
        checks.suite.equal(
            f"quantisers {options}: values that differ",
            [o["path"] for o in found["other"]] + [t["name"] for t in found["tensors"]],
            ["tensor.quantizer.1", "channel.quantizer.1"],
            found,
        )


def is_number(t):
    return t.is_quantized or t.dtype != torch.float4_e2m1fn_x2


def numbers_of(t):
    """Python's numbers: exact."""
    if t.is_quantized:
        t = t.int_repr()
    if t.dtype.is_complex:
        t = t.to(torch.complex128)
    elif t.dtype.is_floating_point:
        t = t.to(torch.float32).to(torch.float64) if t.element_size() < 8 else t
    return t.reshape(-1).tolist()


def bits_of(t):
    t = t.int_repr() if t.is_quantized else t
    data, size = tensor_bytes(t), t.element_size()
    return [data[i : i + size] for i in range(0, len(data), size)]


def exact_error(x, y):
    if isinstance(x, complex) or isinstance(y, complex) or not (math.isfinite(x) and math.isfinite(y)):
        return abs(x - y)
    return float(abs(Fraction(x) - Fraction(y)))


def expected_statistics(a, b, differs):
    errors, bad = [], 0
    if not is_number(a):
        return {"different": sum(differs), "elements": a.numel(), "largest_error": None, "mean_error": None}
    for x, y, different in zip(numbers_of(a), numbers_of(b), differs):
        try:
            error = 0 if x == y else exact_error(x, y)
        except OverflowError:
            error = math.inf
        if math.isfinite(error):
            errors.append(error)
        elif different:
            bad += 1
        else:
            errors.append(0)
    return {
        "different": sum(differs),
        "elements": a.numel(),
        "not_finite": bad,
        "largest_error": float(max(errors)) if errors else None,
        "mean_error": float(sum(errors)) / len(errors) if errors else None,
    }


def compare_statistics(checks, name, found, a, b, differs):
    entry = next((t for t in found["tensors"] if "values" in t), None) if found else None
    if not any(differs):
        return checks.suite.check(f"{name}: no difference of values", found and entry is None, found)
    if entry is None:
        return checks.suite.fail(f"{name}: nothing found", found)
    expected, got = expected_statistics(a, b, differs), entry["values"]
    for key, value in expected.items():
        close = value == got[key] or (value and got[key] and math.isclose(value, got[key], rel_tol=1e-12))
        checks.suite.check(f"{name}: {key}", close, f"expected {value}, got {got[key]}\n{got}")
    place = differs.index(True)
    index = [int(i) for i in torch.unravel_index(torch.tensor(place), a.shape)] if a.dim() else []
    checks.suite.equal(f"{name}: first", got["first"]["index"], index)
    if is_number(a) and not a.dtype.is_complex:
        x, text = numbers_of(a)[place], got["first"]["a"].partition(" (0x")[0]
        read = float if a.is_floating_point() else int
        value = {"True": 1, "False": 0}.get(text) if a.dtype == torch.bool else read(text)
        single = a.dtype == torch.float32
        good = value is None or value == x or value != value or (single and torch.tensor(value) == torch.tensor(x))
        checks.suite.check(f"{name}: first value", good, f"{text} is not {x}")


def pairs():
    """Tensors of every dtype whose bits differ here and there."""
    for dtype in tensor_cases.DTYPES:
        a, b = tensor_cases.of_dtype(dtype, (5, 7), 1), tensor_cases.of_dtype(dtype, (5, 7), 2)
        half = a.clone().reshape(-1).view(-1)
        half_bytes, other = half.view(torch.uint8), b.reshape(-1).view(torch.uint8)
        half_bytes[len(half_bytes) // 2 :] = other[len(half_bytes) // 2 :]
        yield str(dtype), a, b
        yield f"{dtype}, the second half", a, half.reshape(5, 7)
    inf, nan = math.inf, math.nan
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        yield (
            f"{dtype}, NaN and infinity",
            torch.tensor([nan, nan, 1, inf, -inf, inf, 0.0, 1, 3], dtype=dtype),
            torch.tensor([nan, 1, nan, inf, inf, 2, -0.0, 1.5, 3], dtype=dtype),
        )
    big = 2**62
    yield "int64 past 53 bits", torch.tensor([big, -big * 2, 5]), torch.tensor([big + 1, big * 2 - 1, 5])
    yield "0-d", torch.tensor(1.5), torch.tensor(-1.5)
    yield "a view", torch.arange(12.0).reshape(3, 4).t(), torch.arange(12.0).reshape(4, 3) + 0.5
    x = torch.randn(4, 6, generator=torch.Generator().manual_seed(1))
    for dtype in (torch.qint8, torch.quint8, torch.qint32):
        yield (
            f"{dtype}",
            torch.quantize_per_tensor(x, 0.1, 3, dtype),
            torch.quantize_per_tensor(x + 0.05, 0.1, 3, dtype),
        )


def statistics(checks):
    """Counts and errors are those of Python's own arithmetic on torch's numbers."""
    for name, a, b in pairs():
        one, other = checks.path(), checks.path()
        if not (ZIP.save({"t": a}, one) and ZIP.save({"t": b}, other)):
            checks.suite.skip(name, "PyTorch cannot save it")
            continue
        differs = [x != y for x, y in zip(bits_of(a), bits_of(b))]
        found = diff(checks, f"statistics, {name}", one, other, code=1 if any(differs) else 0)
        compare_statistics(checks, f"statistics, {name}", found, a, b, differs)


def tolerances(checks):
    """Close is what torch.isclose(equal_nan=True) calls close; integers have no tolerance."""
    for name, a, b in pairs():
        one, other = checks.path(), checks.path()
        if not (ZIP.save({"t": a}, one) and ZIP.save({"t": b}, other)):
            continue
        wide = torch.complex128 if a.dtype.is_complex else torch.float64
        for rtol, atol in ((0, 0), (0.5, 0), (0, 0.75), (1e-2, 1e-3)):
            if is_number(a) and (a.is_floating_point() or a.dtype.is_complex):
                x, y = (torch.tensor(numbers_of(t), dtype=wide) for t in (a, b))
                differs = (~torch.isclose(x, y, rtol=rtol, atol=atol, equal_nan=True)).tolist()
            else:
                numbers = numbers_of if is_number(a) else bits_of
                differs = [x != y for x, y in zip(numbers(a), numbers(b))]
            label = f"tolerances, {name}, {rtol}, {atol}"
            found = diff(checks, label, one, other, "--rtol", str(rtol), "--atol", str(atol), code=1 if any(differs) else 0)
            compare_statistics(checks, label, found, a, b, differs)


def casts(checks):
    """Of two dtypes the values are compared as numbers: what a cast lost."""
    x = torch.cat([torch.linspace(-3, 3, 40), torch.tensor([math.inf, math.nan, 0.0, -0.0])])
    rows = [(torch.float32, to) for to in (torch.float64, torch.float16, torch.bfloat16, torch.float8_e4m3fn)]
    rows += [(torch.float32, torch.float8_e5m2), (torch.float64, torch.float32), (torch.float32, torch.complex64)]
    pairs = [(f"{a} to {b}", x.to(a), x.to(a).to(b)) for a, b in rows]
    whole = torch.tensor([0, 1, 200, 2**53 + 1, -(2**63), 2**63 - 1])
    pairs += [(f"int64 to {t}", whole, whole.to(t)) for t in (torch.int32, torch.float32, torch.float64, torch.bool)]
    for name, a, b in pairs:
        one, other = checks.path(), checks.path()
        ZIP.save({"t": a}, one)
        ZIP.save({"t": b}, other)
        differs = [not (p == q or (p != p and q != q)) for p, q in zip(numbers_of(a), numbers_of(b))]
        found = diff(checks, f"casts, {name}", one, other)
        words = {"a": str(a.dtype).removeprefix("torch."), "b": str(b.dtype).removeprefix("torch.")}
        checks.suite.equal(f"casts, {name}: dtype", found["tensors"][0].get("dtype"), words)
        compare_statistics(checks, f"casts, {name}", found, a, b, differs)
        options = ["--ignore", "dtypes"]
        found = diff(checks, f"casts, {name}, ignored", one, other, *options, code=1 if any(differs) else 0)
        compare_statistics(checks, f"casts, {name}, ignored", found, a, b, differs)


GROUPS = [spelling, strangers, places, conversions, edits, flags, quantisers, statistics, tolerances, casts]
