"""The checkpoints that the benchmarks run on, and what PyTorch says is in them.

They are written by `torch.save` itself: DataParallel state dicts, every storage tagged `cuda:0` (the tag alone says
so: no GPU is needed), with weights distributed as trained ones are. `NAME.json` beside `NAME.pt` holds each tensor's
SHA-256, dtype and shape: what the outputs of all commands are held against.

    python files.py --folder FOLDER [--cache FOLDER] [--quick] NAME…
"""

import argparse
import gzip
import hashlib
import json
import shutil
import subprocess
import sys
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


KINDS = {
    "model": Kind("float32, a transformer of the size of ResNet-18", 46_800_000, 2 * MIB),
    "small": Kind("float32, a transformer", 64 * MIB, MIB),
    "medium": Kind("float32, a transformer", 256 * MIB, 2 * MIB),
    "large": Kind("float32, a transformer", 1024 * MIB, 4 * MIB),
    "bf16": Kind("bfloat16, a transformer", 64 * MIB, MIB, "bfloat16"),
    "many": Kind("float32, 16 numbers a tensor", 70_000 * 64, 1_000 * 64, elements=16),
}


@dataclass(frozen=True)
class File:
    """`kind`, bare or in gzip: by Python's GzipFile as torch.save is used with it, or by ckpt."""

    kind: str
    gzip: str = ""

    @property
    def name(self):
        return self.kind + {"": ".pt", "python": ".pt.gz", "ckpt": ".ckpt.pt.gz"}[self.gzip]

    @property
    def what(self):
        by = {"": "", "python": "; gzip by Python's GzipFile, level 9 (its default)", "ckpt": "; gzip by ckpt"}
        return KINDS[self.kind].what + by[self.gzip]


def make(files, folder, ckpt, cache, quick):
    """Makes `files` in `folder`. torch runs in a process of its own, whose memory is gone when the measuring begins."""
    folder.mkdir(exist_ok=True)
    if not files:
        return
    names = sorted({File(file.kind).name for file in files} | {f.name for f in files if f.gzip != "ckpt"})
    options = ["--quick"] if quick else ["--cache", cache]
    subprocess.run([sys.executable, __file__, "--folder", folder, *options, *names], check=True)
    for file in files:
        if file.gzip == "ckpt":
            bare = folder / File(file.kind).name
            subprocess.run([ckpt, "convert", "--quiet", bare, folder / file.name], check=True)


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


def state_dict(kind, quick):
    """What `DataParallel(model).state_dict()` gives, `_metadata` included; the same numbers in each run."""
    import torch

    random = torch.Generator().manual_seed(sorted(KINDS).index(kind))
    kind = KINDS[kind]
    dtype, size = getattr(torch, kind.dtype), kind.quick if quick else kind.size
    if kind.elements:
        count = size // (dtype.itemsize * kind.elements)
        plan = [(f"layers.{i // 2}.{'bias' if i % 2 else 'weight'}", (kind.elements,), 0.0, 0.1) for i in range(count)]
    else:
        plan = transformer(size, dtype)
    state = OrderedDict()
    state._metadata = OrderedDict([("", {"version": 1}), ("module", {"version": 1})])
    for name, shape, mean, deviation in plan:
        name = f"module.{name}"
        state[name] = (torch.randn(shape, generator=random) * deviation + mean).to(dtype)
        state._metadata[name.rpartition(".")[0]] = {"version": 1}
    return state


def contents(state):
    import torch

    def sha256(tensor):
        return hashlib.sha256(tensor.reshape(-1).view(torch.uint8).numpy()).hexdigest()

    return {name: [sha256(t), str(t.dtype).removeprefix("torch."), list(t.shape)] for name, t in state.items()}


def save(state, file):
    from unittest import mock

    import torch

    with mock.patch("torch.serialization.location_tag", lambda storage: "cuda:0"):
        torch.save(state, file)


def save_compressed(state, path, cache):
    """GzipFile takes a minute a GiB, so the result is kept, under a name that changes with this file and with torch."""
    import torch

    made_by = hashlib.sha256(Path(__file__).read_bytes() + torch.__version__.encode()).hexdigest()[:12]
    kept = cache and cache / f"{made_by}-{path.name}"
    if kept and kept.exists():
        shutil.copyfile(kept, path)
        return
    with gzip.open(path, "wb") as file:
        save(state, file)
    if kept:
        cache.mkdir(parents=True, exist_ok=True)
        for old in cache.glob(f"*-{path.name}"):
            old.unlink()
        shutil.copyfile(path, kept.with_suffix(".new"))
        kept.with_suffix(".new").rename(kept)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("names", nargs="+")
    options = parser.parse_args()
    for kind in KINDS:
        names = [name for name in options.names if name.split(".")[0] == kind]
        if not names:
            continue
        state = state_dict(kind, options.quick)
        (options.folder / f"{kind}.json").write_text(json.dumps(contents(state)))
        for name in names:
            if name.endswith(".gz"):
                save_compressed(state, options.folder / name, options.cache)
            else:
                save(state, options.folder / name)


if __name__ == "__main__":
    main()
