"""What the Python-driven suites share: counting, running ckpt, a folder that goes away.

A suite prints what fails in full and what passes as a count a group, and ends with
`N passed, N failed[, N skipped]`; its exit status is 1 where anything failed.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import forkserver

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"
GIB = 1 << 30


class Suite:
    """Counts results. Safe to use from several threads; `group` is printed by the thread that ends it."""

    def __init__(self):
        self.passed = self.failed = 0
        self.skips = []
        self._lock = threading.Lock()

    def ok(self, count=1):
        with self._lock:
            self.passed += count

    def fail(self, name, detail=""):
        text = f"FAIL {name}\n"
        if detail:
            text += "".join(f"    {line}\n" for line in str(detail).rstrip("\n").split("\n"))
        with self._lock:
            self.failed += 1
            sys.stdout.write(text)
            sys.stdout.flush()

    def skip(self, name, reason):
        with self._lock:
            self.skips.append((name, reason))
            print(f"skip {name}: {reason}", flush=True)

    def check(self, name, good, detail=""):
        """Counts one result; `detail` may be a function, called only on failure."""
        if good:
            self.ok()
        else:
            self.fail(name, detail() if callable(detail) else detail)
        return bool(good)

    def equal(self, name, got, expected, context=""):
        return self.check(
            name, got == expected, lambda: f"{context}\n     got: {got!r}\nexpected: {expected!r}".lstrip()
        )

    def figure(self, name, count):
        """A count that docs/trust.md states: see tests/trust.py."""
        with self._lock:
            print(f"figure {name} {count}", flush=True)

    @contextmanager
    def group(self, name):
        start, passed, failed, skipped = time.monotonic(), self.passed, self.failed, len(self.skips)
        try:
            yield
        except Exception as error:  # a test that breaks is a test that fails, and the next group still runs
            import traceback

            self.fail(name, "".join(traceback.format_exception(error)))
        parts = [f"{self.passed - passed} passed"]
        if self.failed > failed:
            parts.append(f"{self.failed - failed} FAILED")
        if len(self.skips) > skipped:
            parts.append(f"{len(self.skips) - skipped} skipped")
        print(f"{name}: {', '.join(parts)} ({time.monotonic() - start:.1f} s)", flush=True)

    def run(self, groups, words, given):
        """Each group in whose name, `module function`, one of `words` stands (all of them, where there are none), in a folder
        of its own; given(folder) are its arguments."""
        for group in groups:
            name = f"{group.__module__} {group.__name__}"
            if words and not any(word in name for word in words):
                continue
            with temporary_folder() as folder, self.group(name.replace("_", " ")):
                group(*given(folder))

    def finish(self):
        line = f"{self.passed} passed, {self.failed} failed"
        if self.skips:
            line += f", {len(self.skips)} skipped"
        print(line, flush=True)
        return 1 if self.failed else 0


class Result:
    def __init__(self, args, code, out, err, timed_out=False):
        self.args, self.code, self.out, self.err_bytes, self.timed_out = args, code, out, err, timed_out

    @property
    def err(self):
        return self.err_bytes.decode("utf-8", "backslashreplace")

    @property
    def text(self):
        return self.out.decode("utf-8", "backslashreplace")

    @property
    def json(self):
        return json.loads(self.out)

    def __str__(self):
        how = "timed out" if self.timed_out else f"exit {self.code}"
        out = self.text if len(self.text) <= 1500 else self.text[:1500] + "\n[…]"
        return f"$ ckpt {' '.join(map(str, self.args))}\n{how}\n{out}{self.err}".rstrip("\n")


class Ckpt:
    """The program under test."""

    def __init__(self, path, memory=None):
        self.path = os.path.abspath(path)
        self.memory = memory

    def __call__(self, *args, stdin=b"", cwd=None, timeout=120, **variables):
        """`variables` are set in its environment."""
        args = [os.fspath(a) for a in args]
        settings = environment(**variables)
        server = None if variables or not forkserver.takes(args) else forkserver.of_thread(self.path, settings)
        try:
            if server:
                return Result(args, *forkserver.run(server, args, settings, stdin, cwd, self.memory, timeout))
            done = subprocess.run(
                limited([self.path, *args], self.memory),
                input=stdin,
                capture_output=True,
                cwd=cwd,
                timeout=timeout,
                env=settings,
            )
        except subprocess.TimeoutExpired as late:
            return Result(args, -1, late.stdout or b"", late.stderr or b"", timed_out=True)
        return Result(args, done.returncode, done.stdout, done.stderr)


def limited(command, memory):
    """The command, in `memory` bytes of address space where that is any. (A preexec_fn would have Python copy itself.)"""
    return ["prlimit", f"--as={memory}", *command] if memory else command


def environment(**extra):
    """The same for every run: no colour, a plain locale, nothing of the caller's that changes output."""
    keep = {
        k: v
        for k, v in os.environ.items()
        if k in ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH") or k == "LLVM_PROFILE_FILE" or k.endswith("SAN_OPTIONS")
    }
    return {**keep, "LC_ALL": "C.UTF-8", "NO_COLOR": "1", **extra}


@contextmanager
def temporary_folder():
    """On the RAM disk where there is room, so that the many small fsyncs cost nothing."""
    base = None
    shm = "/dev/shm"
    if "TMPDIR" not in os.environ and os.path.isdir(shm) and shutil.disk_usage(shm).free > GIB:
        base = shm
    folder = tempfile.mkdtemp(prefix="ckpt-test-", dir=base)
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def parser(description):
    p = argparse.ArgumentParser(description=description)
    p.add_argument("--ckpt", default=ROOT / "build/release/bin/ckpt", metavar="BIN", help="the program to test, if not that of build/release")
    return p


def parse(p):
    options = p.parse_args()
    if not os.access(options.ckpt, os.X_OK):
        p.error(f"{options.ckpt} is not a program")
    return options
