#!/usr/bin/env python3
"""docs/benchmarks.md and its plots, of the results that run.py collects. As a program: writes them again, of
docs/benchmarks.json."""

import json
from pathlib import Path

import plots
from figures import mib, seconds, size
from losses import losses
from runner import FEW, SLOW

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
PEERS = HERE / "peers"

INTRO = """# Benchmarks

Written by `./dev bench --page`; [benchmarks.json](benchmarks.json) has the same with the time of each run. Times differ
from machine to machine and from hour to hour: the ratios taken within one run are what counts.

{plots}
## How it is measured

- Each command is a process of its own, timed from its start to its end; what a Python script takes without
  `import torch` is said beside it.
- Before anything is measured, each command runs once and its output is checked: names, dtypes, shapes, devices and
  the SHA-256 of each tensor against what PyTorch held when it wrote the file. A wrong output ends the benchmark.
- Then come {rounds} rounds, in each of which the commands of a table run one after the other. *Time* is the median,
  *range* the fastest and the slowest run, *processor* user and system time together, *memory* the largest resident set
  of all runs (of a mapped file, the pages that were touched). What starts them is a program of 1 MiB, so that nothing
  of it shows.
- What takes longer than {slow} s runs in {few} rounds at most, and so do the rows that are there for memory: the table says
  so.
- *Beside ckpt* is a command's time divided by that of ckpt on the same file.
- Python is given the fastest way that its libraries have for a job: a mark names the script that is judged.
- Files lie on {files_on}, and were just read: what is compared is work, not disks.
"""
PLOTS = """![What others take for the same job, in times of what ckpt takes](benchmarks/overview.svg)

![Memory by the size of the file](benchmarks/memory.svg)
"""


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]


def cells(row, result, sizes):
    """The line of a command in its row's table."""
    command = f"`{result['command']}`" + (f" ({result['remark']})" if result["remark"] else "")
    if "missing" in result:
        return [command, f"not measured: here is no {result['missing']}", *[""] * (4 + sizes)]
    time = seconds(result["median"])
    if "without_import" in result:
        time += f" ({seconds(result['without_import'])} without import)"
    span = f"{seconds(result['min'])} to {seconds(result['max'])}"
    most = max(other.get("rounds", 0) for other in row["commands"])
    if result.get("rounds", most) < most:
        span += f", {result['rounds']} rounds"
    ckpt = plots.ckpt_beside(row, result)
    beside = f"{result['median'] / ckpt['median']:.2f} ×" if "median" in ckpt else ""
    line = [command, time, span, beside, seconds(result["cpu"]), mib(result["peak"])]
    return line + [size(result["size"]) if "size" in result else ""] * sizes


def section(row):
    """A row, as a section of the page: its table and its marks."""
    sizes = any(result.get("command", "").endswith("OUT.pt.gz") for result in row["commands"])
    lines = [cells(row, result, sizes) for result in row["commands"]]
    head = ["command", "time", "range", "beside ckpt", "processor", "memory"] + ["size"] * sizes
    marks = [f"- {word(mark)}: {mark['asked']}; measured: {mark['measured']}" for mark in row["marks"]]
    note = [row["note"], ""] if row.get("note") else []
    return [f"### {row['title']}", "", *note, *table(head, lines), "", *([*marks, ""] if marks else [])]


def word(mark):
    return {True: "Kept", False: "**Missed**", None: "Not judged"}[mark["kept"]]


def closing(report):
    marks = [mark["kept"] for row in report["rows"] for mark in row["marks"]]
    line = f"every output right; marks: {marks.count(True)} kept, {marks.count(False)} missed"
    if None in marks:
        line += f", {marks.count(None)} not judged"
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
        INTRO.format(rounds=report["rounds"], files_on=report["machine"]["files_on"], slow=SLOW, few=FEW, plots=PLOTS),
        *setting(report), "",
        "## Marks", "", *table(["job", "asked", "measured", ""], marks), "",
        "## Where ckpt loses", "", *lost, "",
        "## Figures", "",
    ]
    for row in report["rows"]:
        lines += section(row)
    return "\n".join([*lines, *scripts(report)]).rstrip("\n") + "\n"


def written(report):
    """The text of each file that makes the page, by its path below docs."""
    return {
        "benchmarks.md": page(report),
        "benchmarks/overview.svg": plots.overview(report),
        "benchmarks/memory.svg": plots.memory(report),
    }


def write(report, docs=DOCS):
    for name, text in written(report).items():
        (docs / name).parent.mkdir(exist_ok=True)
        (docs / name).write_text(text)


if __name__ == "__main__":
    write(json.loads((DOCS / "benchmarks.json").read_text()))
