#!/usr/bin/env python3
"""docs/benchmarks.md, of the results that run.py collects. As a program: writes it again, of docs/benchmarks.json."""

import json
from pathlib import Path

from figures import mib, seconds, size

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
PEERS = HERE / "peers"
FASTER, SMALLER = 1.03, 1.001  # by less than this, a peer is not called so

INTRO = """# Benchmarks

Written by `./dev bench --page`; [benchmarks.json](benchmarks.json) has the same with the time of each run. Times differ
from machine to machine and from hour to hour: the ratios taken within one run are what counts.

## How it is measured

- Each command is a process of its own, timed from its start to its end; what a Python script takes without
  `import torch` is said beside it.
- Before anything is measured, each command runs once and its output is checked: names, dtypes, shapes, devices and
  the SHA-256 of each tensor against what PyTorch held when it wrote the file. A wrong output ends the benchmark.
- Then come {rounds} rounds, in each of which the commands of a table run one after the other. *Time* is the median,
  *range* the fastest and the slowest run, *processor* user and system time together, *memory* the largest resident set
  of all runs (of a mapped file, the pages that were touched). What starts them is a program of 1 MiB, so that nothing
  of it shows.
- *Beside ckpt* is a command's time divided by that of ckpt on the same file.
- Files lie on {files_on}, and were just read: what is compared is work, not disks.
"""


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]


def ckpt_beside(row, result):
    """What ckpt took in this row for the same file."""
    return next(other for other in row["commands"] if other["ours"] and other["file"] == result["file"])


def section(row):
    """A row, as a section of the page: its table and its marks."""
    sizes = any(result.get("command", "").endswith("OUT.pt.gz") for result in row["commands"])
    lines = []
    for result in row["commands"]:
        command = f"`{result['command']}`" + (f" ({result['remark']})" if result["remark"] else "")
        if "missing" in result:
            lines.append([command, f"not measured: here is no {result['missing']}", *[""] * (4 + sizes)])
            continue
        time = seconds(result["median"])
        if "without_import" in result:
            time += f" ({seconds(result['without_import'])} without import)"
        span = f"{seconds(result['min'])} to {seconds(result['max'])}"
        ckpt = ckpt_beside(row, result)
        beside = f"{result['median'] / ckpt['median']:.2f} ×" if "median" in ckpt else ""
        line = [command, time, span, beside, seconds(result["cpu"]), mib(result["peak"])]
        lines.append(line + [size(result["size"]) if "size" in result else ""] * sizes)
    head = ["command", "time", "range", "beside ckpt", "processor", "memory"] + ["size"] * sizes
    marks = [f"- {word(mark)}: {mark['asked']}; measured: {mark['measured']}" for mark in row["marks"]]
    return [f"### {row['title']}", "", *table(head, lines), "", *([*marks, ""] if marks else [])]


def word(mark):
    return {True: "Kept", False: "**Missed**", None: "Not judged"}[mark["kept"]]


def losses(report):
    """Where a peer beats ckpt, in words."""
    for row in report["rows"]:
        for mark in row["marks"]:
            if mark["kept"] is False:
                yield f"{row['title']}: the mark is {mark['asked']}, and {mark['measured']} was measured."
        for peer in row["commands"]:
            if not peer["ours"] and "missing" not in peer and "missing" not in ckpt_beside(row, peer):
                yield from beaten(row["title"], ckpt_beside(row, peer), peer)
    yield from memory_beaten(report)


def beaten(title, ckpt, peer):
    does = f" ({peer['remark']})" if peer["remark"] else ""
    times = f"{seconds(peer['median'])} against {seconds(ckpt['median'])}"
    if peer["median"] * FASTER < ckpt["median"]:
        yield f"{title}: `{peer['command']}`{does} is faster, {times}."
    elif peer.get("without_import", ckpt["median"]) * FASTER < ckpt["median"]:
        times = f"{seconds(peer['without_import'])} against {seconds(ckpt['median'])}"
        yield f"{title}: `{peer['command']}`{does} is faster where torch is imported already, {times}."
    if peer["command"].endswith("OUT.pt.gz") and peer["size"] * SMALLER < ckpt["size"]:
        sizes = f"{size(peer['size'])} against {size(ckpt['size'])}"
        yield f"{title}: `{peer['command']}` makes a smaller file, {sizes}, in {times}."


def memory_beaten(report):
    measured = [result for row in report["rows"] for result in row["commands"] if "missing" not in result]
    ours = [result["peak"] for result in measured if result["ours"]]
    peaks = {}
    for result in measured:
        if not result["ours"]:
            peaks.setdefault(result["command"].split()[0], []).append(result["peak"])
    less = {name: of for name, of in peaks.items() if max(of) < min(ours)}
    if less:
        names, most = ", ".join(f"`{name}`" for name in less), max(map(max, less.values()))
        span = f"{mib(min(ours))} to {mib(max(ours))}"
        yield f"Memory: {names} take less, at most {mib(most)}, where ckpt takes {span}."


def closing(report):
    marks = [mark["kept"] for row in report["rows"] for mark in row["marks"]]
    line = f"every output right; marks: {marks.count(True)} kept, {marks.count(False)} missed"
    line += f", {marks.count(None)} not judged" if None in marks else ""
    return line + ("; the files were tiny, so the figures mean nothing" if report["quick"] else "")


def setting(report):
    machine = report["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return [
        "## On what",
        "",
        f"- {machine['processor']}, {machine['cores']} cores, {machine['memory'] / 2**30:.0f} GiB of memory; "
        f"{machine['kernel']}; {machine['date']}; load when it began: {machine['load']}",
        f"- {versions}",
        "",
        "The files are what `torch.save` makes of a DataParallel model's state dict, each storage tagged `cuda:0`,",
        "with normally distributed weights, a deviation for each layer, as in a trained network:",
        "",
        *table(["file", "size", "what is in it"],
               [[f"`{file['name']}`", size(file["bytes"]), file["what"]] for file in report["files"]]),
    ]


def scripts(report):
    used = " ".join(result["command"] for row in report["rows"] for result in row["commands"])
    lines = ["## The scripts in Python", ""]
    for path in sorted(PEERS.glob("*.py")):
        if f"python {path.name} " in used:
            lines += [f"`{path.name}`:", "", "```python", path.read_text().rstrip(), "```", ""]
    return lines


def page(report):
    marks = [[row["title"], m["asked"], m["measured"], word(m)] for row in report["rows"] for m in row["marks"]]
    lost = [f"- {loss}" for loss in losses(report)] or ["Nowhere, in this run."]
    lines = [
        INTRO.format(rounds=report["rounds"], files_on=report["machine"]["files_on"]),
        *setting(report), "",
        "## Marks", "", *table(["job", "asked", "measured", ""], marks), "",
        "## Where ckpt loses", "", *lost, "",
        "## Figures", "",
    ]
    for row in report["rows"]:
        lines += section(row)
    return "\n".join([*lines, *scripts(report)]).rstrip("\n") + "\n"


def write(report):
    (DOCS / "benchmarks.md").write_text(page(report))


if __name__ == "__main__":
    write(json.loads((DOCS / "benchmarks.json").read_text()))
