#!/usr/bin/env python3
"""Runs the pages of this folder: each holds commands beside the output they must give.

    # What the case tests, in a line.
    $ ckpt inspect foonet_cuda0.pt
    has: cuda:0
    lacks: cpu
    the expected standard output, line for line
    stderr: an expected line of standard error
    exit: 3

A page is a file `COMMAND.txt`; a case begins at a line `# …` and may run several commands, which share a folder that
holds a copy of the fixtures (tests/data) and goes away. Commands are given to `sh`, so pipes and redirections work.
`has:` and `lacks:` are phrases looked for in both outputs. `output: any` leaves standard output unchecked but for
them. No `exit:` means 0. A line of output that looks like one of these marks, or as a command, begins with `\\`.
Bytes that are not UTF-8 print as `\\xNN`, escape characters as `\\x1b`; times and the folder's own path are replaced.
`$SAMPLES` is the folder of what ships. A page that begins with `needs: PROGRAM` is skipped, visibly, where that program
was not built beside ckpt.

`--rebase` writes what the program prints into the pages; it never changes `has:`, `lacks:` or `exit:`, and leaves
the output of a command that fails one of them as it is. `--valgrind` runs each ckpt under Valgrind, whose findings fail the case (half an hour).
"""

import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent.parent / "data")]
import harness  # noqa: E402
import make  # noqa: E402

MARKS = ("# ", "$ ", "has: ", "lacks: ", "output: any", "stderr: ", "exit: ", "\\")
HERE = Path(__file__).resolve().parent
TIMEOUT = 180  # seconds: a sanitizer takes ten times as long as ckpt
# Valgrind says so on standard error otherwise, which the pages compare; its log would take the number of a standard
# stream that is closed. It knows no Landlock.
VALGRIND = """#!/bin/sh
[ -e /proc/$$/fd/1 ] || exec {binary} "$@"
exec valgrind -q --suppressions={suppressions} --log-file={folder}/valgrind.%p --error-exitcode=99 {binary} "$@"
"""


class Step:
    def __init__(self, command):
        self.command = command
        self.has, self.lacks = [], []
        self.any_output = False
        self.out, self.err = [], []
        self.exit = 0

    def lines(self):
        yield f"$ {self.command}"
        yield from (f"has: {p}" for p in self.has)
        yield from (f"lacks: {p}" for p in self.lacks)
        if self.any_output:
            yield "output: any"
        yield from ("\\" + line if line.startswith(MARKS) else line for line in self.out)
        yield from (f"stderr: {line}" for line in self.err)
        if self.exit:
            yield f"exit: {self.exit}"


class Case:
    def __init__(self, title, line):
        self.title, self.line = [title], line
        self.steps = []

    def lines(self):
        yield from (f"# {line}" for line in self.title)
        for step in self.steps:
            yield from step.lines()


def read_page(path):
    """The cases of a page, and the lines before the first."""
    head, cases, step = [], [], None
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if line.startswith("# "):
            if cases and not cases[-1].steps:
                cases[-1].title.append(line[2:])
            else:
                cases.append(Case(line[2:], number))
            step = None
        elif line.startswith("$ ") and cases:
            step = Step(line[2:])
            cases[-1].steps.append(step)
        elif step is None:
            if line and cases:
                raise SystemExit(f"{path}:{number}: output before any command")
            if not cases:
                head.append(line)
        elif line.startswith("has: "):
            step.has.append(line[5:])
        elif line.startswith("lacks: "):
            step.lacks.append(line[7:])
        elif line == "output: any":
            step.any_output = True
        elif line.startswith("stderr: ") or line == "stderr:":
            step.err.append(line[8:])
        elif line.startswith("exit: "):
            step.exit = int(line[6:])
        else:
            step.out.append(line[1:] if line.startswith("\\") else line)
    for case in cases:
        for step in case.steps:
            trim(step.out)
            trim(step.err)
    return head, cases


def trim(lines):
    while lines and not lines[-1]:
        lines.pop()
    return lines


def write_page(path, head, cases):
    blocks = ["\n".join(case.lines()) for case in cases]
    start = "\n".join(trim(head))
    path.write_text((start + "\n\n" if start else "") + "\n\n".join(blocks) + "\n")


def readable(data, folder):
    """Output as a page holds it: one spelling for what differs from run to run, no control characters."""
    text = data.decode("utf-8", "backslashreplace").replace(str(folder), "/FOLDER")
    text = re.sub(r"\b\d+(\.\d+)? ?(ms|s)\b(?! of)", "TIME", text)
    text = re.sub(r"\b\d+(\.\d+)? ?([KMG]i?B|bytes?)/s", "SPEED", text)
    text = "".join(c if c == "\n" or " " <= c <= "~" or c > "\x9f" else f"\\x{ord(c):02x}" for c in text)
    return trim([line.rstrip() for line in text.split("\n")])


def run_case(case, binary, fixtures, folder, valgrind):
    """What each step printed and returned, and what Valgrind found."""
    shutil.copytree(fixtures, folder)
    bin_folder = folder.parent / f"{folder.name}.bin"
    bin_folder.mkdir()
    program = bin_folder / "ckpt"
    if valgrind:
        program.write_text(VALGRIND.format(folder=bin_folder, binary=binary, suppressions=HERE / "valgrind.supp"))
        program.chmod(0o755)
    else:
        program.symlink_to(binary)
    environment = harness.environment(TMPDIR=str(bin_folder), COLUMNS="120")
    environment["PATH"] = f"{bin_folder}:{environment['PATH']}"
    environment["SAMPLES"] = str(harness.ROOT / "samples")
    environment["FAKE_DRIVER"] = str(binary.parent.parent / "lib/fake_driver")  # for LD_LIBRARY_PATH
    environment.pop("CUDA_VISIBLE_DEVICES", None)
    results = []
    for step in case.steps:
        try:
            done = subprocess.run(
                ["sh", "-c", step.command],
                capture_output=True,
                cwd=folder,
                timeout=TIMEOUT * (20 if valgrind else 1),
                env=environment,
                stdin=subprocess.DEVNULL,
            )
            results.append((done.returncode, readable(done.stdout, folder), readable(done.stderr, folder)))
        except subprocess.TimeoutExpired:
            results.append((None, [], ["did not end in time"]))
    said = [log.read_text(errors="replace") for log in sorted(bin_folder.glob("valgrind.*"))]
    shutil.rmtree(folder)
    shutil.rmtree(bin_folder)
    return results, [text for text in said if re.search(r"^==\d+== ", text, re.M)]


def faults(step, result):
    """What of a step's fixed expectations (not its golden output) does not hold."""
    code, out, err = result
    text = "\n".join(out + err)
    if code != step.exit:
        yield f"exit {code}, expected {step.exit}"
    yield from (f"nowhere: {phrase}" for phrase in step.has if phrase not in text)
    yield from (f"should not be there: {phrase}" for phrase in step.lacks if phrase in text)


def differences(name, expected, got):
    if expected != got:
        import difflib

        yield f"{name} differs (- expected, + got):"
        yield from list(difflib.unified_diff(expected, got, lineterm="", n=1))[2:]


def judge(suite, page, case, results, said, rebase):
    found, changed = list(said), False
    for step, result in zip(case.steps, results):
        wrong = list(faults(step, result))
        if rebase and not wrong:
            new = ([] if step.any_output else result[1], result[2])
            changed |= new != (step.out, step.err)
            step.out, step.err = new
        elif not rebase:
            if not step.any_output:
                wrong += differences("standard output", step.out, result[1])
            wrong += differences("standard error", step.err, result[2])
        if wrong:
            code, out, err = result
            shown = [] if any("differs" in w for w in wrong) else out[:20] + [f"stderr: {line}" for line in err[:20]]
            found += [f"$ {step.command}", *wrong, *shown]
    suite.check(f"{page.name}:{case.line}: {case.title[0]}", not found, lambda: "\n".join(found))
    return changed


def main():
    p = harness.parser(__doc__.split("\n")[0])
    p.add_argument("--rebase", action="store_true", help="write what the program prints into the pages")
    p.add_argument("--valgrind", action="store_true", help="run ckpt under Valgrind (build without sanitizers)")
    p.add_argument("pages", nargs="*", help="pages to run (all): inspect, convert …")
    options = harness.parse(p)
    binary = Path(options.ckpt).resolve()
    suite = harness.Suite()
    with harness.temporary_folder() as top, ThreadPoolExecutor(2) as pool:
        fixtures = top / "fixtures"
        make.make_all(fixtures)
        for page in sorted(HERE.glob("*.txt")):
            if options.pages and page.stem not in options.pages:
                continue
            with suite.group(page.stem):
                head, cases = read_page(page)
                needs = [line[7:] for line in head if line.startswith("needs: ")]
                lacking = [name for name in needs if not binary.with_name(name).exists()]
                if lacking:
                    suite.skip(page.name, f"{lacking[0]} was not built beside ckpt (CKPT_LIBTORCH)")
                    continue
                jobs = [
                    pool.submit(run_case, case, binary, fixtures, top / f"{page.stem}{case.line}", options.valgrind)
                    for case in cases
                ]
                changed = [judge(suite, page, case, *job.result(), options.rebase) for case, job in zip(cases, jobs)]
                if any(changed):
                    write_page(page, head, cases)
                    print(f"rebased {page.relative_to(harness.ROOT)}")
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
