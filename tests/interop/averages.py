"""ckpt average against the same sums in PyTorch: float64, in the files' order, rounded once by Tensor.to()."""

import collections

import saving
import torch
from equal import same_bytes
from saving import LEGACY, ZIP, Way

CASTS = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2]
COMPLEX = [torch.complex64, torch.complex128]
PACKED = Way("gzip", packed=True)


def numbers(dtype, *shape):
    if dtype.is_complex:
        return torch.randn(*shape, dtype=dtype)
    return torch.randn(*shape).to(torch.float32).to(dtype)


def model(dtype=torch.float32, step=0):
    """Tied weights, a transposed one, a slice of a larger storage, an expanded one, integers, a bool."""
    weight = numbers(dtype, 33, 17)
    return collections.OrderedDict(
        [
            ("embed", weight),
            ("head", weight),
            ("turned", weight.t()),
            ("slice", numbers(dtype, 5, 40)[1:3, 4:20]),
            ("expanded", numbers(dtype, 1, 7).expand(3, 7)),
            ("large", numbers(dtype, 9001)),
            ("scalar", numbers(dtype, 1)[0]),
            ("empty", numbers(dtype, 0, 3)),
            ("steps", torch.tensor(step)),
            ("mask", torch.tensor([step % 2 == 0, True])),
        ]
    )


def doubles(t):
    if t.is_complex():  # part by part, as complex division would not be
        return torch.view_as_real(t.to(torch.complex128))
    return t.to(torch.float32).to(torch.float64) if t.dtype in CASTS[4:] else t.to(torch.float64)


def averaged(tensors, weights=None, decay=None):
    last = tensors[-1]
    if not (last.is_floating_point() or last.is_complex()):
        return last
    total = None
    for i, t in enumerate(tensors):
        x = doubles(t)
        if decay is not None:
            total = x if total is None else total * decay + x * (1 - decay)
        else:
            x = x * (weights[i] if weights else 1.0)
            total = x if total is None else total + x
    if decay is None:
        total = total / sum(weights or [1.0] * len(tensors))
    return (torch.view_as_complex(total) if last.is_complex() else total).to(last.dtype)


def saved(checks, objs, ways=(ZIP,)):
    paths = []
    for i, obj in enumerate(objs):
        way = ways[i % len(ways)]
        paths.append(checks.path(way.suffix))
        way.save(obj, paths[-1])
    return paths


def same(checks, label, out, wanted):
    got = saving.load(out, weights_only=True)
    if isinstance(got, saving.Failed):
        checks.suite.check(label, False, repr(got))
        return None
    checks.suite.equal(f"{label}: names", list(got), list(wanted))
    for name, tensor in wanted.items():
        checks.suite.check(f"{label}: {name}", same_bytes(got[name], tensor), lambda name=name: f"{got[name]}\n{wanted[name]}"[:2000])
    return got


def average(checks, label, paths, wanted, *options):
    out = checks.path()
    checks.run(label, "average", *paths, out, "--no-gzip", *options)
    return same(checks, label, out, wanted) if out.exists() else None


def dtypes(checks):
    torch.manual_seed(11)
    for dtype in CASTS + COMPLEX:
        objs = [model(dtype, i) for i in range(3)]
        ways = (ZIP, PACKED, LEGACY) if dtype in CASTS[:4] + COMPLEX else (ZIP, PACKED)
        paths = saved(checks, objs, ways)
        wanted = {name: averaged([o[name] for o in objs]) for name in objs[0]}
        got = average(checks, f"average, {dtype}", paths, wanted)
        if got:
            shared = len({got[n].untyped_storage().data_ptr() for n in ("embed", "head", "turned")}) == 1
            checks.suite.check(f"average, {dtype}: still tied", shared, got)
            checks.suite.equal(f"average, {dtype}: still transposed", got["turned"].stride(), objs[0]["turned"].stride())
        wanted = {name: averaged([o[name] for o in objs], [0.2, 0.3, 0.5]) for name in objs[0]}
        average(checks, f"average --weights, {dtype}", paths, wanted, "--weights", "0.2,0.3,0.5")
        wanted = {name: averaged([o[name] for o in objs], decay=0.9) for name in objs[0]}
        average(checks, f"average --ema, {dtype}", paths, wanted, "--ema", "0.9")
        wanted = dict(objs[0])
        average(checks, f"average of one, {dtype}", paths[:1], wanted)


def layouts(checks):
    """What lies otherwise in each file: tensor by tensor."""
    torch.manual_seed(12)
    a, b = (collections.OrderedDict(w=torch.randn(6, 4), tied=torch.randn(3), v=torch.randn(8)) for _ in range(2))
    b["w"] = torch.randn(4, 6).t()
    b["tied"] = b["v"][2:5]
    paths = saved(checks, [a, b])
    wanted = {name: averaged([a[name], b[name]]) for name in a}
    average(checks, "average, other layouts", paths, wanted)
    wanted = {name: averaged([b[name], a[name]]) for name in a}
    average(checks, "average, other layouts, other order", paths[::-1], wanted)
    mixed = [{k: v.to(d) for k, v in a.items()} for d in (torch.float16, torch.float64, torch.bfloat16, torch.float32)]
    wanted = {name: averaged([o[name] for o in mixed]) for name in a}
    done = checks.ckpt("average", *saved(checks, mixed), checks.path())
    checks.suite.check("average, other dtypes: said", "not of the same dtype" in done.err, done)
    average(checks, "average, other dtypes", saved(checks, mixed), wanted)


def lazy(checks):
    """Conjugate and negative views, in files that store them in other ways: the last one's stays what it is."""
    torch.manual_seed(14)
    a, b, wide = (torch.randn(*shape, dtype=torch.complex64) for shape in ((4,), (4,), (8,)))
    real = torch.randn(4)
    for title, objs in (
        ("the last", [{"y": a}, {"y": b.conj()}]),
        ("the first", [{"y": a.conj()}, {"y": b}]),
        ("both, of storages that differ", [{"y": wide[:4].conj()}, {"y": b.conj()}]),
        ("both", [{"y": a.conj()}, {"y": b.conj()}]),
        ("beside the plain", [{"y": a, "x": a}, {"y": b.conj(), "x": b}]),
        ("beside the plain, first", [{"y": wide[:4].conj(), "x": wide[:4]}, {"x": b, "y": b.conj()}]),
        ("negative", [{"y": real}, {"y": torch._neg_view(torch.ones(4))}]),
        ("negative, of storages that differ", [{"y": torch._neg_view(torch.randn(8)[:4])}, {"y": torch._neg_view(real)}]),
    ):
        out = checks.path()
        checks.run(f"average, lazy: {title}", "average", *saved(checks, objs), out, "--verify=full")
        got = saving.load(out, weights_only=True)
        for name in objs[0]:
            plain = [o[name].resolve_conj().resolve_neg() for o in objs]
            checks.suite.check(f"average, lazy: {title}, {name}", torch.equal(got[name], averaged(plain)), lambda n=name: got[n])
            checks.suite.equal(f"average, lazy: {title}, {name} is as it was", (got[name].is_conj(), got[name].is_neg()), (objs[-1][name].is_conj(), objs[-1][name].is_neg()))


def lazy_of_other_dtypes(checks):
    """A sign that is turned in the dtype of one file, in the average with another's."""
    for dtype in (torch.float8_e4m3fn, torch.float16, torch.uint8, torch.int8, torch.uint16, torch.bool):
        plain = torch.tensor([3.0, 1.0, 0.0, -128.0]).to(dtype) if dtype == torch.int8 else torch.tensor([3.0, 1.0, 0.0, 2.0]).to(dtype)
        last = torch._neg_view(torch.tensor([1.0, 1.0, 1.0, 0.5]))
        firsts = [plain] if dtype in (torch.float8_e4m3fn, torch.uint16, torch.bool) else [plain, torch._neg_view(plain)]
        for first in firsts:
            label = f"average, lazy: {dtype}{' negative' if first.is_neg() else ''} and float32"
            out = checks.path()
            checks.run(label, "average", *saved(checks, [{"w": first}, {"w": last}]), out, "--verify=full")
            got, wanted = saving.load(out)["w"].resolve_neg(), averaged([first.resolve_neg(), last.resolve_neg()])
            checks.suite.check(label, same_bytes(got, wanted), lambda got=got, wanted=wanted: f"{got}\n{wanted}")


def shares(checks):
    """What counts of weights is the share of their sum, however large or small they are."""
    torch.manual_seed(15)
    objs = [{"w": torch.tensor([0.3, 1e9]) * (i + 1)} for i in range(3)]
    wanted = {"w": averaged([o["w"] for o in objs], [1.0, 2.0, 1.0])}
    paths = saved(checks, objs)
    for weights in ("1,2,1", "1e300,2e300,1e300", "1e-300,2e-300,1e-300", "5e-324,1e-323,5e-324", "0.25,0.5,0.25", "-1,-2,-1"):
        average(checks, f"average --weights {weights}", paths, wanted, "--weights", weights)


def trainers(checks):
    """Everything but the state dict is the last file's."""
    torch.manual_seed(13)
    objs = []
    for i in range(2):
        net = torch.nn.Linear(4, 3)
        optimizer = torch.optim.Adam(net.parameters())
        net(torch.randn(2, 4)).sum().backward()
        optimizer.step()
        objs.append({"state_dict": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": i})
    out = checks.path()
    checks.run("average of trainers", "average", *saved(checks, objs), out)
    wanted = dict(objs[1])
    wanted["state_dict"] = objs[1]["state_dict"].copy()
    wanted["state_dict"]._metadata = objs[1]["state_dict"]._metadata
    for name in wanted["state_dict"]:
        wanted["state_dict"][name] = averaged([o["state_dict"][name] for o in objs])
    reference = checks.path()
    ZIP.save(wanted, reference)
    checks.run("average of trainers: as PyTorch would have saved it", "diff", reference, out)


def misfits(checks):
    a = {"w": torch.randn(3), "only_a": torch.randn(1), "shape": torch.randn(2)}
    b = {"w": torch.randn(3), "only_b": torch.randn(1), "shape": torch.randn(4)}
    done = checks.run("average of two models", "average", *saved(checks, [a, b]), checks.path(), code=3)
    checks.suite.check("average: names all", all(n in done.err for n in ("only_a", "only_b", "shape")), done)
    tied = torch.randn(3)
    paths = saved(checks, [{"a": torch.randn(3), "b": torch.randn(3)}, {"a": tied, "b": tied}])
    average(checks, "average, tied in the last alone", paths[:1] + paths[:1], saving.load(paths[0]))
    both = saved(checks, [{"a": torch.randn(3), "b": torch.randn(3)}, {"a": tied, "b": tied.detach()}])
    done = checks.run("average, one storage in the last alone", "average", *both, checks.path(), code=3)
    checks.suite.check("average, one storage in the last alone: said", "is not tied to another name" in done.err, done)
    average(checks, "average, one storage in the first alone", both[::-1], {n: averaged([tied, saving.load(both[0])[n]]) for n in "ab"})
    real = saved(checks, [{"w": torch.randn(3)}, {"w": torch.randn(3, dtype=torch.complex64)}])
    checks.run("average of real and complex", "average", *real, checks.path(), code=3)
    states = [{"m.a.weight": torch.randn(3)}, {"a.weight": torch.randn(3)}]
    two = saved(checks, [{"model": state, "ema": state} for state in states])
    done = checks.run("average, other prefixes in both state dicts", "average", *two, checks.path(), code=3)
    checks.suite.check("average: a hint for both", f"hint: ckpt strip-prefix {two[0]} OUT --prefix m.\n" in done.err, done)


GROUPS = [dtypes, layouts, lazy, lazy_of_other_dtypes, shares, trainers, misfits]
