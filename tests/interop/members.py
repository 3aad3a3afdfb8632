"""gzip of several members with an index, and work on several cores: what others read of it, and that it is the same."""

import collections
import gzip
import os
import shutil
import subprocess

import saving
import torch
from saving import LEGACY, ZIP


def model(scale=1.0):
    """Some storages of several members, some of one, many that share one; views, a tie, a prefix."""
    torch.manual_seed(7)
    large = torch.randn(700_000) * scale
    state = collections.OrderedDict(
        [
            ("module.large", large),
            ("module.view", large[1000:400_000].reshape(21, 19_000)),
            ("module.turned", torch.randn(600, 300).t()),
            ("module.half", torch.randn(300_000).half()),
            ("module.pruned", torch.randn(400_000) * (torch.rand(400_000) < 0.1)),
            ("module.middle", torch.randn(17_000)),
        ]
    )
    state["module.tied"] = state["module.middle"]
    state.update((f"module.small.{i}", torch.randn(16)) for i in range(200))
    return state


def gunzip_programs():
    return [name for name in ("gzip", "pigz", "igzip") if shutil.which(name)]


def others_read_it(checks):
    for way in (ZIP, LEGACY):
        source = checks.path()
        way.save(model(), source)
        bare = checks.written(f"{way.name}, bare", source).read_bytes()
        for level in (1, 3, 6):
            label, out = f"members, {way.name}, level {level}", checks.path(".pt.gz")
            checks.run(label, "convert", source, out, f"--gzip={level}", "--verify=full")
            with gzip.GzipFile(out) as file:
                checks.suite.check(f"{label}: GzipFile", file.read() == bare)
            with gzip.GzipFile(out) as file:
                checks.same_object(label, saving.load(source, weights_only=True), torch.load(file, weights_only=True))
            for name in gunzip_programs():
                done = subprocess.run([name, "-d", "-c", out], capture_output=True)
                checks.suite.check(f"{label}: {name}", done.stdout == bare and not done.stderr, done.stderr)
            checks.suite.equal(f"{label}: verify", checks.ckpt("verify", out).code, 0)
            for other in (1, 6):
                back = checks.path(".pt.gz")
                checks.run(f"{label}: to {other}", "convert", source, back, f"--gzip={other}")
                again = checks.path(".pt.gz")
                checks.run(f"{label}: from {other}", "convert", back, again, f"--gzip={level}")
                checks.suite.check(f"{label}: from {other}, the same file", again.read_bytes() == out.read_bytes())


def copies(checks):
    """A prefix and devices change, and nothing else: what was compressed stays as it is."""
    source, packed = checks.path(), checks.path(".pt.gz")
    ZIP.save(model(), source)
    checks.run("copies: compressed", "convert", source, packed)
    for label, command, *options in (
        ("strip-prefix", "strip-prefix"),
        ("to", "convert", "--to", "cuda:1"),
        ("drop", "convert", "--drop", "*.pruned"),
        ("dtype", "convert", "--dtype", "bfloat16", "--dtype-except", "*large*"),
    ):
        out, bare = checks.path(".pt.gz"), checks.path()
        checks.run(f"copies: {label}", command, packed, out, *options)
        checks.run(f"copies: {label}, bare", command, source, bare, *options)
        with gzip.GzipFile(out) as file:
            checks.suite.check(f"copies: {label}: the bare file", file.read() == bare.read_bytes())
        anew = checks.path(".pt.gz")
        checks.run(f"copies: {label}, anew", command, source, anew, *options)
        checks.suite.check(f"copies: {label}: as if compressed anew", out.read_bytes() == anew.read_bytes())
        checks.suite.equal(f"copies: {label}: verify", checks.ckpt("verify", out).code, 0)
    best, kept = checks.path(".pt.gz"), checks.path(".pt.gz")
    checks.run("copies: at level 9", "convert", source, best, "--gzip=9")
    checks.run("copies: of level 9", "strip-prefix", best, kept)
    smaller = kept.stat().st_size < anew.stat().st_size
    checks.suite.check("copies: a level that nobody asked to change stays", smaller, kept.stat())


def parts_alone(checks):
    """By the index one tensor is read without the others: what is wrong elsewhere does not matter to it."""
    source, packed = checks.path(), checks.path(".pt.gz")
    ZIP.save(model(), source)
    checks.run("alone: compressed", "convert", source, packed)
    whole = checks.ckpt("digest", "--json", source).json["tensors"]
    damaged = bytearray(packed.read_bytes())
    damaged[200_000] ^= 1  # in module.large
    packed.write_bytes(damaged)
    name = "module.half"
    found = checks.ckpt("digest", "--json", packed, "--keys", name)
    checks.suite.equal("alone: digest --keys", found.json["tensors"], {name: whole[name]})
    out = checks.path(".npy")
    checks.run("alone: extract", "extract", packed, name, "-o", out)
    checks.suite.equal("alone: inspect", checks.ckpt("inspect", packed).code, 0)
    for command in (["digest", packed], ["convert", packed, checks.path()], ["strip-prefix", packed, checks.path(".gz")]):
        done = checks.ckpt(*command)
        told = done.code == 3 and "gzip member" in done.err and "hint:" in done.err
        checks.suite.check(f"alone: {command[0]} finds the damage", told, done)
    checks.suite.equal("alone: verify finds the damage", checks.ckpt("verify", packed).code, 1)


def with_wrong_checksum(checks, source):
    """A bit flipped in a storage that several tensors are views of."""
    damaged = checks.path()
    data = bytearray(source.read_bytes())
    data[1_500_000] ^= 1  # in module.large
    damaged.write_bytes(data)
    return damaged


def threads(checks):
    """The same input and options give the same bytes, and the same words, on one core as on all."""
    if len(os.sched_getaffinity(0)) < 2:
        return checks.suite.skip("threads", "this machine has one core, on which everything is the same anyway")
    source, packed, foreign = checks.path(), checks.path(".pt.gz"), checks.path(".pt.gz")
    ZIP.save(model(), source)
    checks.run("threads: compressed", "convert", source, packed)
    with gzip.open(foreign, "wb") as file:
        torch.save(model(), file)
    other = checks.path()
    ZIP.save(model(0.5), other)

    def outputs(*command, **variables):
        out = checks.path(".out")
        shown = checks.ckpt(*[out if word == "OUT" else word for word in command], **variables)
        files = sorted(p for p in out.rglob("*") if p.is_file()) if out.is_dir() else [out] if out.exists() else []
        words = (shown.text + shown.err).replace(str(out), "OUT")
        return shown.code, words, [file.read_bytes() for file in files]

    damaged = with_wrong_checksum(checks, source)

    for label, *command in (
        ("bare", "strip-prefix", source, "OUT"),
        ("gzip", "convert", source, "OUT", "--gzip"),
        ("gzip 6", "convert", source, "OUT", "--gzip=6"),
        ("gunzip", "convert", packed, "OUT", "--no-gzip"),
        ("gunzip foreign", "convert", foreign, "OUT", "--no-gzip"),
        ("gzip to gzip", "strip-prefix", foreign, "OUT", "--gzip"),
        ("safetensors", "convert", source, "OUT", "--format", "safetensors"),
        ("legacy", "convert", packed, "OUT", "--format", "torch-legacy", "--gzip=3"),
        ("npz", "convert", source, "OUT", "--format", "npz"),
        ("dtype", "convert", source, "OUT", "--dtype", "bfloat16"),
        ("contiguous", "convert", source, "OUT", "--contiguous", "--compact", "--dedupe"),
        ("shard", "shard", source, "OUT", "--max-size", "1MB"),
        ("dcp", "convert", source, "OUT", "--format", "dcp"),
        ("average", "average", source, other, "OUT"),
        ("digest", "digest", source),
        ("digest of gzip", "digest", packed),
        ("stats", "stats", "--json", source),
        ("stats of gzip", "stats", "--json", foreign),
        ("diff", "diff", source, other),
        ("finite", "verify", "--finite", source),
        *((f"{words[0]} of a wrong checksum", *words)
          for words in (["stats", damaged], ["diff", damaged, other], ["digest", damaged], ["verify", "--finite", damaged],
                        ["convert", damaged, "OUT", "--format", "safetensors"])),
    ):
        one, all_of_them = outputs(*command, OMP_NUM_THREADS="1"), outputs(*command)
        checks.suite.check(f"threads: {label}: it ran", one[0] in ((1, 3) if "wrong" in label else (0, 1)) and (one[1] or one[2]), one[:2])
        checks.suite.check(f"threads: {label}: the same", one == all_of_them, lambda a=one, b=all_of_them: f"{a[:2]}\n{b[:2]}")


GROUPS = [others_read_it, copies, parts_alone, threads]
