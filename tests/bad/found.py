#!/usr/bin/env python3
"""Every input that fuzzing ever found a fault with, once more: tests/bad/found/TARGET/WHAT-IT-WAS.

    tests/bad/found.py --replay build/release/bin/ckpt_fuzz_replay [--sanitized]

Each goes through its target, which ends the process where a promise does not hold; a sanitizer's build sees more, and leaves
out what only a cap ends.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness  # noqa: E402

FOUND = Path(__file__).resolve().parent / "found"
# Work that only a cap ends, of which sanitizers make a minute.
LONG = ("compressed/containers-shared-exponentially", "roundtrip/more-names-than-are-read")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--replay", required=True, help="the program ckpt_fuzz_replay")
    parser.add_argument("--sanitized", action="store_true", help="it is built with sanitizers: without what takes them a minute")
    options = parser.parse_args()
    suite = harness.Suite()
    for file in sorted(FOUND.glob("*/*")):
        name = str(file.relative_to(FOUND))
        if options.sanitized and name in LONG:
            suite.skip(name, "only a cap ends it, and sanitizers make a minute of that")
            continue
        try:
            # What a target that is ended leaves goes with the folder.
            with harness.temporary_folder() as scratch:
                done = subprocess.run([options.replay, file.parent.name, str(file)], capture_output=True, timeout=200,
                                      env={**os.environ, "TMPDIR": str(scratch)})
            status, said = done.returncode, (done.stdout + done.stderr).decode("utf-8", "backslashreplace")
        except subprocess.TimeoutExpired:
            status, said = "none in 200 s", ""
        suite.check(f"{name}: exit {status}", status == 0, "\n".join(said.splitlines()[:20]))
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
