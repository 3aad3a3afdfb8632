#!/usr/bin/env python3
"""What ckpt takes beside what others take for the same job, in the same minutes, on the same files: rows/ has them.

    bench/run.py --build build/release [--quick] [--rows REGEX] [--rounds N] [--page] [--cache FOLDER] [--peers FOLDER]
    bench/run.py --build build/release --compare REV | --compare-build FOLDER [--rows REGEX] …

Needs a Python that has torch. A row's commands run once each, unmeasured, and their output is checked; then in rounds,
one after the other, so that a slow minute slows them all. The exit status says whether all ran and was right, never how
fast it was.
"""

import argparse
import json
import os
import re
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import compare
import machine
import page
import rows
from runner import Bench, Failed, measure_row
from store import Store, order

ROOM = {True: 256 << 20, False: 12 << 30}  # bytes of RAM disk for a quick run, for a full one


def measure(options, chosen, folder, where):
    """The report. Rows are measured as their files come and go, and reported as the table has them."""
    bench = Bench(options.build, folder, options.peers)
    store = Store(folder, bench.ckpt, options.cache, options.quick)
    other = options.other and Bench(options.build, folder, old=options.other)
    setting = machine.describe(bench.ckpt, where, options.peers)
    done = {}
    waiting = order(chosen)
    if options.quick:  # tiny files may all be there, and torch, which makes them, is started once
        store.need({file for row in chosen for file in row.files()})
    while waiting:
        row = waiting.pop(0)
        store.need(row.files())
        if other:
            done[row.name] = compare.measure_row(bench, other, row, options.rounds)
            print("\n".join(compare.section(done[row.name])), flush=True)
        else:
            done[row.name] = measure_row(bench, row, options.rounds, options.python, trial_counts=options.quick)
            print("\n".join(page.section(done[row.name])), flush=True)
        later = {file for row in waiting for file in row.files()}
        store.keep_only(later | store.bare(later))
    return {
        "machine": setting,
        "rounds": options.rounds,
        "quick": options.quick,
        "files": store.described(),
        "rows": [done[row.name] for row in chosen],
    }


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
    parser.add_argument("--peers", type=Path, help="where the packages of bench/requirements.txt are")
    parser.add_argument("--quick", action="store_true", help="tiny files, 2 rounds: does it work at all?")
    parser.add_argument("--rows", type=re.compile, default="", metavar="REGEX", help="only rows with such a name")
    parser.add_argument("--rounds", type=int, metavar="N", help="default: 5, with --quick 2")
    parser.add_argument("--page", action="store_true", help="write docs/benchmarks.md, its plots and docs/benchmarks.json")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to FILE")
    parser.add_argument("--no-python", dest="python", action="store_false",
                        help="leave out the peers in Python, which take seconds to start")
    parser.add_argument("--compare", metavar="REV", help="ckpt alone, beside that of another revision, which is built")
    parser.add_argument("--compare-build", type=Path, metavar="FOLDER", help="… beside that of another build folder")
    options = parser.parse_args()
    if options.rounds is None:
        options.rounds = 2 if options.quick else 5
    if options.rounds < 1:
        parser.error("--rounds: at least 1")
    comparing = options.compare or options.compare_build
    if options.page and (options.quick or options.rows.pattern or not options.python or comparing):
        parser.error("--page is for all rows, measured in full")
    chosen = [row for row in rows.table() if re.search(options.rows, row.name)]
    if not chosen:
        parser.error(f"no such row; there are: {', '.join(row.name for row in rows.table())}")
    if comparing:
        chosen = compare.for_comparison(chosen)
    return options, chosen


def main():
    options, chosen = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the folder goes away
    parent, where = place(options.quick)
    try:
        options.other = compare.build(options.compare, options.build) if options.compare else options.compare_build
        with tempfile.TemporaryDirectory(prefix="ckpt-bench-", dir=parent) as folder:
            report = measure(options, chosen, Path(folder), where)
    except (Failed, compare.NotBuilt) as failed:
        print(f"bench: {failed}", file=sys.stderr)
        return 1
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    if options.other:
        print(compare.write(report, options))
        return 0
    if options.page:
        (page.DOCS / "benchmarks.json").write_text(json.dumps(report, indent=1) + "\n")
        page.write(report)
    print(page.closing(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
