"""A checkpoint that is written as a folder: every call fails once, and the process is ended at each that changes something."""

import errno
import os
import shutil
import signal
import subprocess

from driver import TEMPORARY, Trouble, read_log
from kills import count_outcome, ended_at_random, signals_for, worth_ending_at
from streams import environment
from sweeps import ERRORS, INTERRUPTED, TOLERATED, first_closes


class FolderCase:
    """A command that makes the folder `out/made`, its OUT, which is not there before; IN is `source`."""

    def __init__(self, program, source, command, folder):
        self.program, self.source, self.folder, self.out = program, source, folder, folder / "out"
        words = {"IN": source, "OUT": self.out / "made"}
        self.args = [words.get(word, word) for word in command.split()]
        (folder / "tmp").mkdir(parents=True)
        self.new = None

    def start(self, faults="", log=None):
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        return self.program.start(self.args, self.folder, faults, log)

    def run(self, faults="", log=None):
        self.start(faults, log)
        return self.program.wait(self.folder)

    def calls(self):
        log = self.folder / "log"
        outcome = self.run(log=log)
        assert outcome.status == 0, outcome
        self.new = self.made()
        calls, _ = read_log(log)
        return calls

    def made(self):
        """The files in it by name; None where it is not there."""
        made = self.out / "made"
        return {path.name: path.read_bytes() for path in made.iterdir()} if made.exists() else None

    def state(self):
        """`none`, `new` or `neither`, and what else lies there."""
        made = self.made()
        return (
            "none" if made is None else "new" if made == self.new else "neither",
            [path.name for path in self.out.iterdir() if path.name != "made"],
        )


def failing_calls(suite, program, source, command, folders):
    """The folder is there whole, or not at all; nothing is left beside it."""
    with folders.temporary() as folder:
        case = FolderCase(program, source, command, folder)
        trouble = Trouble()
        calls = case.calls()
        closes = first_closes(calls)
        for call in calls:
            for number in ERRORS[call.kind] + ([errno.EINTR] if call.kind in INTERRUPTED else []):
                what = f"{call.kind} {call.number} ({call.function} {call.subject}) fails: {os.strerror(number)}"
                outcome = case.run(f"{call.kind}:{call.number}:fail={number}")
                program.count("calls that failed")
                state, others = case.state()
                fine = (call.kind in TOLERATED and call not in closes) or number == errno.EINTR
                if outcome.status not in ((0,) if fine else (6,) if call in closes else (0, 3, 6)):
                    trouble.add(f"{what}: status {outcome.status}", outcome)
                elif state == "neither" or (state == "new") < (outcome.status == 0):
                    trouble.add(f"{what}: the folder is {state}", outcome)
                elif others:
                    trouble.add(f"{what}: left behind {others}", outcome)
                elif outcome.status and not outcome.err.startswith("ckpt: "):
                    trouble.add(f"{what}: no message", outcome)
        suite.check(f"{command}: every call fails", not trouble.found, trouble)


def judge_end(case, outcome, number, trouble, what):
    """A signal that can be caught leaves nothing; SIGKILL may leave the temporary folder."""
    state, others = case.state()
    count_outcome(case, state)
    left = [name for name in others if number != signal.SIGKILL or not TEMPORARY.fullmatch(name)]
    if outcome.status != -number:
        trouble.add(f"{what}: status {outcome.status}", outcome)
    elif state == "neither" or left:
        trouble.add(f"{what}: the folder is {state}, left behind {left}", outcome)


def ended(suite, program, source, command, folders, kills):
    """At each call that changes something, and at random moments."""
    with folders.temporary() as folder:
        case = FolderCase(program, source, command, folder)
        trouble = Trouble()
        for at, call in enumerate(worth_ending_at(case.calls())):
            for number in (signal.SIGKILL, *signals_for(call.kind, at)):
                outcome = case.run(f"{call.kind}:{call.number}:signal={int(number)}")
                program.count("kills at a chosen call" if number == signal.SIGKILL else "signals at a chosen call")
                judge_end(case, outcome, number, trouble, f"{number.name} at {call.kind} {call.number} ({call.function} {call.subject})")
        suite.check(f"{command}: ended at each call that changes something", not trouble.found, trouble)
        for number, what, outcome in ended_at_random(case, command, kills):
            if outcome.status:
                judge_end(case, outcome, number, trouble, what)
            elif case.state() != ("new", []):
                trouble.add(f"{what}, done before: {case.state()}")
        suite.check(f"{command}: ended at random", not trouble.found, trouble)


def no_clobber_where_renames_replace(suite, program, source, command, folders):
    """A file system that cannot be asked to replace nothing."""
    with folders.temporary() as folder:
        case = FolderCase(program, source, f"{command} --no-clobber", folder)
        case.calls()
        without = f"rename:1:fail={errno.EINVAL}"
        outcome = case.run(without)
        suite.check("--no-clobber without RENAME_NOREPLACE", (outcome.status, *case.state()) == (0, "new", []), outcome)
        outcome = case.run(f"{without},rename:2:fail={errno.EIO}")
        suite.check("… and a rename that fails", (outcome.status, *case.state()) == (6, "none", []), outcome)


def without_births(suite, program, source, command, folders):
    """A system that does not tell when a file was made."""
    with folders.temporary() as folder:
        case = FolderCase(program, source, command, folder)
        births = sum(call.kind == "birth" for call in case.calls())
        outcome = case.run(f"birth:1+:fail={errno.ENOSYS}")
        good = births > 0 and (outcome.status, *case.state()) == (0, "new", [])
        suite.check(f"{command}: no file says when it was made", good, f"{births} times asked; {outcome}")


def mounted(suite, program, source, folders):
    """An empty folder on which a file system is mounted: nothing is written beside it that could not be put in its place."""
    name = "a folder that is mounted"
    script = 'mount -t tmpfs none "$1/made" || exit 77; shift; exec "$@"'
    with folders.temporary() as folder:
        made = folder / "made"
        made.mkdir()
        words = ["unshare", "-rm", "sh", "-c", script, "sh", folder, program.ckpt, "convert", source]
        for out, status in ((made, 6), (made / "inner", 0)):
            done = subprocess.run([str(word) for word in (*words, out, "--format", "dcp")],
                                  capture_output=True, text=True, timeout=60, check=False, env=environment())
            if done.returncode == 77 or "unshare" in done.stderr:
                return suite.skip(name, f"nothing can be mounted: {done.stderr.strip()}")
            said = status == 0 or f"name one in it, as {made}/NAME" in done.stderr
            suite.check(f"{name}: {out.name}", done.returncode == status and said and os.listdir(folder) == ["made"], str(done))
    return None
