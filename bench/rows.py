"""The table of what is measured: in each row ckpt's command, its peers' for the same job, and the marks to reach.

A command is written as the page shows it. IN and OUT are files, DATA the folder of IN's test set, `> OUT` takes the
standard output, and `python X.py` is a script in peers/, started as anybody would start it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import checks
from files import File
from marks import (
    memory_at_most,
    memory_flat,
    no_larger_than,
    seconds_at_most,
    times_at_most,
    times_faster,
    times_less_processor_time,
)
from test_sets import TestSet


@dataclass
class Command:
    line: str
    check: Callable  # see checks.py
    file: File | TestSet = None  # where it is not the row's
    remark: str = ""  # what it does not do of the row's job

    @property
    def ours(self):
        return self.line.startswith("ckpt ")


@dataclass
class Row:
    name: str
    title: str
    file: File | TestSet
    commands: list
    marks: list = field(default_factory=list)  # see marks.py


MODEL, SMALL, MEDIUM, LARGE, BF16, MANY = map(File, ("model", "small", "medium", "large", "bf16", "many"))
MODEL_GZ, SMALL_GZ, MEDIUM_GZ, LARGE_GZ = (File(file.kind, "python") for file in (MODEL, SMALL, MEDIUM, LARGE))

same = checks.holds()
on_cpu = checks.holds(device="cpu")
stripped = checks.holds(prefix="")
stripped_on_cpu = checks.holds(prefix="", device="cpu")
CP = Command("cp IN.pt OUT.pt", same, remark="changes nothing")


def seeing():
    starting = [
        Command("ckpt --version", checks.says("ckpt")),
        Command('python -c "pass"', checks.succeeds),
        Command('python -c "import torch"', checks.succeeds),
    ]
    python = Command("python list_tensors.py IN.pt", checks.lists)
    in_gzip = [
        Command("ckpt inspect IN.pt.gz", checks.lists),
        Command("igzip -d -c IN.pt.gz > OUT.pt", same, remark="inflates, and lists nothing"),
        Command("python list_tensors_gz.py IN.pt.gz", checks.lists),
    ]
    inspect = Command("ckpt inspect IN.pt", checks.lists)
    return [
        Row("start", "Starting, and doing nothing", MODEL, starting),
        Row("inspect", "Listing the tensors of a model", MODEL, [inspect, python], [seconds_at_most(0.010)]),
        Row("inspect-gz", "Listing the tensors of a model in gzip", MODEL_GZ, in_gzip),
        Row("inspect-many", "Listing very many tensors", MANY, [inspect, python], [seconds_at_most(0.3)]),
    ]


def converting():
    marks = [times_at_most(1.25, "cp"), memory_at_most(64)]
    to_cpu = [
        Command("ckpt convert IN.pt OUT.pt --to cpu", on_cpu),
        CP,
        Command("python to_cpu.py IN.pt OUT.pt", on_cpu),
        Command("python to_cpu_mmap.py IN.pt OUT.pt", on_cpu),
    ]
    strip = [
        Command("ckpt strip-prefix IN.pt OUT.pt", stripped),
        CP,
        Command("python strip_prefix.py IN.pt OUT.pt", stripped_on_cpu),
    ]
    return [
        Row("to-cpu", "From the GPU to the CPU", LARGE, to_cpu, marks),
        Row("strip-prefix", "Without DataParallel's `module.`", LARGE, strip, marks),
        Row("strip-prefix-many", "Without `module.`, very many tensors", MANY, strip),
    ]


def inflating():
    ckpt = Command("ckpt convert IN.pt.gz OUT.pt", same)
    igzip = Command("igzip -d -c IN.pt.gz > OUT.pt", same)
    pigz = Command("pigz -d -c IN.pt.gz > OUT.pt", same)
    gzip = Command("gzip -d -c IN.pt.gz > OUT.pt", same)
    python = Command("python gunzip.py IN.pt.gz OUT.pt", on_cpu)
    marks = [times_at_most(1.3, "igzip -d")]
    ours = File("medium", "ckpt")
    return [
        Row("gunzip", "Out of gzip", SMALL_GZ, [ckpt, igzip, pigz, gzip, python], marks),
        Row("gunzip-large", "Out of gzip, a large file", LARGE_GZ, [ckpt, igzip, pigz], marks),
        Row("gunzip-ours", "Out of gzip that ckpt wrote", ours, [ckpt, igzip, pigz], marks),
    ]


def deflating():
    ckpt = Command("ckpt convert IN.pt OUT.pt.gz", same)
    igzip = Command("igzip -1 -c IN.pt > OUT.pt.gz", same)
    gzips = [Command(f"{name} -{level} -c IN.pt > OUT.pt.gz", same) for name in ("pigz", "gzip") for level in (1, 9)]
    python = Command("python to_gzip.py IN.pt OUT.pt.gz", on_cpu)
    fast, small = times_at_most(1.3, "igzip -1"), no_larger_than("gzip -9")
    everybody = [ckpt, igzip, *gzips, python]
    return [
        Row("gzip", "Into gzip, float32", SMALL, everybody, [fast, small]),
        Row("gzip-bf16", "Into gzip, bfloat16", BF16, everybody, [fast, small]),
        Row("gzip-large", "Into gzip, a large file", LARGE, [ckpt, igzip], [fast]),
        Row("gzip-many", "Into gzip, very many tensors", MANY, [ckpt, igzip, gzips[-1]]),
    ]


def proving():
    sha256sum = Command("sha256sum IN.pt", checks.hashes_file, remark="one hash for the file, not one a tensor")
    digest = [
        Command("ckpt digest IN.pt", checks.hashes),
        sha256sum,
        Command("python digest.py IN.pt", checks.hashes),
    ]
    verify = [
        Command("ckpt verify IN.pt", checks.says(": ok")),
        Command("python -m zipfile -t IN.pt", checks.says("Done testing"), remark="checksums only"),
        sha256sum,
    ]
    verify_gz = [
        Command("ckpt verify IN.pt.gz", checks.says(": ok")),
        Command("igzip -t IN.pt.gz", checks.succeeds, remark="the stream only"),
        Command("gzip -t IN.pt.gz", checks.succeeds, remark="the stream only"),
    ]
    finite = [Command("ckpt verify --finite IN.pt", checks.says("every number finite"))]
    stats = [
        Command("ckpt stats --json IN.pt", checks.says('"histogram":{')),
        Command("python stats.py IN.pt", checks.succeeds),
    ]
    diff = [Command("ckpt diff IN.pt IN.pt", checks.succeeds), sha256sum]
    full = [Command("ckpt convert IN.pt OUT.pt --to cpu --verify=full", checks.holds(device="cpu"))]
    return [
        Row("digest", "A SHA-256 of each tensor", LARGE, digest),
        Row("verify", "Is the file whole?", LARGE, verify),
        Row("verify-gz", "Is the file in gzip whole?", SMALL_GZ, verify_gz),
        Row("finite", "… and every number finite?", LARGE, finite),
        Row("stats", "Range, mean, norm and histogram of each tensor", LARGE, stats),
        Row("diff", "What do two files differ in?", LARGE, diff),
        Row("read-back", "From the GPU to the CPU, every byte read again", LARGE, full),
    ]


def evaluating():
    """Accuracy on a test set, in gzip as the model is: ckpt eval beside the loop as people write it and a tuned one."""

    def commands(arch, data):
        lines = [f"python eval_{arch}{tuned}.py IN.pt.gz {data}" for tuned in ("", "_tuned")]
        return [Command(line, checks.counts) for line in ("ckpt eval IN.pt.gz --data DATA", *lines)]

    fnn, captcha = TestSet("fnn"), TestSet("captcha")
    less = times_less_processor_time
    frugal = [less(1.5, "python eval_captcha.py"), less(1.2, "python eval_captcha_tuned.py"), memory_at_most(381)]
    return [
        Row("eval-fnn", f"How good is a FNN? {fnn.what}", fnn, commands("fnn", "DATA"),
            [times_faster(12, "python eval_fnn.py")]),
        Row("eval-captcha", f"How good is a ResNet? {captcha.what}", captcha,
            commands("captcha", "DATA/testing_set.0.pt"), frugal),
    ]


def growing():
    """The same job on three sizes: does memory grow with the file?"""
    jobs = {
        "to-cpu": ("ckpt convert IN.pt OUT.pt --to cpu", on_cpu),
        "strip-prefix": ("ckpt strip-prefix IN.pt OUT.pt", stripped),
        "gzip": ("ckpt convert IN.pt OUT.pt.gz", same),
        "gunzip": ("ckpt convert IN.pt.gz OUT.pt", same),
    }
    rows = []
    for name, (line, check) in jobs.items():
        sizes = (SMALL_GZ, MEDIUM_GZ, LARGE_GZ) if name == "gunzip" else (SMALL, MEDIUM, LARGE)
        commands = [Command(line, check, file) for file in sizes]
        if name == "to-cpu":
            commands += [Command("python to_cpu.py IN.pt OUT.pt", on_cpu, file) for file in sizes]
        title = f"Memory by size: `{line}`"
        # An inflated stream keeps at most 64 positions to go back to, some 5 MiB in all.
        rows.append(Row(f"memory-{name}", title, sizes[0], commands, [memory_at_most(64), memory_flat(8)]))
    return rows


def table():
    return [*seeing(), *converting(), *inflating(), *deflating(), *proving(), *evaluating(), *growing()]
