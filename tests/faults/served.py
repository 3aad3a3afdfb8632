"""A run from the fork server is what a program that was started is: it says the same, and makes the same calls."""

import subprocess

import forkserver
import harness
from driver import read_log

COMMANDS = (
    ["--version"],
    ["nonsense"],
    ["inspect", "small.pt", "absent.pt"],
    ["verify", "large.pt.gz", "small_legacy.pt"],
    ["inspect", "-"],
    ["convert", "large.pt", "-", "--gzip"],
    ["strip-prefix", "large.pt.gz", "out.pt"],
)
TOO_LITTLE = 1 << 20  # bytes of address space: less than there is already, so that nothing is to be had


def says_the_same(suite, program, files):
    served = harness.Ckpt(program.ckpt)
    given = (files / "large.pt").read_bytes()
    for command in COMMANDS:
        done = served(*command, stdin=given, cwd=files)
        plain = subprocess.run([program.ckpt, *command], input=given, cwd=files, capture_output=True, env=harness.environment())
        expected = (plain.returncode, plain.stdout, plain.stderr)
        suite.check(f"{' '.join(command)}: served as started", (done.code, done.out, done.err_bytes) == expected, lambda: f"{done}\n{plain}")
    limited = harness.Ckpt(program.ckpt, memory=TOO_LITTLE)("verify", "large.pt.gz", cwd=files)
    suite.check("a limit of memory holds", limited.code == 5 and "memory" in limited.err, limited)
    server = forkserver.of_thread(program.ckpt, harness.environment())
    try:
        late = forkserver.run(server, ["inspect", "/dev/zero"], harness.environment(), timeout=0.3)
    except subprocess.TimeoutExpired:
        late = None
    suite.check("what takes too long is ended", late is None and served("--version").code == 0, late)


def makes_the_same_calls(suite, program, files, folders):
    with folders.temporary() as folder:
        (folder / "tmp").mkdir()
        made = []
        for run in (program.run, program.run_alone):
            run(["convert", files / "large.pt.gz", folder / "out.pt", "--to", "cpu"], folder, log=folder / "log")
            calls, allocations = read_log(folder / "log")
            made.append(([(call.kind, call.number, call.function) for call in calls], allocations))
            (folder / "out.pt").unlink()
        suite.equal("the same calls, and as many allocations", *made)
