"""ckpt check against load_state_dict: the same verdict, the same lines in the same order."""

import collections
import re
import shlex

import cases
import torch
from group import dtensor, process_group
from saving import LEGACY, WAYS, ZIP
from torch import nn


class Scalar(nn.Module):
    def __init__(self, shape=()):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(shape))


class Block(nn.Module):
    def __init__(self, width=4, bias=True, norm=True):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))
        self.register_buffer("steps", torch.zeros(1))
        self.fc = nn.Linear(width, width, bias=bias)
        self.act = nn.ReLU()
        self.norm = nn.BatchNorm1d(width) if norm else nn.Identity()


class Net(nn.Module):
    def __init__(self, width=4, blocks=2, head=True, **options):
        super().__init__()
        self.stem = nn.Conv2d(1, width, 3)
        self.blocks = nn.Sequential(*(Block(width, **options) for _ in range(blocks)))
        if head:
            self.head = nn.Linear(width, 10)


class WithExtra(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def get_extra_state(self):
        return {"calls": 3}

    def set_extra_state(self, state):
        pass


def edited(state, rename=lambda k: k, drop=(), add=None, metadata=True):
    """A state dict with other keys; `drop`: names or beginnings of them."""
    out = collections.OrderedDict((rename(k), v) for k, v in state.items() if not k.startswith(tuple(drop) or "\0"))
    out.update(add or {})
    if metadata and hasattr(state, "_metadata"):
        out._metadata = state._metadata
    return out


def versions(state, version):
    for entry in state._metadata.values():
        if "version" in entry:
            entry["version"] = version
    return state


def rows():
    """Name, the model, what is to be loaded into it."""
    net = Net()
    state = net.state_dict
    batches = [f"blocks.{i}.norm.num_batches_tracked" for i in range(2)]
    stray = {"zebra": torch.ones(1), "blocks.0.fc.extra": torch.ones(1), "stem.x.y": torch.ones(1), "head": torch.ones(1)}
    stray |= {"blocks.9.weight": torch.ones(1), "blocks.1.act.slope": torch.ones(1), "aardvark.deep.key": torch.ones(1)}
    yield "itself", net, state()
    yield "another seed, on the way", Net(), state()
    yield "DataParallel into bare", net, nn.DataParallel(Net()).state_dict()
    yield "bare into DataParallel", nn.DataParallel(Net()), state()
    yield "compiled into bare", net, torch.compile(Net()).state_dict()
    yield "missing bias", net, Net(bias=False).state_dict()
    yield "missing bias the other way", Net(bias=False), state()
    yield "extra head", Net(head=False), state()
    yield "missing head", net, Net(head=False).state_dict()
    yield "one block more", Net(blocks=3), state()
    yield "wider", Net(width=6), state()
    yield "wider, no bias, other head", Net(width=6, head=False), Net(bias=False).state_dict()
    yield "no norm", Net(norm=False), state()
    yield "scalar into scalar", Scalar(), Scalar().state_dict()
    yield "one element into scalar", Scalar(), Scalar((1,)).state_dict()
    yield "two elements into scalar", Scalar(), Scalar((2,)).state_dict()
    yield "scalar into one element", Scalar((1,)), Scalar().state_dict()
    yield "one by one into scalar", Scalar(), Scalar((1, 1)).state_dict()
    yield "stray keys", net, edited(state(), add=stray)
    yield "stray keys before the others", net, edited(edited(collections.OrderedDict(stray)), add=state())
    yield "num_batches_tracked missing", net, edited(state(), drop=batches)
    yield "… of version 1", net, versions(edited(Net().state_dict(), drop=batches), 1)
    yield "… without _metadata", net, edited(state(), drop=batches, metadata=False)
    yield "… with DataParallel's prefix", net, edited(nn.DataParallel(Net()).state_dict(), drop=["module." + batches[0]])
    yield "plain dict", net, dict(state())
    yield "None for a tensor", net, edited(state(), add={"stem.bias": None})
    yield "None that nobody asks for", net, edited(state(), add={"stem.other": None})
    yield "half", net, {k: v.half() for k, v in state().items()}
    yield "extra state missing", nn.Sequential(WithExtra()), nn.Sequential(nn.ModuleDict({"fc": nn.Linear(2, 2)})).state_dict()
    yield "extra state", nn.Sequential(WithExtra()), nn.Sequential(WithExtra()).state_dict()
    yield "extra state unexpected", nn.Sequential(nn.ModuleDict({"fc": nn.Linear(2, 2)})), nn.Sequential(WithExtra()).state_dict()
    yield "LSTM of one layer into two", nn.LSTM(3, 4, 2), nn.LSTM(3, 4, 1).state_dict()
    yield "Transformer", nn.TransformerEncoderLayer(8, 2, 16), nn.TransformerEncoderLayer(8, 2, 32).state_dict()
    yield "nothing like it", net, cases.net().state_dict()
    yield "odd names", nn.ParameterDict({"a": torch.ones(1)}), {'quo"te': torch.ones(1), "ü": torch.ones(1)}


def torch_lines(model, state):
    """What load_state_dict says, line by line."""
    try:
        model.load_state_dict(state)
        return []
    except RuntimeError as error:
        return [line.removeprefix("\t") for line in str(error).split("\n")[1:]]


def kinds():
    """Tensors of the shape [2, 3] that PyTorch copies into each other, or does not."""
    x = torch.ones(2, 3)
    yield "dense", x
    yield "half", x.half()
    yield "integers", x.long()
    yield "complex", x.to(torch.complex64)
    yield "strided", torch.ones(3, 2).t()
    yield "expanded", torch.ones(3).expand(2, 3)
    yield "meta", torch.empty(2, 3, device="meta")
    yield "sparse_coo", x.to_sparse()
    yield "sparse_coo of one dimension", x.to_sparse(1)
    yield "sparse_coo of none", torch.zeros(2, 3).to_sparse()
    yield "sparse_csr", x.to_sparse_csr()
    yield "sparse_csr of fewer", x.tril().to_sparse_csr()
    yield "sparse_csc", x.to_sparse_csc()
    yield "sparse_bsr", x.to_sparse_bsr((1, 1))
    yield "sparse_bsr of columns", x.to_sparse_bsr((2, 1))
    yield "sparse_bsr of as many", torch.tensor([[1.0, 1, 1], [0, 0, 0]]).to_sparse_bsr((1, 1))
    yield "qint8", torch.quantize_per_tensor(x, 0.1, 3, torch.qint8)
    yield "quint8", torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)
    for axis, scales in ((0, torch.tensor([0.1, 0.2])), (1, torch.tensor([0.1, 0.2, 0.3]))):
        yield f"per channel {axis}", torch.quantize_per_channel(x, scales, torch.zeros(len(scales)).long(), axis, torch.qint8)


    yield "DTensor", dtensor(x)


@process_group()
def copies(checks):
    """Each kind into each: copied, or refused in PyTorch's words up to where it names types."""
    files = {}
    for name, tensor in kinds():
        ZIP.save({"w": tensor}, files.setdefault(name, checks.path()))
    for into, like in kinds():
        for name, tensor in kinds():
            model = nn.Module()
            model.register_buffer("w", like.clone() if into != "expanded" else torch.ones(3).expand(2, 3))
            expected = torch_lines(model, {"w": tensor})
            done = checks.ckpt("check", "--json", "--ignore", "dtypes", files[name], "--like", files[into])
            why = [failure["why"] for failure in done.json["copy_failures"]]
            said = len(why) == len(expected) and all(f"occurred : ('{words}" in line for words, line in zip(why, expected))
            checks.suite.check(f"copies, {name} into {into}", said and done.code == bool(expected), f"{done}\n{expected}")


def lines(checks):
    for name, model, state in rows():
        like, expected_dtypes = model.state_dict(), []
        for key, value in like.items():
            new = state.get(key)
            if isinstance(new, torch.Tensor) and isinstance(value, torch.Tensor) and new.dtype != value.dtype:
                if new.shape == value.shape:
                    expected_dtypes.append(key)
        expected = None
        for way in (ZIP, LEGACY, WAYS[4]):
            new, reference = checks.path(way.suffix), checks.path(way.suffix)
            way.save(state, new)
            way.save(like, reference)
            expected = torch_lines(model, state) if expected is None else expected
            label = f"lines, {name}, {way.name}"
            fits = not expected and not expected_dtypes
            done = checks.run(label, "check", new, "--like", reference, code=0 if fits else 1)
            got = done.out.decode().split("\n")
            checks.suite.equal(f"{label}: what PyTorch says", got[: len(expected)], expected)
            rest = [line for line in got[len(expected) :] if line]
            found = [line.split(":")[0].removeprefix("dtype mismatch for ") for line in rest if line.startswith("dtype")]
            checks.suite.equal(f"{label}: dtypes", found, expected_dtypes)
            if not expected:
                checks.run(f"{label}, dtypes ignored", "check", new, "--like", reference, "--ignore", "dtypes")


def hints(checks):
    """The command of the hint mends it: PyTorch loads what comes out."""
    mended = 0
    given = [(name, model, state, state) for name, model, state in rows()]
    other = {"extra.weight": torch.ones(1)}
    given += [(f"{name}, one of two", model, state, {"model": state, "ema": other}) for name, model, state, _ in given]
    for name, model, state, obj in given:
        new, reference, out = checks.path(), checks.path(), checks.path()
        ZIP.save(obj, new)
        ZIP.save(model.state_dict(), reference)
        hint = checks.ckpt("check", "--json", new, "--like", reference).json["hint"]
        if not hint:
            continue
        words = [str(out) if word == "OUT" else word for word in shlex.split(hint)[1:]]
        checks.run(f"hints, {name}: {hint}", *words)
        expected = torch_lines(model, torch.load(out, weights_only=True))
        sizes_only = all(line.startswith("size mismatch") for line in expected)
        checks.suite.check(f"hints, {name}: {hint}: the keys agree", sizes_only, expected)
        mended += 1
    checks.suite.check("hints: some were given", mended >= 3, mended)


def pasted(checks):
    """Hints about what a format cannot say: each command of theirs, run as it stands, up to the words about it."""
    sparse = {"module.a.weight": torch.ones(2).to_sparse(), "module.b.weight": torch.ones(2)}
    rows = {
        "as it is": (sparse, ["convert", "IN", "OUT.npz"]),
        "edited": (sparse, ["convert", "IN", "--strip-prefix", "OUT", "--format", "npz", "--to", "cpu"]),
        "renamed": (sparse, ["convert", "IN", "OUT.safetensors", "--rename", "^module.=a b."]),
        "a part": ({"model": sparse, "step": 1}, ["convert", "--root=model", "--", "IN", "OUT.npz"]),
        "strip-prefix": (sparse, ["strip-prefix", "IN", "OUT.npz"]),
        "add-prefix": (sparse, ["add-prefix", "IN", "OUT.npz", "--prefix=net."]),
        "shard": (sparse, ["shard", "IN", "OUT", "--format", "safetensors-index"]),
        "shard of a trainer": ({"model": {"a.weight": torch.ones(2)}, "step": 1}, ["shard", "IN", "OUT"]),
        "lists": ({"a.weight": torch.ones(2), "betas": [0.9, 0.99], 3: 7}, ["convert", "IN", "OUT.npz"]),
        "merge": (sparse, ["merge", "IN", "OTHER", "OUT.npz"]),
        "average": (sparse, ["average", "IN", "IN", "OUT.npz"]),
        "cast": ({"a.weight": torch.ones(2)}, ["convert", "IN", "OUT.npz", "--dtype", "bfloat16"]),
    }
    for name, (obj, words) in rows.items():
        source, other = checks.path(), checks.path()
        ZIP.save(obj, source)
        ZIP.save({"other": torch.ones(1)}, other)
        out, step = str(checks.path("")), str(checks.path())
        names = {"IN": str(source), "OTHER": str(other)}
        done = checks.ckpt(*[names.get(word, word.replace("OUT", out)) for word in words])
        checks.suite.check(f"pasted, {name}: refused", done.code == 3, done)
        hint = done.err.rpartition("hint: ")[2].partition("\n")[0].replace("OTHER.pt", step)
        for command in hint.split(" first, then "):
            command = re.split(r" (?:takes|leaves|casts) ", command)[0]
            checks.run(f"pasted, {name}: {command}", *shlex.split(command)[1:])


GROUPS = [lines, copies, hints, pasted]
