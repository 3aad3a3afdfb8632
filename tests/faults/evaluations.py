"""What `ckpt eval` writes beside its table: each call that writes it fails once, and the process is killed there; calls
that read model and data fail, threads that it starts, and allocations. Every file is then the old one or a whole new one."""

import csv
import errno
import json
import os
import signal
import zipfile
from pathlib import Path
from xml.etree import ElementTree

from driver import TEMPORARY, Program, Trouble, read_log
from sweeps import TOLERATED

OLD = b"what stood here before" * 20
WRITING = ("tmpfile", "open", "write", "sync", "truncate", "link", "rename", "unlink")
ALLOCATIONS = 6  # of all that are spread over a run, and of the last ones
WRITING_ALLOCATES = 480  # about so often
ERRORS = {"write": (errno.ENOSPC, errno.EIO), "sync": (errno.EIO,), "tmpfile": (errno.EOPNOTSUPP,)}


def is_json(path):
    return "accuracy" in json.loads(path.read_text())


def is_junit(path):
    return ElementTree.parse(path).getroot().tag.startswith("testsuite")


def is_page(path):
    return path.read_text().rstrip().endswith("</html>")


def is_summary(path):
    return path.read_text().startswith("### ") and path.read_text().endswith("\n")


def is_csv(path):
    return len({len(row) for row in csv.reader(path.read_text().splitlines())}) == 1


def is_npz(path):
    return zipfile.ZipFile(path).testzip() is None


OUTPUTS = {
    "--json=": ("report.json", is_json),
    "--junit=": ("junit.xml", is_junit),
    "--markdown=": ("summary.md", is_summary),
    "--report=": ("report.html", is_page),
    "--predictions=": ("predictions.csv", is_csv),
    "--outputs=": ("outputs.npz", is_npz),
}


class Evaluation:
    """One model of the samples', evaluated again and again in a folder of its own."""

    def __init__(self, program, samples, folder):
        self.program, self.folder, self.out = program, folder, folder / "out"
        self.out.mkdir(parents=True)
        (folder / "tmp").mkdir()
        self.samples = samples
        options = [f"{option}{self.out / name}" for option, (name, _) in OUTPUTS.items()]
        self.args = [samples / "fnn_digits_dp.pt.gz", "--data", samples / "digits_test.pt.gz", *options]

    def run(self, faults="", log=None, more=("--device", "cpu"), **variables):
        for path in self.out.iterdir():
            path.unlink()
        for name, _ in OUTPUTS.values():
            (self.out / name).write_bytes(OLD)
        run = self.program.run_alone if variables else self.program.run
        return run([*self.args, *more], self.folder, faults, log, **variables)

    def calls(self):
        """All that there are. Counts the allocations."""
        log = self.folder / "log"
        outcome = self.run(log=log)
        assert outcome.status == 0, outcome
        calls, self.allocations = read_log(log)
        return calls

    def is_about(self, call, folder):
        return call.subject.startswith(str(folder))

    def state(self):
        """{name: "old", "new" or "neither"}, and the names of everything else."""
        found = {}
        for name, is_whole in OUTPUTS.values():
            path = self.out / name
            try:
                found[name] = "old" if path.read_bytes() == OLD else "new" if is_whole(path) else "neither"
            except Exception as error:
                found[name] = f"neither: {error}"
        return found, [path.name for path in self.out.iterdir() if path.name not in found]


def judge(evaluation, outcome, statuses, may_leave, trouble, what):
    found, others = evaluation.state()
    left = [name for name in others if not (may_leave and TEMPORARY.fullmatch(name))]
    if outcome.status not in statuses:
        trouble.add(f"{what}: status {outcome.status}, expected {statuses}", outcome)
    elif left or set(found.values()) - {"old", "new"}:
        trouble.add(f"{what}: {found}, left {left}", outcome)
    elif outcome.status == 0 and "old" in found.values():
        trouble.add(f"{what}: {found}", outcome)
    elif outcome.status == 6 and f"ckpt: {evaluation.out}/" not in outcome.err:
        trouble.add(f"{what}: the message names no file", outcome)


def outputs(suite, program, samples, folders, part, parts):
    """`part` of `parts` shares the calls out."""
    evaluations = Program(Path(program.ckpt).with_name("ckpt-eval"), program.interposer)
    with folders.temporary() as folder:
        evaluation, trouble = Evaluation(evaluations, samples, folder / "case"), Trouble()
        calls = [call for call in evaluation.calls() if evaluation.is_about(call, evaluation.out)]
        found, others = evaluation.state()
        good = set(found.values()) == {"new"} and not others
        if not suite.check("eval writes every file whole", good and len(calls) >= 4 * len(OUTPUTS), (found, others, len(calls))):
            return
        targets = {str(evaluation.out), *(str(evaluation.out / name) for name, _ in OUTPUTS.values())}
        for call in calls[part::parts]:
            what = f"{call.kind} {call.number} ({call.function} {call.subject})"
            for number in ERRORS.get(call.kind, (errno.EIO,)):
                outcome = evaluation.run(f"{call.kind}:{call.number}:fail={number}")
                program.count("calls that failed")
                protected = call.kind == "access" and call.subject in targets  # as it says that the old file is, or its folder
                statuses = (0,) if call.kind in TOLERATED and not protected else (6,)
                if call.kind == "close":  # of what is written, or of what is read back
                    statuses = (0, 6)
                judge(evaluation, outcome, statuses, False, trouble, f"{what} fails: {os.strerror(number)}")
            if call.kind not in WRITING:
                continue
            outcome = evaluation.run(f"{call.kind}:{call.number}:kill")
            program.count("kills at a chosen call")
            judge(evaluation, outcome, (-signal.SIGKILL,), True, trouble, f"killed at {what}")
        suite.check(f"eval: every call that writes fails, or is the last ({part})", not trouble.found, trouble)


def inputs(suite, program, samples, folders):
    """What is read fails, and is said of the file; a thread that does not start; an allocation here and there."""
    evaluations = Program(Path(program.ckpt).with_name("ckpt-eval"), program.interposer)
    with folders.temporary() as folder:
        evaluation, trouble = Evaluation(evaluations, samples, folder / "case"), Trouble()
        calls = evaluation.calls()
        reads = [call for call in calls if evaluation.is_about(call, samples)]
        suite.check("eval reads model and data", len(reads) >= 4, reads)
        for call in reads:
            outcome = evaluation.run(f"{call.kind}:{call.number}:fail={errno.EIO}")
            program.count("calls that failed")
            # What is asked of a file by the way has an answer without it.
            statuses = (0,) if call.kind in TOLERATED else (0, 3) if call.kind == "stat" else (3,)
            judge(evaluation, outcome, statuses, False, trouble, f"{call.kind} {call.number} ({call.subject}) fails")
        for call in (call for call in calls if call.kind == "thread"):
            outcome = evaluation.run(f"thread:{call.number}:fail={errno.EAGAIN}")
            program.count("calls that failed")
            judge(evaluation, outcome, (0, 5), False, trouble, f"thread {call.number} does not start")
        rank = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
        for threads, status, more, variables in (
            ("1+", 5, ("--device", "cpu"), {}),
            ("1", 0, (), {}),  # that which looks for GPUs
            ("1+", 5, (), {}),
            ("1", 5, ("--device", "cpu"), rank),  # that which asks the store
        ):
            outcome = evaluation.run(f"thread:{threads}:fail={errno.EAGAIN}", None, more, **variables)
            program.count("calls that failed")
            what = f"thread {threads} does not start, {' '.join(more)} {variables}"
            judge(evaluation, outcome, (status,), False, trouble, what)
            if status == 5 and "no thread could be started" not in outcome.err:
                trouble.add(f"{what}: the message", outcome)
        last = evaluation.allocations
        for number in [*range(1, last, last // ALLOCATIONS), *range(last - WRITING_ALLOCATES, last, WRITING_ALLOCATES // ALLOCATIONS)]:
            outcome = evaluation.run(f"alloc:{number}:fail={errno.ENOMEM}")
            program.count("allocations that failed")
            # With no memory to load it, glibc ends the process where something walks the stack.
            statuses = (0, 5, *([-signal.SIGABRT] if "libgcc_s.so.1 must be installed" in outcome.err else []))
            judge(evaluation, outcome, statuses, False, trouble, f"allocation {number} of {last} fails")
        suite.check("eval: reads, threads and allocations that fail", not trouble.found, trouble)
