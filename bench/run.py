#!/usr/bin/env python3
"""What ckpt takes beside what others take for the same job, in the same minutes, on the same files: rows.py has them.

    bench/run.py --build build/release [--quick] [--rows REGEX] [--rounds N] [--page] [--cache FOLDER]

Needs a Python that has torch. A row's commands run once each, unmeasured, and their output is checked; then in rounds,
one after the other, so that a slow minute slows them all. The exit status says whether all ran and was right, never how
fast it was.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import checks
import files
import machine
import page
import rows
import test_sets

HERE = Path(__file__).resolve().parent
ROOM = {True: 256 << 20, False: 8 << 30}  # bytes of RAM disk for a quick run, for a full one


class Failed(Exception):
    pass


class Bench:
    """Where the programs and files are. `folder` holds the sources and, in out/, whatever a command puts out."""

    def __init__(self, build, folder):
        self.ckpt = (build / "bin/ckpt").resolve()
        self.measure = (build / "bin/ckpt_measure").resolve()
        self.folder, self.out = folder, folder / "out"
        self.printed = self.out / "printed"

    def words(self, line, source):
        """The words to run, the file its standard output goes to, and the file it makes."""
        words, printed, made = shlex.split(line), self.printed, None
        for i, word in enumerate(words):
            if word.startswith("IN."):
                words[i] = str(source)
            elif word.startswith("DATA"):
                words[i] = f"{self.folder}/{test_sets.folder(source)}{word.removeprefix('DATA')}"
            elif word.startswith("OUT."):
                made = self.out / word
                words[i] = str(made)
        if ">" in words:
            words, printed = words[: words.index(">")], made
        if words[0] == "ckpt":
            words[0] = str(self.ckpt)
        elif words[0] == "python":
            words[0] = sys.executable
            if words[1].endswith(".py"):
                words[1:2] = [str(HERE / "peers/timed.py"), str(HERE / "peers" / words[1])]
        return words, printed, made

    def run(self, line, source):
        """One run of a command, into an empty folder."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        words, printed, made = self.words(line, source)
        done = subprocess.run([self.measure, printed, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        taken = json.loads(done.stdout) if done.returncode == 0 else {"status": "not started"}
        if taken["status"] != 0:
            raise Failed(f"{line}: exit {taken['status']}\n{done.stderr}")
        own = re.search(r"^without import: ([\d.]+)$", done.stderr, re.M)
        taken["without_import"] = float(own[1]) if own else None
        taken["size"] = made.stat().st_size if made else None
        return taken, made

    def try_out(self, command, source):
        """An unmeasured run, of which the output is judged."""
        _, made = self.run(command.line, source)
        expected = json.loads((self.folder / f"{source.name.split('.')[0]}.json").read_text())
        try:
            command.check(checks.Run(self.ckpt, source, expected, made, self.printed))
        except checks.Wrong as wrong:
            raise Failed(f"{command.line}: {wrong}") from None


def missing(bench, command):
    """What a command needs that is not here."""
    program = command.line.split()[0]
    if command.line.startswith("ckpt eval ") and not bench.ckpt.with_name("ckpt-eval").exists():
        return "libtorch, for ckpt-eval"
    if program in ("ckpt", "python") or shutil.which(program):
        return None
    return "Debian's package " + {"igzip": "isal", "cp": "coreutils", "sha256sum": "coreutils"}.get(program, program)


def summary(runs):
    walls = [run["wall"] for run in runs]
    result = {
        "median": statistics.median(walls),
        "min": min(walls),
        "max": max(walls),
        "cpu": statistics.median(run["cpu"] for run in runs),
        "peak": max(run["peak"] for run in runs),
        "walls": walls,
    }
    if runs[0]["without_import"] is not None:
        result["without_import"] = statistics.median(run["without_import"] for run in runs)
    if runs[0]["size"] is not None:
        result["size"] = runs[0]["size"]
    return result


def measure_row(bench, row, rounds, python=True):
    results, present = [], []
    for command in row.commands:
        if not python and command.line.startswith("python"):
            continue
        file = command.file or row.file
        source = bench.folder / file.name
        shown = re.sub(r"IN\.pt(\.gz)?", file.name, command.line).replace("DATA", test_sets.folder(source))
        result = {"command": shown, "file": file.name, "ours": command.ours, "remark": command.remark}
        results.append(result)
        if what := missing(bench, command):
            result["missing"] = what
            continue
        bench.try_out(command, source)
        present.append((command, source, result, []))
    for _ in range(rounds):
        for command, source, _, runs in present:
            runs.append(bench.run(command.line, source)[0])
    for _, _, result, runs in present:
        result.update(summary(runs))
    judged = [mark(results) for mark in row.marks]
    marks = [{"asked": asked, "measured": measured, "kept": kept} for asked, measured, kept in judged]
    return {"name": row.name, "title": row.title, "commands": results, "marks": marks}


def measure(options, chosen, folder, where):
    bench = Bench(options.build, folder)
    needed = {command.file or row.file for row in chosen for command in row.commands}
    print(f"making {len(needed)} files on {where}", file=sys.stderr, flush=True)
    setting = machine.describe(bench.ckpt, where)
    sets = {file for file in needed if isinstance(file, test_sets.TestSet)}
    files.make(needed - sets, folder, bench.ckpt, options.cache, options.quick)
    test_sets.make(sets, folder, options.quick)
    report = {
        "machine": setting,
        "rounds": options.rounds,
        "quick": options.quick,
        "files": [
            {"name": f.name, "what": f.what, "bytes": (folder / f.name).stat().st_size}
            for f in sorted(needed, key=lambda f: f.name)
        ],
        "rows": [],
    }
    for row in chosen:
        report["rows"].append(measure_row(bench, row, options.rounds, options.python))
        print("\n".join(page.section(report["rows"][-1])), flush=True)
    return report


def place(quick):
    """A RAM disk where there is one with room; else the folder for temporary files."""
    ram = Path("/dev/shm")
    free = machine.memory_available()
    if ram.is_dir() and os.access(ram, os.W_OK) and min(shutil.disk_usage(ram).free, free) > ROOM[quick]:
        return ram, "a RAM disk"
    return None, f"a disk ({tempfile.gettempdir()}), as there is no RAM disk with room"


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=Path, required=True, help="a build folder")
    parser.add_argument("--cache", type=Path, help="where files that take long to make are kept")
    parser.add_argument("--quick", action="store_true", help="tiny files, 2 rounds: does it work at all?")
    parser.add_argument("--rows", type=re.compile, default="", metavar="REGEX", help="only rows with such a name")
    parser.add_argument("--rounds", type=int, metavar="N", help="default: 5, with --quick 2")
    parser.add_argument("--page", action="store_true", help="write docs/benchmarks.md and docs/benchmarks.json")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to FILE")
    parser.add_argument("--no-python", dest="python", action="store_false",
                        help="leave out the peers in Python, which take seconds to start")
    options = parser.parse_args()
    if options.rounds is None:
        options.rounds = 2 if options.quick else 5
    if options.rounds < 1:
        parser.error("--rounds: at least 1")
    if options.page and (options.quick or options.rows.pattern or not options.python):
        parser.error("--page is for all rows, measured in full")
    chosen = [row for row in rows.table() if re.search(options.rows, row.name)]
    if not chosen:
        parser.error(f"no such row; there are: {', '.join(row.name for row in rows.table())}")
    return options, chosen


def main():
    options, chosen = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the folder goes away
    parent, where = place(options.quick)
    try:
        with tempfile.TemporaryDirectory(prefix="ckpt-bench-", dir=parent) as folder:
            report = measure(options, chosen, Path(folder), where)
    except Failed as failed:
        print(f"bench: {failed}", file=sys.stderr)
        return 1
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    if options.page:
        (page.DOCS / "benchmarks.json").write_text(json.dumps(report, indent=1) + "\n")
        page.write(report)
    print(page.closing(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
