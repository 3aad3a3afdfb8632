"""The checkpoints that the benchmarks run on, and what PyTorch says is in them.

They are written by `torch.save` itself: DataParallel state dicts, every storage tagged `cuda:0` (the tag alone says
so: no GPU is needed), with weights distributed as trained ones are; forms.py writes the other forms. `KIND.json` beside
`KIND.pt` holds each tensor's SHA-256, dtype and shape, `KIND.figures.json` its range, mean and so on: what the outputs of
all commands are held against.

    python files.py --folder FOLDER [--cache FOLDER] [--quick] NAME…
"""

import argparse
import hashlib
import json
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20


@dataclass(frozen=True)
class Kind:
    what: str
    size: int  # bytes of tensors
    quick: int  # the same for a run that only tries whether everything works
    dtype: str = "float32"
    elements: int = 0  # of each tensor, where all are alike
    pruned: float = 0  # weights nearer to 0 than so many deviations are 0
    casts: bool = False  # KIND.bfloat16.json and KIND.float16.json are written, too
    figures: bool = False  # … and KIND.figures.json


KINDS = {
    "model": Kind("float32, a transformer of the size of ResNet-18", 46_800_000, 2 * MIB),
    "small": Kind("float32, a transformer", 64 * MIB, MIB, casts=True, figures=True),
    "medium": Kind("float32, a transformer", 256 * MIB, 2 * MIB),
    "large": Kind("float32, a transformer", 1024 * MIB, 4 * MIB, casts=True, figures=True),
    "huge": Kind("float32, a transformer", 4096 * MIB, 8 * MIB, casts=True, figures=True),
    "bf16": Kind("bfloat16, a transformer", 64 * MIB, MIB, "bfloat16"),
    "pruned": Kind("float32, a transformer of whose weights 90 % are 0", 64 * MIB, MIB, pruned=1.6449),
    "many": Kind("float32, 16 numbers a tensor", 70_000 * 64, 1_000 * 64, elements=16),
}

# How a kind is written: what its name ends in, and what the page says.
FORMS = {
    "": (".pt", ""),
    "copy": (".copy.pt", "a copy"),
    "python": (".pt.gz", "gzip by Python's GzipFile, level 9 (its default)"),
    "ckpt": (".ckpt.pt.gz", "gzip by ckpt"),
    "safetensors": (".safetensors", "by safetensors"),
    "sharded": (".sharded", "4 files of safetensors and an index"),
    "dcp": (".dcp", "a folder that 2 ranks saved with torch.distributed.checkpoint, each half of each tensor"),
}


@dataclass(frozen=True)
class File:
    kind: str
    form: str = ""

    @property
    def name(self):
        return self.kind + FORMS[self.form][0]

    @property
    def what(self):
        form = FORMS[self.form][1]
        return KINDS[self.kind].what + (f"; {form}" if form else "")

    def about(self, quick):
        """Its bytes, before it is there; of what gzip leaves, at most."""
        return KINDS[self.kind].quick if quick else KINDS[self.kind].size


def transformer(size, dtype):
    """(name, shape, mean, standard deviation): blocks as GPT-2's, and an embedding that takes what is left."""
    fits = [width for width in (64, 512, 1024) if 2 * 12 * width * width * dtype.itemsize <= size]
    width = fits[-1]
    left = size // dtype.itemsize
    block = 0
    while left > 13 * width * width:
        for part, shape in {"attn.qkv": (3, 1), "attn.proj": (1, 1), "mlp.up": (4, 1), "mlp.down": (1, 4)}.items():
            rows, columns = shape[0] * width, shape[1] * width
            yield f"blocks.{block}.{part}.weight", (rows, columns), 0.0, columns**-0.5
            yield f"blocks.{block}.{part}.bias", (rows,), 0.0, 0.02
            left -= rows * columns + rows
        yield f"blocks.{block}.norm.weight", (width,), 1.0, 0.1
        yield f"blocks.{block}.norm.bias", (width,), 0.0, 0.05
        left -= 2 * width
        block += 1
    yield "embedding.weight", (left // width, width), 0.0, 0.02


class Normals:
    """Normally distributed numbers, the same in each run. A large file's are taken from one block again and again, from
    anywhere in it: to draw them all would take longer than what is measured."""

    BLOCK = 64 << 20  # numbers

    def __init__(self, seed, count):
        import torch

        self.random = torch.Generator().manual_seed(seed)
        self.block = torch.randn(self.BLOCK, generator=self.random) if count > self.BLOCK else None

    def draw(self, shape):
        import torch

        if self.block is None:
            return torch.randn(shape, generator=self.random)
        count = torch.Size(shape).numel()
        start = int(torch.randint(self.BLOCK - count + 1, (1,), generator=self.random))
        return self.block[start : start + count].view(shape)


def tensors(name, quick):
    """(name, tensor) of the state dict of a kind, in its order."""
    import torch

    kind = KINDS[name]
    dtype, size = getattr(torch, kind.dtype), kind.quick if quick else kind.size
    if kind.elements:
        count = size // (dtype.itemsize * kind.elements)
        plan = [(f"layers.{i // 2}.{'bias' if i % 2 else 'weight'}", (kind.elements,), 0.0, 0.1) for i in range(count)]
    else:
        plan = transformer(size, dtype)
    normals = Normals(sorted(KINDS).index(name), size // dtype.itemsize)
    for key, shape, mean, deviation in plan:
        drawn = normals.draw(shape)
        if kind.pruned and len(shape) > 1:
            drawn = drawn * (drawn.abs() > kind.pruned)
        yield f"module.{key}", (drawn * deviation + mean).to(dtype)


def state_dict(kind, quick):
    """What `DataParallel(model).state_dict()` gives, `_metadata` included."""
    state = OrderedDict(tensors(kind, quick))
    state._metadata = OrderedDict([("", {"version": 1}), ("module", {"version": 1})])
    for name in state:
        state._metadata[name.rpartition(".")[0]] = {"version": 1}
    return state


def write_contents(kind, state, folder):
    """KIND.json, and of some kinds what casts make of it, and figures. Once for all forms: they hold the same. `state`: pairs."""
    import torch

    def told(tensor):
        digest = hashlib.sha256(tensor.reshape(-1).view(torch.uint8).numpy()).hexdigest()
        return [digest, str(tensor.dtype).removeprefix("torch."), list(tensor.shape)]

    def figures(tensor):
        x = tensor.to(torch.float64)
        found = x.min(), x.max(), x.mean(), x.std(), torch.linalg.vector_norm(x), (x == 0).sum(), x.isnan().sum()
        return [figure.item() for figure in found]

    asked = {"": told}
    if KINDS[kind].casts:
        asked |= {".bfloat16": lambda tensor: told(tensor.bfloat16()), ".float16": lambda tensor: told(tensor.half())}
    if KINDS[kind].figures:
        asked[".figures"] = figures
    paths = {what: folder / f"{kind}{what}.json" for what in asked}
    if all(path.exists() for path in paths.values()):
        return
    contents = {what: {} for what in asked}
    for name, tensor in state:
        for what, ask in asked.items():
            contents[what][name] = ask(tensor)
    for what, path in paths.items():
        path.write_text(json.dumps(contents[what]))


def main():
    import forms

    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("names", nargs="+")
    options = parser.parse_args()
    for kind in KINDS:
        asked = [form for form in FORMS if File(kind, form).name in options.names]
        if asked == ["dcp"]:  # ranks make what they save
            write_contents(kind, tensors(kind, options.quick), options.folder)
            forms.write(File(kind, "dcp"), {}, options)
        elif asked:
            state = state_dict(kind, options.quick)
            write_contents(kind, state.items(), options.folder)
            for form in asked:
                forms.write(File(kind, form), state, options)


if __name__ == "__main__":
    main()
