#!/usr/bin/env python3
"""clang-format over every source, clang-tidy over those that are neither tests nor samples, changing nothing.

    tests/lint.py --folder build/lint --cache ~/.cache/ckpt/lint [--seconds N]

FOLDER says how each file is compiled. What clang-tidy found nothing in is not read again, as long as neither it nor what
it includes of this repository, neither .clang-tidy nor the program has changed: CACHE has an empty file for each. What there
is no time for in N seconds is left to the next run, and said; what was changed last comes first.
"""

import argparse
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import harness

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("lib", "formats", "eval", "tools", "fuzz", "bench", "tests", "samples")
INCLUDED = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.M)
TIDY_FOLDERS = ("lib", "formats", "eval", "tools", "fuzz", "bench")
DAYS_KEPT = 60
A_FILE = 10  # seconds that one takes


def sources():
    return sorted(file for folder in FOLDERS for kind in ("h", "cpp", "inc", "cu") for file in (ROOT / folder).rglob(f"*.{kind}"))


def changed_last(files):
    """The files, those first that are not committed yet, then by commit."""
    lines = []
    for command in (["git", "diff", "--name-only", "HEAD"], ["git", "log", "--format=", "--name-only"]):
        lines += subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
    rank = {ROOT / line: -i for i, line in enumerate(reversed(lines))}
    return sorted(files, key=lambda file: rank.get(file, 0))


class Tidy:
    def __init__(self, folder, cache, seconds):
        self.folder, self.cache = folder, cache
        self.until = time.monotonic() + seconds
        self.cache.mkdir(parents=True, exist_ok=True)
        version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
        self.same_for_all = hashlib.sha256(version + (ROOT / ".clang-tidy").read_bytes()).digest()
        self.has_libtorch = bool(re.search(r"^CKPT_LIBTORCH:\w+=.", (folder / "CMakeCache.txt").read_text(), re.M))
        commands = json.loads((folder / "compile_commands.json").read_text())
        self.commands = {Path(entry["file"]).resolve(): entry["command"].replace(str(ROOT), "") for entry in commands}

    @functools.cache
    def included_by(self, file):
        """Files of this repository that `file` may mean: every one whose path ends as the name does."""
        names = [name.decode() for name in INCLUDED.findall(file.read_bytes())]
        return [header for name in names for header in self.headers().get(Path(name).name, ()) if str(header).endswith("/" + name)]

    @functools.cache
    def headers(self):
        found = {}
        for file in sources():
            found.setdefault(file.name, []).append(file)
        return found

    def key(self, file):
        reached, left = set(), [file]
        while left:
            one = left.pop()
            if one not in reached:
                reached.add(one)
                left += self.included_by(one)
        digest = hashlib.sha256(self.same_for_all + self.commands[file].encode())
        for one in sorted(reached):
            digest.update(str(one.relative_to(ROOT)).encode() + b"\0" + hashlib.sha256(one.read_bytes()).digest())
        return digest.hexdigest()

    def findings(self, file):
        """What clang-tidy says of it; nothing where all is well, None where there is no time."""
        known = self.cache / self.key(file)
        if known.exists():
            os.utime(known)
            return ""
        if time.monotonic() + A_FILE > self.until:
            return None
        ours = f"^{re.escape(str(ROOT))}/({'|'.join(TIDY_FOLDERS)})/"  # libtorch's headers lie below a lib/, too
        command = ["clang-tidy", "--quiet", "-p", self.folder, f"--header-filter={ours}",
                   "--extra-arg=-Wno-unknown-warning-option", file]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            return done.stdout or done.stderr
        known.touch()
        return ""

    def forget_old(self):
        for file in self.cache.iterdir():
            if file.stat().st_mtime < time.time() - DAYS_KEPT * 86400:
                file.unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, required=True, help="a build folder that is set up, tests and benchmarks too")
    parser.add_argument("--cache", type=Path, required=True, help="where what is known to be well is kept")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for clang-tidy; as long as it takes")
    options = parser.parse_args()
    suite, files = harness.Suite(), sources()
    with suite.group("clang-format"):
        done = subprocess.run(["clang-format", "--dry-run", "-Werror", *files], cwd=ROOT, capture_output=True, text=True)
        suite.check("every file is formatted", done.returncode == 0, done.stderr[-5000:] + "\n./dev format mends it")
    with suite.group("clang-tidy"), ThreadPoolExecutor(os.cpu_count()) as pool:
        tidy = Tidy(options.folder.resolve(), options.cache, options.seconds)
        shipped = [file for file in files if file.relative_to(ROOT).parts[0] in TIDY_FOLDERS]
        unknown = [str(file.relative_to(ROOT)) for file in shipped if file.suffix == ".cpp" and file not in tidy.commands]
        if not tidy.has_libtorch:
            suite.skip(f"{sum(name.startswith('eval/') for name in unknown)} files of eval", "they are compiled where libtorch is")
            unknown = [name for name in unknown if not name.startswith("eval/")]
        suite.equal("sources that no command compiles", unknown, [])
        known, late = changed_last(file for file in shipped if file in tidy.commands), 0
        for file, said in zip(known, pool.map(tidy.findings, known)):
            if said is None:
                late += 1
            else:
                suite.check(str(file.relative_to(ROOT)), not said, said)
        if late:
            suite.skip(f"{late} of {len(known)} files", f"not read in {options.seconds:.0f} s; ./dev lint reads all")
        tidy.forget_old()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
