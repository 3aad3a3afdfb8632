"""Whole modules: what `--weights-only` makes of them, against the model's own state_dict()."""

import copyreg
import importlib
import inspect
import pkgutil
import re
import sys
import types
from pathlib import Path

import cases
import saving
import torch
from group import process_group
from saving import LEGACY, WAYS, ZIP, Failed
from torch import nn

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"


class Odd(nn.Module):
    """What a module may hold beside layers."""

    def __init__(self):
        super().__init__()
        flat = torch.randn(24)
        self.view = nn.Parameter(flat[4:16].view(3, 4).t())
        self.same_storage = nn.Parameter(flat[:4], requires_grad=False)
        self.f16 = nn.Parameter(torch.randn(3).half())
        self.f64 = nn.Parameter(torch.randn(2, dtype=torch.float64))
        self.c64 = nn.Parameter(torch.randn(2, dtype=torch.complex64))
        self.bf16 = nn.Parameter(torch.randn(2).bfloat16())
        self.register_parameter("none", None)
        self.register_buffer("persistent", torch.arange(3))
        self.register_buffer("passing", torch.arange(4), persistent=False)
        self.register_buffer("no_buffer", None)
        self.register_buffer("with_gradient", torch.ones(2, requires_grad=True))
        self.register_buffer("sparse", torch.eye(3).to_sparse())
        self.register_buffer("quantised", torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8))
        self.lists = nn.ParameterList([torch.ones(1), torch.zeros(2)])
        self.dicts = nn.ParameterDict({"a": torch.ones(1), "b": torch.zeros(2)})
        self.layers = nn.ModuleDict({"x": nn.ModuleList([nn.Linear(2, 2), nn.Identity()]), "y": nn.ReLU()})
        self.layers["again"] = self.layers["x"]
        self.gone = None
        self.not_one = [nn.Linear(1, 1)]
        self.tensor = torch.ones(5)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
        self.out.weight = self.embed.weight


class Block(nn.Module):
    def __init__(self, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(width // stride, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = nn.Sequential(nn.Conv2d(width // 2, width, 1, 2, bias=False), nn.BatchNorm2d(width)) if stride > 1 else None


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Sequential(Block(4, 1), Block(4, 1))
        self.layer2 = nn.Sequential(Block(8, 2), Block(8, 1))
        self.fc = nn.Linear(8, 2)


class MyNorm(nn.BatchNorm2d):
    pass


MODULES = {
    "linear": lambda: nn.Linear(3, 2),
    "no bias": lambda: nn.Linear(3, 2, bias=False),
    "bilinear": lambda: nn.Bilinear(2, 3, 4),
    "convolutions": lambda: nn.Sequential(nn.Conv1d(2, 4, 3), nn.Conv2d(2, 4, 3, groups=2), nn.ConvTranspose3d(2, 2, 2)),
    "norms": lambda: nn.Sequential(
        nn.BatchNorm1d(2), nn.BatchNorm2d(2, affine=False), nn.BatchNorm3d(2, track_running_stats=False), nn.SyncBatchNorm(2)
    ),
    "other norms": lambda: nn.Sequential(
        nn.InstanceNorm2d(2), nn.InstanceNorm1d(2, affine=True, track_running_stats=True), nn.GroupNorm(1, 2), nn.LayerNorm(3), nn.RMSNorm(3)
    ),
    "a subclass of a norm": lambda: nn.Sequential(MyNorm(2)),
    "recurrent": lambda: nn.ModuleList([nn.LSTM(3, 4, 2, bidirectional=True), nn.GRU(2, 2), nn.RNN(2, 2), nn.LSTMCell(2, 2)]),
    "projected LSTM": lambda: nn.LSTM(3, 4, proj_size=2),
    "transformer": lambda: nn.Transformer(8, 2, 1, 1, 16),
    "attention": lambda: nn.MultiheadAttention(8, 2, kdim=4, vdim=4, add_bias_kv=True),
    "embeddings": lambda: nn.Sequential(nn.Embedding(3, 2, padding_idx=0), nn.EmbeddingBag(3, 2), nn.PReLU()),
    "losses": lambda: nn.ModuleDict({"ce": nn.CrossEntropyLoss(weight=torch.ones(3)), "a": nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2, 4])}),
    "weight norm": lambda: nn.Sequential(nn.utils.weight_norm(nn.Linear(3, 2))),
    "no parameters": lambda: nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.ReLU())),
    "odd": Odd,
    "tied": Tied,
    "residual": Residual,
    "data parallel": lambda: nn.DataParallel(cases.net()),
    "data parallel twice": lambda: nn.DataParallel(nn.DataParallel(Tied())),
    "frozen": lambda: cases.net().requires_grad_(False),
    "half": lambda: cases.net().half(),
    "deep": lambda: deep(50),
    "traced by fx": lambda: torch.fx.symbolic_trace(cases.net()),
    "of attributes": lambda: with_attributes(),
    "compiled": lambda: torch.compile(cases.net()),
}


def deep(levels):
    module = nn.Linear(1, 1)
    for _ in range(levels):
        module = nn.Sequential(module)
    return module


def with_attributes():
    module = nn.Linear(2, 2)
    module.weight.note = "a parameter with state"
    noted = torch.ones(3)
    noted.history = torch.randn(10)
    module.register_buffer("noted", noted)
    module.register_buffer("again", noted)
    module.made = nn.Buffer(torch.zeros(2))
    return module


def reloaded(checks, state):
    path = checks.path()
    ZIP.save(state, path)
    return saving.load(path, weights_only=True)


def compare(checks, label, source, expected, *options):
    out = checks.written(label, source, "--weights-only", *options)
    if out:
        got = saving.load(out, weights_only=True)
        checks.suite.check(f"{label}: loads with weights_only", not isinstance(got, Failed), repr(got))
        checks.same_object(label, expected, got)
    return out


def alone(checks):
    """Every kind of module, by itself."""
    for name, make in MODULES.items():
        torch.manual_seed(3)
        model = make()
        expected = reloaded(checks, model.state_dict())
        for way in WAYS if name in ("odd", "residual", "data parallel") else (ZIP, LEGACY):
            source = checks.path(way.suffix)
            if checks.suite.check(f"{name}, {way.name}: PyTorch saves it", way.save(model, source)):
                compare(checks, f"{name}, {way.name}", source, expected)


def distributed_data_parallel(checks):
    """Saved in a process group, of one; without one, Python cannot load it again."""
    with process_group():
        model = nn.parallel.DistributedDataParallel(nn.ModuleList([cases.net(), Tied()]))
        expected, source = reloaded(checks, model.state_dict()), checks.path()
        ZIP.save(model, source)
    compare(checks, "DistributedDataParallel", source, expected)


def among_others(checks):
    """In a trainer's file: found like a state dict, or named; and used by the other commands."""
    model = nn.DataParallel(cases.net())
    state = model.state_dict()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    expected = reloaded(checks, state)
    files = {
        "model": {"epoch": 3, "model": model, "optimizer": optimizer.state_dict()},
        "net": {"net": model, "ema": copy_of(model)},
        "the only one": {"epoch": 3, "generator": model},
        "in a list": [1, {"x": (model,)}],
    }
    roots = {"model": "model", "net": "net", "the only one": "generator", "in a list": "1.x.0"}
    bare = checks.path()
    ZIP.save(state, bare)
    digest = checks.ckpt("digest", bare).text
    for name, obj in files.items():
        source, label = checks.path(), f"a module under {name}"
        ZIP.save(obj, source)
        compare(checks, label, source, expected)
        compare(checks, f"{label}, named", source, expected, "--root", roots[name])
        shown = checks.run(f"{label}: inspect", "inspect", "--json", source).json
        checks.suite.check(f"{label}: shown", roots[name] in [m["path"] for m in shown["modules"]], shown["modules"])
        checks.suite.equal(f"{label}: one digest", checks.ckpt("digest", "--root", "auto", source).text, digest)
        checks.run(f"{label}: check", "check", source, "--like", bare)
        checks.run(f"{label}: check, as the model", "check", bare, "--like", source)
        stripped = checks.written(f"{label}, stripped", source, "--weights-only", "--strip-prefix")
        wanted = dict(zip([k.removeprefix("module.") for k in expected], expected.values()))
        got = saving.load(stripped, weights_only=True)
        checks.suite.equal(f"{label}, stripped: keys", list(got), list(wanted))
    both = checks.path()
    ZIP.save({"a": model, "b": state}, both)
    done = checks.run("a module and a state dict", "convert", both, checks.path(), "--weights-only", code=2)
    checks.suite.check("a module and a state dict: both named", "a, b" in done.err, done)


def copy_of(model):
    twin = nn.DataParallel(cases.net())
    twin.load_state_dict(model.state_dict())
    return twin


def without_its_code(checks):
    """Classes of a package that is not there any more."""
    package = types.ModuleType("gone_package")
    sys.modules["gone_package"] = package
    exec(
        "from torch import nn\n"
        "class Layer(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.fc = nn.Linear(3, 2)\n"
        "class Net(nn.Module):\n"
        "    __slots__ = ('extra',)\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layers = nn.Sequential(Layer(), Layer(), nn.BatchNorm1d(2))\n"
        "        self.extra = 'in a slot'\n",
        package.__dict__,
    )
    model, sources = package.Net(), {}
    expected = reloaded(checks, model.state_dict())
    for way in WAYS:
        sources[way] = checks.path(way.suffix)
        way.save(model, sources[way])
    del sys.modules["gone_package"]
    for way, source in sources.items():
        checks.suite.check(f"{way.name}: Python cannot load it", isinstance(saving.load(source, weights_only=False), Failed))
        compare(checks, f"without its code, {way.name}", source, expected)


def no_change(module, state_dict, prefix, local_metadata):
    pass


def told_of(checks):
    """What the pickle does not tell is warned of."""
    hooked, spectral = nn.Linear(2, 2), nn.utils.spectral_norm(nn.Linear(2, 2))
    hooked._register_state_dict_hook(no_change)
    for name, model in {"a hook": hooked, "spectral norm": spectral}.items():
        source, out = checks.path(), checks.path()
        ZIP.save(nn.Sequential(model), source)
        done = checks.run(name, "convert", source, out, "--weights-only")
        checks.suite.check(f"{name}: a warning", "'0' has a hook of state_dict()" in done.err, done)
        state = saving.load(out, weights_only=True)
        checks.suite.equal(f"{name}: keys", list(state), [f"0.{k}" for k in nn.Module.state_dict(model)])


def torch_classes(checks):
    """The table of torch's own classes: `_version`, and which write a state of their own."""
    classes = set()
    for root in ("torch.nn", "torch.ao"):
        package = importlib.import_module(root)
        for found in pkgutil.walk_packages(package.__path__, root + "."):
            try:
                module = importlib.import_module(found.name)
            except Exception:
                continue
            classes |= {c for c in vars(module).values() if inspect.isclass(c) and issubclass(c, nn.Module)}
    ours = sorted((c for c in classes if c.__module__.startswith("torch.")), key=full_name)
    changed = ("state_dict", "_save_to_state_dict", "get_extra_state")
    own = {full_name(c) for c in ours if any(getattr(c, a) is not getattr(nn.Module, a) for a in changed)}
    for first in range(0, len(ours), 15):  # so few that no warning is left out
        some = {str(i): kind for i, kind in enumerate(ours[first : first + 15])}
        holder, source, out = nn.Module(), checks.path(), checks.path()
        holder.register_buffer("one", torch.ones(1))
        holder._modules = {name: Bare(kind) for name, kind in some.items()}
        checks.suite.check(f"classes from {first}: saved", ZIP.save(holder, source))
        done = checks.run(f"classes from {first}", "convert", source, out, "--weights-only")
        if done.code:
            continue
        got = {name: local["version"] for name, local in saving.load(out, weights_only=True)._metadata.items()}
        checks.suite.equal(f"classes from {first}: versions", got, {"": 1, **{n: c._version for n, c in some.items()}})
        warned = {full_name(c) for c in some.values() if f" is a {full_name(c)}, " in done.err}
        checks.suite.equal(f"classes from {first}: own states", warned, {full_name(c) for c in some.values()} & own)


def full_name(kind):
    return f"{kind.__module__}.{kind.__qualname__}"


class Bare:
    """Pickled as an object of `kind`, with what every module has and nothing of its own."""

    def __init__(self, kind):
        self.kind, self.state = kind, dict(vars(nn.Module()))
        if issubclass(kind, nn.modules.batchnorm._NormBase):
            self.state["_buffers"] = {"num_batches_tracked": None}

    def __reduce_ex__(self, protocol):
        return copyreg._reconstructor, (self.kind, object, None), self.state


def real_files(checks):
    """Modules that others saved, from 2017 on: PyTorch's own state_dict() where it can load them, else every name."""
    if not CORPUS.exists():
        return checks.suite.skip("real modules", f"no shared corpus at {CORPUS}")
    found = 0
    for source in sorted([*(CORPUS / "good").iterdir(), *(CORPUS / "made").iterdir()]):
        shown = checks.ckpt("inspect", "--json", source)
        if shown.code or not shown.json["modules"] or shown.json["format"] == "torchscript":  # scripts.py
            continue
        found += 1
        out, label = checks.path(), source.name
        checks.run(label, "convert", source, out, "--weights-only", "--no-gzip")
        got = saving.load(out, weights_only=True)
        checks.suite.check(f"{label}: loads with weights_only", not isinstance(got, Failed), repr(got))
        model = saving.load(source, weights_only=False)
        if isinstance(model, nn.Module):
            checks.same_object(label, reloaded(checks, model.state_dict()), got)
        else:
            names = [t["name"] for t in shown.json["tensors"] if t["name"].startswith(("_modules.", "_parameters.", "_buffers."))]
            checks.suite.equal(f"{label}: names", sorted(got), sorted({key_of(n) for n in names}))
    checks.suite.check("there are modules in the corpus", found > 5, found)


def key_of(name):
    return re.sub(r"(^|\.)_(modules|parameters|buffers)\.", r"\1", name)


GROUPS = [alone, distributed_data_parallel, among_others, without_its_code, told_of, torch_classes, real_files]
