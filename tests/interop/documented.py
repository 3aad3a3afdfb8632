"""Each command of README and docs runs as it stands, on files of the names that it gives. (docs/recipes.md, whose results
are looked at too, is recipes.py's.)"""

import collections
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import gguf_files
import harness
import numpy
import saving
import torch
from saving import ZIP
from torch.distributed import checkpoint as dcp

PAGES = [harness.ROOT / "README.md", *sorted((harness.ROOT / "docs").rglob("*.md"))]
LEFT = {"recipes.md", "benchmarks.md"}  # run by others
COMMAND = re.compile(r"^ *(?:\$ )?(ckpt [a-z].*)$")
# Within a sentence or a table, one that names a file, and nothing that is to be filled in.
WITHIN = re.compile(r"`(ckpt [a-z-]+ [^`]*[\w/][./][^`]*)`")
FILLED_IN = re.compile(r"…|i/N|\[|\b[A-Z]{2,}")
# What says that something is not as it should be ends so, and here something is not.
FOUND_SOMETHING = re.compile(r"damaged\.pt|^ckpt (diff|check) |cut\.pt")
BROKEN = ("damaged.pt", "cut.pt")  # only there for who asks for them
NO_DATA = re.compile(r"^ckpt eval")  # the test sets are not here: the command must get as far as to miss them


def commands():
    """By page, the lines that begin with `ckpt` in what is set as code, indented or fenced, and what is set so in a text."""
    for page in PAGES:
        if page.name in LEFT or "adr" in page.parts:
            continue
        fenced = False
        for line in page.read_text().splitlines():
            if line.startswith("```"):
                fenced = not fenced
            elif (fenced or line.startswith("    ")) and (found := COMMAND.match(line)):
                yield page, found[1]
            else:
                yield from ((page, words) for words in WITHIN.findall(line) if not FILLED_IN.search(words))


def state(scale=1.0):
    torch.manual_seed(3)
    names = ["encoder.layer.0.LayerNorm.weight", "encoder.layer.0.weight", "decoder.weight", "fc.weight", "fc.bias"]
    return collections.OrderedDict((name, torch.randn(6, 6) * scale) for name in names)


def prefixed(prefix, of=None):
    return collections.OrderedDict((prefix + name, tensor) for name, tensor in (of or state()).items())


class Twice(torch.nn.Module):
    def forward(self, x):
        return x * 2


def make_world(folder, ckpt):
    """A file for each name that the pages use."""
    def save(name, obj, device="cpu"):
        with saving.tagged(device):
            ZIP.save(obj, folder / name)

    for name in ("model.pt", "new.pt", "before.pt", "copy.pt", "hf.pt", "lightning.ckpt", "epoch-8.pt", "epoch-9.pt",
                 "epoch-10.pt", "part-1.pt", "a.pt", "b.pt", "c.pt", "a.cpu.pt", "in.pt"):
        save(name, state())
    for name in ("old.pt", "reference.pt", "after.pt", "last.pt"):
        save(name, state(2.0))
    for name in ("ddp.pt", "m.pt", "gpu.pt"):
        save(name, prefixed("module."), "cuda:0")
    save("compiled.pt", prefixed("_orig_mod."))
    for part in ("encoder", "decoder"):
        save(f"{part}.pt", {name: tensor for name, tensor in state().items() if name.startswith(part)})
    save("gan.pt", {"generator": state(), "discriminator": state(2.0)})
    optimizer = {"state": {0: {"exp_avg": torch.zeros(6, 6)}}, "param_groups": [{"params": [0]}]}
    trainer = {"model": state(), "generator": state(), "optimizer": optimizer, "ema": state(), "args": {"lr": 0.1}, "epoch": 3}
    save("trainer.pt", trainer, "cuda:0")
    torch.jit.save(torch.jit.script(Twice()), folder / "script.pt")
    numpy.savez(folder / "data.npz", a=numpy.ones(3))
    dcp.save({"model": state()}, checkpoint_id=folder / "step-1000", no_dist=True)
    for name in ("model.gguf", "model-q8_0.gguf"):
        gguf_files.write(folder / name, {"w": (numpy.zeros((2, 34), numpy.uint8), gguf_files.Type.Q8_0)})
    whole = (folder / "model.pt").read_bytes()
    (folder / "cut.pt").write_bytes(whole[: len(whole) * 2 // 3])
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 1
    (folder / "damaged.pt").write_bytes(damaged)
    for name in ("downloads", "models"):
        (folder / name).mkdir()
        shutil.copy(folder / "model.pt", folder / name)
    for name in ("x.pkl", "old.pkl"):
        (folder / name).write_bytes(pickle.dumps({"w": numpy.ones(3)}))
    for file in (harness.ROOT / "samples/digits").iterdir():
        shutil.copy(file, folder)
    ready = [("convert", "m.pt", "m.pt.gz"), ("convert", "gpu.pt", "gpu.pt.gz"), ("shard", "model.pt", "shards"),
             ("convert", "model.pt", "model.bf16.pt", "--dtype", "bfloat16"), ("convert", "model.pt", "model.pt.gz"), ("convert", "copy.pt", "copy.pt.gz"), ("convert", "model.pt", "model.cpu.pt"),
             ("convert", "model.pt", "model.safetensors")]
    for words in ready:
        done = ckpt(*words, cwd=folder)
        assert done.code == 0, done
    (folder / "model.digest").write_bytes(ckpt("digest", "model.pt", cwd=folder).out)


def runs(checks):
    world, bin_folder = checks.path(""), checks.path("")
    for folder in (world, bin_folder):
        folder.mkdir()
    make_world(world, checks.ckpt)
    os.symlink(checks.ckpt.path, bin_folder / "ckpt")
    path = f"{bin_folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    seen = set()
    for page, command in commands():
        if command in seen:
            continue
        seen.add(command)
        kitchen = checks.path("")
        absent = [name for name in BROKEN if name not in command] + ["shards"] * command.startswith("ckpt shard")
        shutil.copytree(world, kitchen, ignore=lambda _, names, absent=absent: set(absent) & set(names))
        done = subprocess.run(["bash", "-c", command], cwd=kitchen, env={**harness.environment(), "PATH": path},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        shutil.rmtree(kitchen)
        lawful = (3, 5) if NO_DATA.match(command) else (0, 1) if FOUND_SOMETHING.search(command) else (0,)
        name = f"{page.relative_to(harness.ROOT)}: {command}"
        checks.suite.check(name, done.returncode in lawful, f"exit {done.returncode}\n{done.stdout[-500:]}{done.stderr}")
    checks.suite.figure("documented.commands", len(seen))


GROUPS = [runs]
