"""Runs ckpt with faults (interpose.cpp) and says what became of the target.

A Case is a conversion in a folder of its own; `Case.run` puts everything back, runs it once, and `Case.state` names
what lies there afterwards. One Case belongs to one thread.
"""

import os
import re
import shutil
import subprocess
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import forkserver

SECONDS = 30  # a run takes some milliseconds: one that is not done by then hangs
NAMED = "tmpfile:1+:fail=95"  # EOPNOTSUPP: a file system without unnamed files
BASE = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
TEMPORARY = re.compile(r"\.ckpt-\d+-\d+\.tmp")


@dataclass
class Outcome:
    status: int  # of the process; negative: the signal that ended it
    out: bytes
    err: str

    def __str__(self):
        return f"status {self.status}\n{self.out[:300].decode('utf-8', 'backslashreplace')}{self.err}".rstrip()


@dataclass
class Call:
    """A line of the interposer's log."""

    kind: str
    number: int
    function: str
    subject: str


def read_log(log):
    """All calls that the interposer's log holds, and how many allocations there were. Removes it: the next run would add to it."""
    *lines, last = log.read_text().splitlines()
    log.unlink()
    words = [line.split(" ", 3) for line in lines]
    return [Call(kind, int(number), function, subject) for kind, number, function, subject in words], int(last.split()[1])


class Program:
    """ckpt with the interposer before it. Counts what it was made to suffer, by group."""

    def __init__(self, ckpt, interposer):
        self.ckpt, self.interposer = str(ckpt), str(interposer)
        self.counts = Counter()
        self._lock = threading.Lock()

    def count(self, what, number=1):
        with self._lock:
            self.counts[what] += number

    def environment(self, folder, faults="", log=None):
        return {
            **BASE,
            "TMPDIR": str(folder),
            "LD_PRELOAD": self.interposer,
            "CKPT_FAULT_ALARM": str(SECONDS),
            **({"CKPT_FAULTS": faults} if faults else {}),
            **({"CKPT_FAULT_LOG": str(log)} if log else {}),
        }

    def start(self, args, folder, faults="", log=None, stdin=None):
        """Starts it with both outputs in files of `folder`. Returns its process, for which this thread waits before the next."""
        opened = [os.open(os.devnull, os.O_RDONLY)]
        opened += [os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600) for name in ("stdout", "stderr")]
        descriptors = opened if stdin is None else [stdin, *opened[1:]]
        try:
            return self._server().start([str(word) for word in args], self.environment(folder / "tmp", faults, log), descriptors)
        finally:
            for descriptor in opened:
                os.close(descriptor)

    def wait(self, folder):
        status = self._server().wait()
        return Outcome(
            status, (folder / "stdout").read_bytes(), (folder / "stderr").read_text(errors="backslashreplace")
        )

    def run(self, args, folder, faults="", log=None):
        self.start(args, folder, faults, log)
        return self.wait(folder)

    def run_alone(self, args, folder, faults="", log=None, **variables):
        """The same, started anew."""
        environment = {**self.environment(folder / "tmp", faults, log), **variables}
        done = subprocess.run([self.ckpt, *args], env=environment, capture_output=True)
        return Outcome(done.returncode, done.stdout, done.stderr.decode(errors="backslashreplace"))

    def _server(self):
        """There are tens of thousands of runs, of which loading and linking would take the most."""
        return forkserver.of_thread(self.ckpt, BASE, [self.interposer])


@dataclass
class Scenario:
    """What to convert, and whether a target is there before."""

    name: str
    command: list  # with IN and OUT where the files stand
    source: Path
    old: bytes | None = None
    in_place: bool = False
    named: bool = False
    pipe: bool = False  # the input comes through a pipe
    target: str = "target.pt"

    @property
    def base_faults(self):
        return NAMED if self.named else ""


MODE = 0o640  # of a target that is there already


def content(path):
    """Its bytes; of a folder, those of its files by name."""
    return {file.name: file.read_bytes() for file in path.iterdir()} if path.is_dir() else path.read_bytes()


class Case:
    def __init__(self, program, scenario, folder):
        self.program, self.scenario, self.folder = program, scenario, folder
        self.out_folder = folder / "out"
        self.out_folder.mkdir(parents=True)
        (folder / "tmp").mkdir()
        self.data = content(scenario.source)
        self.old = self.data if scenario.in_place else scenario.old
        self.target = self.out_folder / scenario.target
        if "gz" in scenario.name.split(">")[-1]:
            self.target = self.out_folder / "target.pt.gz"
        self.source = self.target if scenario.in_place else folder / scenario.source.name
        if scenario.source.is_dir():
            shutil.copytree(scenario.source, self.source)
        words = {"IN": self.source, "OUT": self.target}
        self.args = [words.get(word, word) for word in scenario.command]
        self.new = None
        self._dirty = not scenario.source.is_dir()

    def reset(self):
        """Everything as it was. Writes only what a run may have changed."""
        for path in self.out_folder.iterdir():
            path.unlink()
        if not self.scenario.in_place and self._dirty:
            self.source.write_bytes(self.data)
            os.utime(self.source, (1, 1))
        if self.old is not None:
            self.target.write_bytes(self.old)
            self.target.chmod(MODE)
        self._dirty = False

    def start(self, faults="", log=None):
        self.reset()
        both = ",".join(filter(None, [self.scenario.base_faults, faults]))
        self._dirty = any(word in faults for word in ("shrink", "grow", "overwrite"))
        if not self.scenario.pipe:
            return self.program.start(self.args, self.folder, both, log)
        read_end, write_end = os.pipe()
        threading.Thread(target=feed, args=(write_end, self.data), daemon=True).start()
        pid = self.program.start(self.args, self.folder, both, log, stdin=read_end)
        os.close(read_end)
        return pid

    def run(self, faults="", log=None):
        self.start(faults, log)
        return self.program.wait(self.folder)

    def dry_run(self):
        """A run without faults: what it calls. Remembers the new target."""
        log = self.folder / "log"
        outcome = self.run(log=log)
        assert outcome.status == 0, outcome
        self.new = self.target.read_bytes()
        self.new_out = outcome.out
        calls, self.allocations = read_log(log)
        return [call for call in calls if not (self.scenario.named and call.kind == "tmpfile")]  # these fail already

    def remove_spooled(self):
        for path in (self.folder / "tmp").iterdir():
            path.unlink()

    def state(self):
        """What lies there: `old`, `new`, `none` or `neither`, and the names of everything else."""
        others = [path.name for path in self.out_folder.iterdir() if path != self.target]
        others += [f"tmp/{path.name}" for path in (self.folder / "tmp").iterdir()]
        if not self.target.exists():
            return "none" if self.old is None else "gone", others
        content, mode = self.target.read_bytes(), self.target.stat().st_mode & 0o7777
        state = "new" if content == self.new else "old" if content == self.old else "neither"
        return (state if self.old is None or mode == MODE else f"{state}, mode {mode:o}"), others

    def source_is_whole(self):
        return self.scenario.in_place or content(self.source) == self.data


def feed(pipe, data):
    try:
        with open(pipe, "wb") as file:
            file.write(data)
    except BrokenPipeError:
        pass


@dataclass
class Trouble:
    """What went wrong in a sweep: a few shown, all counted."""

    found: list = field(default_factory=list)

    def add(self, what, outcome=None):
        self.found.append(f"{what}\n{outcome}" if outcome else what)

    def __str__(self):
        shown = "\n".join(self.found[:4])
        return shown + (f"\n… and {len(self.found) - 4} more" if len(self.found) > 4 else "")


class Folders:
    """Fresh folders under one that goes away."""

    def __init__(self, top):
        self.top, self.next = Path(top), 0
        self._lock = threading.Lock()

    def new(self):
        with self._lock:
            self.next += 1
            folder = self.top / str(self.next)
        folder.mkdir()
        return folder

    @contextmanager
    def temporary(self):
        folder = self.new()
        try:
            yield folder
        finally:
            subprocess.run(["chmod", "-R", "u+rwx", str(folder)], check=False)
            shutil.rmtree(folder, ignore_errors=True)
