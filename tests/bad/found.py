#!/usr/bin/env python3
"""Every input that fuzzing ever found a fault with, once more: tests/bad/found/TARGET/WHAT-IT-WAS.

    tests/bad/found.py --replay build/release/bin/ckpt_fuzz_replay

Each goes through its target, which ends the process where a promise does not hold; a sanitizer's build sees more.
"""

import argparse
import subprocess
import sys
from pathlib import Path

FOUND = Path(__file__).resolve().parent / "found"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--replay", required=True, help="the program ckpt_fuzz_replay")
    options = parser.parse_args()
    passed = failed = 0
    for file in sorted(FOUND.glob("*/*")):
        try:
            done = subprocess.run([options.replay, file.parent.name, str(file)], capture_output=True, timeout=200)
            status, said = done.returncode, (done.stdout + done.stderr).decode("utf-8", "backslashreplace")
        except subprocess.TimeoutExpired:
            status, said = "none in 200 s", ""
        if status == 0:
            passed += 1
        else:
            failed += 1
            print(f"FAIL {file.relative_to(FOUND)}: exit {status}\n    " + "\n    ".join(said.splitlines()[:20]))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
