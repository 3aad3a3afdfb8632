#!/usr/bin/env python3
"""What the program gives up before it opens a file, tried from within it (tries.cpp): each command does its work, and
nothing can be written elsewhere, started, or reached; with --no-sandbox all of it can, so that a refusal means something.

    tests/sandbox/run.py --ckpt build/release/bin/ckpt --tries build/release/lib/libckpt_tries.so
"""

import array
import ctypes
import errno
import gzip
import os
import random
import re
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent.parent / "data")]
import harness  # noqa: E402
from torchfile import Storage, Tensor, save_zip, state_dict  # noqa: E402

# What follows the command; `out/` is where outputs go. A command that is not here fails the suite.
COMMANDS = {
    "inspect": ["in/model.pt"],
    "convert": ["in/model.pt", "out/x.pt", "--to", "cpu"],
    "strip-prefix": ["in/model.pt.gz", "out/x.pt.gz"],
    "add-prefix": ["--in-place", "out/own.pt", "--prefix=x."],
    "verify": ["in/model.pt", "--finite"],
    "digest": ["in/model.pt"],
    "diff": ["in/model.pt", "in/model.pt.gz"],
    "check": ["in/model.pt", "--like", "in/model.pt"],
    "stats": ["in/model.pt", "--plot", "out/x.svg"],
    "average": ["in/model.pt", "in/model.pt.gz", "out/x.pt"],
    "extract": ["in/model.pt", "module.fc.weight", "-o", "out/x.npy"],
    "shard": ["in/model.pt", "out/link/"],
    "merge": ["in/model.pt", "in/other.pt", "out/link.pt"],
    "scan": ["in/model.pt"],
    "recover": ["in/model.pt", "out/x.pt"],
    "formats": [],
}
IN_THREADS = ("verify", "diff", "stats")  # read on several, where there are two cores; others may
APART = {"devices", "eval", "eval-merge"}  # they ask drivers, which may need anything
FILES = ("create", "mkdir", "write", "append", "rename", "link", "symlink", "fifo", "unlink")
EMPTYING = ("truncate", "empty", "empty-unread")  # without a right to write, which Landlock knows from version 3 on
MADE_BY_NONE = {"symlink", "fifo"}  # of what may be done in an output's folder
PROCESSES = ("socket", "unix-socket", "socketpair", "look-into", "unshare", "type", "fork", "execute", "spawn", "signal",
             "signal-thread", "limit-other", "slow-other", "pin-other", "shared-memory", "ask-driver", "signal-by-file",
             "signal-by-file-ex", "choose-signal")
SAID = ("chmod", "fchmodat", "chown", "lchown", "fchownat", "times", "utime", "label", "unlabel", "ftimes", "flabel",
        "funlabel", "fchmod", "fchown")
ATTRIBUTES = ("said-elsewhere.attributes", "said-beside.attributes")
SAID_OF_OUTPUTS = {"fchmod", "fchown", "flabel", "funlabel"}  # what a file that is replaced was given, the new one is given too
LANDLOCK_CREATE_RULESET, TRUNCATE_SINCE = 444, 3


def landlock_version():
    version = ctypes.CDLL(None, use_errno=True).syscall(LANDLOCK_CREATE_RULESET, None, 0, 1)
    return version if version > 0 else 0


def has_seccomp():
    return "Seccomp:" in Path("/proc/self/status").read_text()


def prepare(folder):
    numbers = random.Random(7)
    elements = 600_000  # several threads read it
    weight = Storage(elements, device="cuda:0", record=array.array("f", (numbers.random() for _ in range(elements))).tobytes())
    for name in ("in", "out", "elsewhere", "linked", "temporary"):
        (folder / name).mkdir()
    save_zip(folder / "in/model.pt", state_dict({"module.fc.weight": Tensor([elements], storage=weight)}))
    save_zip(folder / "in/other.pt", state_dict({"bias": Tensor([10])}))
    (folder / "in/model.pt.gz").write_bytes(gzip.compress((folder / "in/model.pt").read_bytes(), 1, mtime=0))
    (folder / "out/own.pt").write_bytes((folder / "in/model.pt").read_bytes())
    (folder / "out/link.pt").symlink_to(folder / "linked/x.pt")
    (folder / "out/link").symlink_to(folder / "linked/shards")


def prepare_tries(folder):
    for file in folder.iterdir():
        if file.name.startswith(("thread-", "end-")):
            file.rmdir() if file.is_dir() and not file.is_symlink() else file.unlink()
    for name in ("old", "thread-victim", "end-victim"):
        (folder / name).write_bytes(b"what stands here")


def run(options, folder, words, beside, **more):
    for place in (folder / "elsewhere", beside):
        prepare_tries(place)
    done = options.program(*words, cwd=folder, LD_PRELOAD=os.path.abspath(options.tries), OMP_NUM_THREADS="4",
                           CKPT_TRY_ELSEWHERE=str(folder / "elsewhere"), CKPT_TRY_BESIDE=str(beside), **more)
    found = {}
    for place, what, result in re.findall(r"^tried (\S+) (\S+) (\d+)$", done.err, re.M):
        found.setdefault(place, {})[what] = int(result)
    return done, found


def expected(writes, landlock, seccomp):
    """By what is tried: the result that it must have."""
    wanted = {}
    for what in FILES:
        refused = errno.EACCES if landlock >= 1 else 0
        wanted[f"elsewhere.{what}"] = refused
        wanted[f"beside.{what}"] = refused if not writes or what in MADE_BY_NONE else 0
    for what in EMPTYING:
        refused = errno.EPERM if seccomp else errno.EACCES if landlock >= TRUNCATE_SINCE else 0
        wanted[f"elsewhere.{what}"] = refused
        wanted[f"beside.{what}"] = refused if seccomp or not writes else 0
    wanted |= {"elsewhere.read": 0, "beside.read": 0, "limit-own": 0}
    wanted |= {what: errno.EPERM if seccomp else 0 for what in PROCESSES}
    for what in SAID:
        result = errno.EPERM if seccomp and not (writes and what in SAID_OF_OUTPUTS) else 0
        wanted |= {f"said-elsewhere.{what}": result, f"said-beside.{what}": result}
    return wanted


def check_command(suite, options, command, rest, folder):
    outputs = [word for word in rest if word.startswith("out/")]
    beside = folder / ("linked" if any(name.startswith("out/link") for name in outputs) else "out")
    done, found = run(options, folder, [command, *rest], beside)
    suite.equal(f"{command}: exit status", done.code, 0, done)
    for name in outputs:
        suite.check(f"{command}: {name} is there", (folder / name).exists())
    suite.check(f"{command}: tried at the end", "end" in found, done)
    for place, results in found.items():
        for what, result in expected(bool(outputs), options.landlock, options.seccomp).items():
            suite.equal(f"{command}: {what} ({place})", results.get(what), result)
        for what in ATTRIBUTES:  # where the file system has any
            wanted = errno.EPERM if options.seccomp else 0
            suite.equal(f"{command}: {what} ({place})", results.get(what, wanted), wanted)
    return "thread" in found, {what for results in found.values() for what, result in results.items() if result != 0}


def check_pipe(suite, options, folder):
    """What comes through a pipe is kept in the folder for temporary files, where other files may be written, too."""
    model, temporary = (folder / "in/model.pt").read_bytes(), folder / "temporary"
    done, found = run(options, folder, ["inspect", "-"], temporary, stdin=model, TMPDIR=str(temporary))
    suite.equal("a pipe: exit status", done.code, 0, done)
    wanted = expected(True, options.landlock, options.seccomp)
    for what in FILES:
        for place in ("elsewhere", "beside"):
            suite.equal(f"a pipe: {place}.{what}", found.get("end", {}).get(f"{place}.{what}"), wanted[f"{place}.{what}"], done)


def check_control(suite, options, folder):
    """What is refused is possible without the sandbox."""
    done, found = run(options, folder, ["inspect", "in/model.pt", "--no-sandbox"], folder / "out")
    suite.equal("--no-sandbox: exit status", done.code, 0, done)
    for what, result in expected(True, 0, False).items():
        got = found.get("end", {}).get(what)
        # Standard input is no terminal, or none may be typed into; not every file system has labels.
        excused = (what == "type" and got in (errno.ENOTTY, errno.EIO)) or (what.endswith("label") and got == errno.EOPNOTSUPP)
        suite.check(f"--no-sandbox: {what}", got == result or excused, got)


def main():
    parser = harness.parser(__doc__.split("\n")[0])
    parser.add_argument("--tries", required=True, metavar="LIBRARY", help="libckpt_tries.so")
    options = harness.parse(parser)
    options.program = harness.Ckpt(options.ckpt)
    suite = harness.Suite()
    options.landlock, options.seccomp = landlock_version(), has_seccomp()
    listed = re.findall(r"^  ([a-z][a-z-]*)  ", options.program("--help").text, re.M)
    suite.equal("every command is tried", sorted(COMMANDS), sorted(set(listed) - APART))
    refused = set()
    with suite.group("confined"):
        if not options.landlock:
            suite.skip("writing elsewhere", "this kernel has no Landlock")
        if not options.seccomp:
            suite.skip("programs and sockets", "this kernel has no seccomp")
        for command, rest in COMMANDS.items():
            with harness.temporary_folder() as folder:
                prepare(folder)
                on_thread, ways = check_command(suite, options, command, rest, folder)
                refused |= ways
            if command in IN_THREADS and len(os.sched_getaffinity(0)) > 1:
                suite.check(f"{command}: tried on a thread that reads", on_thread)
    with suite.group("a pipe"), harness.temporary_folder() as folder:
        prepare(folder)
        check_pipe(suite, options, folder)
    with suite.group("without"), harness.temporary_folder() as folder:
        prepare(folder)
        check_control(suite, options, folder)
    if options.landlock and options.seccomp:  # else less is refused
        suite.figure("sandbox.commands", len(COMMANDS))
        suite.figure("sandbox.ways", len(refused & expected(False, TRUNCATE_SINCE, True).keys()))
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
