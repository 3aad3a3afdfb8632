#!/usr/bin/env python3
"""How much of lib/ and formats/ the tests of a build with CKPT_COVERAGE have executed, by lines and by branches.

    tests/coverage.py --build build/asan

Below what is asked for it fails; the least covered files are listed.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

import harness
from llvm_coverage import by_file, tool

PARTS = ("lib/include", "lib/io", "lib/model", "lib/ops", "formats")
ASKED = {"lines": 95, "branches": 85}  # per cent, of all parts together
LISTED = 8


def counted(build):
    binaries = [build / "bin/ckpt_unit_tests", build / "lib/libckpt.so"]
    return by_file(build, sorted((build / "profiles").glob("*.profraw")), binaries)


def per_cent(covered, count):
    return 100 * covered / count if count else 100  # a file without branches


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=Path, required=True, help="a build folder of the preset asan, its tests run")
    options = parser.parse_args()
    suite = harness.Suite()
    if not tool("llvm-cov") or not tool("llvm-profdata"):
        suite.skip("coverage", "no llvm-cov (llvm-14)")
        return suite.finish()
    files = {name: what for name, what in counted(options.build.resolve()).items() if name.startswith(PARTS)}
    suite.check("files are counted", len(files) > 100, len(files))
    sums = {part: Counter() for part in (*PARTS, "together")}
    for name, by in files.items():
        for part in (next(part for part in PARTS if name.startswith(part)), "together"):
            for what, (covered, count) in by.items():
                sums[part].update({what: covered, f"all {what}": count})
    for part, found in sums.items():
        print(f"{part:<12}" + "".join(f"{per_cent(found[w], found[f'all {w}']):>8.1f} % of {found[f'all {w}']:,} {w}" for w in ASKED))
    for name in sorted(files, key=lambda name: per_cent(*files[name]["lines"]))[:LISTED]:
        print(f"  {name}: " + ", ".join(f"{per_cent(*files[name][what]):.0f} % of its {what}" for what in ASKED))
    for what, asked in ASKED.items():
        found = per_cent(sums["together"][what], sums["together"][f"all {what}"])
        suite.check(f"{what}: {asked} % at least", found >= asked, f"{found:.1f} %")
        suite.figure(f"coverage.{what}", int(found))
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
