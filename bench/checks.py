"""Did a command do what it is measured at? Each check is a function of a Run, and raises Wrong where it did not."""

import hashlib
import json
import math
import subprocess
from dataclasses import dataclass
from pathlib import Path


class Wrong(Exception):
    pass


@dataclass
class Run:
    """What is left of a run: its output files, what it printed and warned of; and what there was to begin with."""

    ckpt: Path
    source: Path
    expected: dict  # tensor name: [SHA-256, dtype, shape], as PyTorch said when the source was made
    out: Path
    printed: Path
    warned: str  # on standard error


def demand(good, what):
    if not good:
        raise Wrong(what)


def beside(run, what):
    """More of what PyTorch said when the source was made."""
    return json.loads(run.source.with_name(f"{run.source.name.split('.')[0]}.{what}.json").read_text())


def ask(run, command):
    done = subprocess.run([run.ckpt, command, "--json", run.out], capture_output=True)
    demand(done.returncode == 0, f"ckpt {command} of the output: {done.stderr.decode()}")
    return json.loads(done.stdout)


def holds(device="cuda:0", prefix="module.", dtype=""):
    """OUT is a checkpoint of the source's tensors, on `device`, its keys beginning with `prefix`,
    cast to `dtype` as PyTorch casts."""

    def check(run):
        expected = beside(run, dtype) if dtype else run.expected
        expected = {prefix + name.removeprefix("module."): [*what, device] for name, what in expected.items()}
        digests = ask(run, "digest")["tensors"]
        tensors = ask(run, "inspect")["tensors"]
        found = {t["name"]: [digests.get(t["name"]), t["dtype"], t["shape"], t["device"]] for t in tensors}
        demand(found == expected, f"OUT does not hold the tensors of IN on {device} under {prefix!r}")

    return check


def lists(run):
    """The name of each tensor was printed."""
    missing = set(run.expected) - set(run.printed.read_text().split())
    demand(not missing, f"{len(missing)} of {len(run.expected)} tensors are not listed")


def hashes(run):
    """The SHA-256 of each tensor was printed before its name."""
    lines = {tuple(line.split()) for line in run.printed.read_text().splitlines()}
    right = all((what[0], name) in lines for name, what in run.expected.items())
    demand(right, "digests differ from PyTorch's tensors")


def _is_one_of_the_source(digest, run):
    """… and not of some tensor near its beginning."""
    late = list(run.expected.values())[len(run.expected) // 2 :]
    demand(digest in {what[0] for what in late}, "not the SHA-256 of a tensor of IN")


def hashes_one(run):
    _is_one_of_the_source(run.printed.read_text().split()[0], run)


def extracts(run):
    """OUT is one tensor, as numpy writes arrays."""
    content = run.out.read_bytes()
    demand(content.startswith(b"\x93NUMPY\x01\x00"), "OUT is no file of numpy's")
    _is_one_of_the_source(hashlib.sha256(content[10 + int.from_bytes(content[8:10], "little") :]).hexdigest(), run)


def hashes_file(run):
    with run.source.open("rb") as file:
        expected = hashlib.file_digest(file, "sha256").hexdigest()
    demand(run.printed.read_text().split()[0] == expected, "not the file's SHA-256")


def counts(run):
    """As many right as PyTorch finds: "9,771 of 10,000"."""
    right = f"{run.expected['correct']} of {run.expected['samples']}"
    demand(right in run.printed.read_text().replace(",", ""), f"it did not count {right}")


def describes(run):
    """The figures of each tensor were printed, as JSON or as peers/stats.py does, and a histogram of all its numbers."""
    text = run.printed.read_text()
    found = figures_of_json(text) if text.startswith("{") else figures_of_lines(text)
    expected = beside(run, "figures")
    demand(found.keys() == expected.keys(), "not the figures of each tensor of IN")
    for name, (figures, counts) in found.items():
        alike = all(math.isclose(*pair, rel_tol=1e-9, abs_tol=1e-12) for pair in zip(figures, expected[name], strict=True))
        demand(alike, f"{name}: {figures}, and PyTorch finds {expected[name]}")
        demand(sum(counts) == math.prod(run.expected[name][2]), f"{name}: the histogram is not of all numbers")


def figures_of_json(text):
    found = {tensor["name"]: tensor["stats"] for tensor in json.loads(text)["tensors"]}
    names = ("min", "max", "mean", "std", "l2", "zeros", "nan")
    return {name: ([stats[what] for what in names], stats["histogram"]["counts"]) for name, stats in found.items()}


def figures_of_lines(text):
    rows = [line.split(maxsplit=8) for line in text.splitlines()]
    return {name: (list(map(float, figures)), json.loads(counts)) for name, *figures, counts in rows}


def says(*texts):
    def check(run):
        said = run.printed.read_text()
        for text in texts:
            demand(text in said, f"it did not say {text!r}")

    return check


def clears(run):
    """Of picklescan: nothing found in one file that it could read to its end, which it says if it could not."""
    says("Scanned files: 1\n", "Infected files: 0\n", "Dangerous globals: 0\n")(run)
    demand(not run.warned, f"it warned: {run.warned}")


def succeeds(run):
    """Its exit status, which is asked of every command, says all."""
