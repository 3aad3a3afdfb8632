"""A checkpoint that is written as a folder: every call fails once, and the process is ended at each that changes something."""

import errno
import os
import shutil
import signal

from driver import TEMPORARY, Trouble, read_log
from kills import worth_ending_at
from sweeps import ERRORS, INTERRUPTED, TOLERATED, first_closes


class FolderCase:
    """The conversion of `source` to the folder `out/made`, which is not there before."""

    def __init__(self, program, source, options, folder):
        self.program, self.source, self.folder, self.out = program, source, folder, folder / "out"
        self.args = ["convert", source, self.out / "made", *options]
        (folder / "tmp").mkdir(parents=True)
        self.new = None

    def run(self, faults="", log=None):
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        return self.program.run(self.args, self.folder, faults, log)

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


def failing_calls(suite, program, source, options, folders):
    """The folder is there whole, or not at all; nothing is left beside it."""
    with folders.temporary() as folder:
        case = FolderCase(program, source, options, folder)
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
        suite.check(f"{' '.join(options)}: every call fails", not trouble.found, trouble)


def ended_at_calls(suite, program, source, options, folders):
    """A signal that can be caught leaves nothing; SIGKILL may leave the temporary folder."""
    with folders.temporary() as folder:
        case = FolderCase(program, source, options, folder)
        trouble = Trouble()
        for call in worth_ending_at(case.calls()):
            for how, expected in (("kill", signal.SIGKILL), (f"signal={int(signal.SIGTERM)}", signal.SIGTERM)):
                what = f"{how} at {call.kind} {call.number} ({call.function} {call.subject})"
                outcome = case.run(f"{call.kind}:{call.number}:{how}")
                program.count("kills at a chosen call" if how == "kill" else "signals at a chosen call")
                state, others = case.state()
                left = [name for name in others if how != "kill" or not TEMPORARY.fullmatch(name)]
                if outcome.status != -expected:
                    trouble.add(f"{what}: status {outcome.status}", outcome)
                elif state == "neither" or left:
                    trouble.add(f"{what}: the folder is {state}, left behind {left}", outcome)
        suite.check(f"{' '.join(options)}: ended at each call that changes something", not trouble.found, trouble)


def no_clobber_where_renames_replace(suite, program, source, options, folders):
    """A file system that cannot be asked to replace nothing."""
    with folders.temporary() as folder:
        case = FolderCase(program, source, [*options, "--no-clobber"], folder)
        case.calls()
        without = f"rename:1:fail={errno.EINVAL}"
        outcome = case.run(without)
        suite.check("--no-clobber without RENAME_NOREPLACE", (outcome.status, *case.state()) == (0, "new", []), outcome)
        outcome = case.run(f"{without},rename:2:fail={errno.EIO}")
        suite.check("… and a rename that fails", (outcome.status, *case.state()) == (6, "none", []), outcome)
