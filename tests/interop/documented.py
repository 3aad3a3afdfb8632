"""Each command of README, docs and the pages beside them runs as it stands, on files of the names that it gives.
(docs/recipes.md, whose results are looked at too, is recipes.py's; samples' programs are run by tests/samples/shell.py.)"""

import collections
import gzip
import os
import pickle
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import gguf_files
import harness
import numpy
import PIL.Image
import saving
import torch
from saving import ZIP
from torch.distributed import checkpoint as dcp

PAGES = [*(harness.ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
         *sorted((harness.ROOT / "docs").rglob("*.md")), *sorted((harness.ROOT / "samples").glob("*/README.md"))]
LEFT = {"recipes.md", "benchmarks.md"}  # run by others
# What begins otherwise is left: `curl … |` has no address, torchrun and srun start several processes (tests/eval/ranks.py).
COMMAND = re.compile(r"^ *(?:- run: )?(?:(?:machine\d)?\$ )?"
                     r"((?:[A-Z_]+=(?:\"[^\"]*\"|\S)+ )*(?:build/release/bin/)?ckpt [a-z].*|find [^|]* \| ckpt .*)$")
# Within a sentence or a table, one that names a file or needs none, and nothing that is to be filled in.
WITHIN = re.compile(r"`(ckpt (?:[a-z-]+ [^`]*[\w/][./][^`]*|devices|formats))`")
FILLED_IN = re.compile(r"…|\[|i/N|\b(MODEL_)?FOLDER\b")
STATUSES = [  # others end with 0
    (re.compile(r"damaged\.pt|cut\.pt|^ckpt diff (old|before)\.pt "), 1),  # there is something to find
    (re.compile(r"^ckpt eval model\.pt --arch fnn$"), 3),  # the page shows what is said of a model of eleven classes
    (re.compile(r"^CKPT_FAULTS="), 6),  # there is no room
]
BROKEN = ("damaged.pt", "cut.pt")  # only there for who asks for them
EVALUATES = re.compile(r"\bckpt eval")
FAULTS = re.compile(r"^CKPT_FAULT")  # the library is preloaded by a line before


def commands():
    """By page, the lines that run `ckpt` in what is set as code, indented or fenced, and what is set so in a text."""
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
                 "epoch-10.pt", "part-1.pt", "a.pt", "b.pt", "c.pt", "a.cpu.pt"):
        save(name, state())
    save("in.pt", {"w": torch.randn(1000, 1000)})  # the page on faults asks for some MB
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
             ("convert", "model.pt", "model.bf16.pt", "--dtype", "bfloat16"), ("convert", "model.pt", "model.pt.gz"),
             ("convert", "copy.pt", "copy.pt.gz"), ("convert", "model.pt", "model.cpu.pt"),
             ("convert", "model.pt", "model.safetensors")]
    for words in ready:
        done = ckpt(*words, cwd=folder)
        assert done.code == 0, done
    (folder / "model.digest").write_bytes(ckpt("digest", "model.pt", cwd=folder).out)


def make_evaluated(folder, ckpt):
    """The models and test sets that ship with the samples, under the names that the pages give to `ckpt eval`."""
    folder.mkdir()
    samples = harness.ROOT / "samples"
    shutil.copytree(samples / "digits", folder / "digits")
    shutil.copy(samples / "captcha/captcha_resnet.pt.gz", folder / "captcha.pt")
    for name in ("model.pt", "new.pt", "old.pt", "last.pt", "model.pt.gz"):
        done = ckpt("convert", "digits/fnn_digits_dp.pt.gz", name, "--to", "cpu", "--strip-prefix", cwd=folder)
        assert done.code == 0, done
    eleven = {**torch.load(folder / "model.pt"), "layer_5.weight": torch.zeros(11, 64), "layer_5.bias": torch.zeros(11)}
    ZIP.save(eleven, folder / "eleven.pt")
    raw = folder / "data/MNIST/raw"
    raw.mkdir(parents=True)
    with gzip.open(samples / "digits/digits_test.pt.gz") as file:
        images, labels = torch.load(file, weights_only=True)
    head = struct.pack(">4I", 0x803, len(images), 28, 28)
    (raw / "t10k-images-idx3-ubyte").write_bytes(head + images.numpy().tobytes())
    (raw / "t10k-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, len(labels)) + bytes(labels.tolist()))
    (folder / "folder").mkdir()
    with gzip.open(samples / "captcha/testing_set.0.pt") as file:
        pictures, _ = torch.load(file, weights_only=True)
    for name, picture in zip(("picture.png", "folder/a.png", "folder/b.png"), pictures):
        pixels = (picture * 255).round().byte().permute(2, 1, 0)  # of colour, column, row
        PIL.Image.fromarray(pixels.numpy()).save(folder / name)
    for i in range(2):
        part = ckpt("eval", "model.pt", "--data", "data/MNIST/raw", "--shard", f"{i}/2", cwd=folder)
        (folder / f"part{i}.json").write_bytes(part.out)


def kitchen_for(command, checks, world, evaluated):
    """A folder of its own, with what the command may find there."""
    kitchen = checks.path("")
    if EVALUATES.search(command):
        shutil.copytree(evaluated, kitchen)
        if "--arch fnn" in command:
            (kitchen / "eleven.pt").replace(kitchen / "model.pt")
    else:
        absent = {name for name in BROKEN if name not in command} | ({"shards"} if command.startswith("ckpt shard") else set())
        shutil.copytree(world, kitchen, ignore=lambda _, names: absent & set(names))
    (kitchen / "build").mkdir()
    (kitchen / "build/release").symlink_to(Path(checks.ckpt.path).parent.parent)
    return kitchen


def runs(checks):
    world, evaluated, bin_folder = (checks.path("") for _ in range(3))
    world.mkdir()
    make_world(world, checks.ckpt)
    bin_folder.mkdir()
    os.symlink(checks.ckpt.path, bin_folder / "ckpt")
    path = f"{bin_folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    interposer = Path(checks.ckpt.path).parent.parent / "lib/libckpt_interpose.so"
    left_out = []
    if Path(checks.ckpt.path).with_name("ckpt-eval").exists():
        make_evaluated(evaluated, checks.ckpt)
    else:
        left_out.append((EVALUATES, "built without libtorch (CKPT_LIBTORCH)"))
    if not interposer.exists():
        left_out.append((FAULTS, "a sanitizer has interposers of its own"))
    seen, run = set(), 0
    for page, command in commands():
        if command in seen:
            continue
        seen.add(command)
        name = f"{page.relative_to(harness.ROOT)}: {command}"
        if reasons := [reason for words, reason in left_out if words.search(command)]:
            checks.suite.skip(name, reasons[0])
            continue
        kitchen = kitchen_for(command, checks, world, evaluated)
        preloaded = {"LD_PRELOAD": str(interposer)} if FAULTS.search(command) else {}
        done = subprocess.run(["bash", "-c", command], cwd=kitchen, env={**harness.environment(**preloaded), "PATH": path},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        shutil.rmtree(kitchen)
        expected = next((status for words, status in STATUSES if words.search(command)), 0)
        checks.suite.equal(name, done.returncode, expected, f"{done.stdout[-500:]}{done.stderr}")
        run += 1
    if not left_out:
        checks.suite.figure("interop.documented-commands", run)


GROUPS = [runs]
