#!/usr/bin/env python3
"""Runs every suite, shows what each says, and ends with one line for all: `N passed, N failed[, N skipped]`.

    tests/run_all.py --build build/release [--only unit,cli] [--torch-python PYTHON]

A suite is a program that ends with such a line itself. One that dies, hangs or does not print it has failed. Two run at
once; what each says is shown when it has ended.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIGURE = re.compile(r"^figure (\S+) (\d+)$")
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")
GRACE = 10  # seconds in which a suite whose time is up may end by itself
# A sanitizer's finding must not look like one of the program's own exit statuses; and each exception looks through all of the
# stack that is kept for what is used after its function has returned. What Python's libraries say of their own future is theirs.
ENVIRONMENT = {
    "ASAN_OPTIONS": "exitcode=99:detect_stack_use_after_return=1:max_uar_stack_size_log=16",
    "UBSAN_OPTIONS": "exitcode=99:print_stacktrace=1",
    "TSAN_OPTIONS": "exitcode=99",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONWARNINGS": "ignore::FutureWarning,ignore::DeprecationWarning,ignore::PendingDeprecationWarning,ignore::UserWarning",
}


@dataclass
class Result:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    remark: str = ""
    seconds: float = 0
    cpu: float = 0  # seconds of processors, with all that it started


figures = {}  # what suites count beside results, for docs/trust.md: "figure SUITE.NAME N" on a line of its own
whole = set()  # suites of which nothing failed and nothing was skipped
running = set()  # process groups, one a suite, with all that it started
# Of the suite that a thread runs: .cpu; .lines, what it has said, where several run at once; .profiles, where a build that
# counts puts it. Each suite has files of its own there: two programs of equal size may have one name for theirs.
held = threading.local()


def show(text):
    if hasattr(held, "lines"):
        held.lines.append(text)
    else:
        print(text, flush=True)


def end(group, number):
    with suppress(ProcessLookupError):
        os.killpg(group, number)


def end_all(number, _):
    """Passes on what a terminal, or the run_all.py that runs this one, sends to this group alone."""
    for group in list(running):
        end(group, number)
    os._exit(128 + number)


def run(command, timeout, keep=lambda line: True):
    """Runs `command`, showing its output line by line. Returns its exit status, or None after `timeout`, and its lines."""
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
                               env={**ENVIRONMENT, **os.environ, "LLVM_PROFILE_FILE": held.profiles})
    running.add(process.pid)
    expired = threading.Event()
    # Asked first: a suite that runs suites, each in a group of its own, ends those.
    timers = [threading.Timer(timeout, lambda: (expired.set(), end(process.pid, signal.SIGTERM))),
              threading.Timer(timeout + GRACE, lambda: end(process.pid, signal.SIGKILL))]
    for timer in timers:
        timer.start()
    lines = []
    try:
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if found := FIGURE.match(lines[-1]):
                figures[found[1]] = int(found[2])
            elif keep(line):
                show("  " + lines[-1])
        if expired.is_set():
            end(process.pid, signal.SIGKILL)  # whatever did not end when it was asked
        _, status, usage = os.wait4(process.pid, 0)
        status = process.returncode = os.waitstatus_to_exitcode(status)
        held.cpu += usage.ru_utime + usage.ru_stime
    finally:
        for timer in timers:
            timer.cancel()
        running.discard(process.pid)
    return (None if expired.is_set() else status), lines


def judge(status, lines):
    """The result of a suite, from its exit status and closing line."""
    if status is None:
        return Result(failed=1, remark="did not end in time")
    closing = CLOSING.match(lines[-1]) if lines else None
    if not closing:
        return Result(failed=1, remark=f"no closing line (exit {status})")
    result = Result(*(int(number or 0) for number in closing.groups()))
    if status != 0 and not result.failed:
        return Result(result.passed, 1, result.skipped, f"exit {status} in spite of its line")
    if not result.passed and not result.failed and not result.skipped:
        return Result(failed=1, remark="ran nothing")
    return result


def script(*command):
    """A suite that is a script; `command` begins with the interpreter and the script."""
    def suite(options):
        if not (ROOT / command[1]).exists():
            return Result(failed=1, remark=f"{command[1]} is missing")
        return judge(*run([str(part) for part in command], options.timeout))
    return suite


def googletest(options, program, *more):
    """A binary of GoogleTest: counted from the report that it writes at its end."""
    report = options.build / f"{program}.json"
    report.unlink(missing_ok=True)
    quiet = re.compile(r"^\[( RUN|       OK|-----|=====)|^$|^Running main|^\[  PASSED|^Note: Google")
    status, lines = run([options.build / "bin" / program, f"--gtest_output=json:{report}", *more], options.timeout,
                        lambda line: not quiet.match(line))
    if status not in (0, 1) or not report.exists():
        begun = [line for line in lines if line.startswith("[ RUN")]
        return Result(failed=1, remark=f"died in {begun[-1].split()[-1]} (exit {status})" if begun else f"exit {status}")
    tests = [test for group in json.loads(report.read_text())["testsuites"] for test in group["testsuite"]]
    failed = sum("failures" in test for test in tests)
    skipped = sum(test["result"] in ("SKIPPED", "SUPPRESSED") and "failures" not in test for test in tests)
    return judge(status, [f"{len(tests) - failed - skipped} passed, {failed} failed, {skipped} skipped"])


def on_plain_build(suite):
    """A suite that a build with sanitizers skips: they have malloc, memory and system calls of their own, and are slow."""
    def unless_sanitized(options):
        return suite(options) if options.plain else Result(skipped=1, remark="only for a build without sanitizers")
    return unless_sanitized


def unit(options):
    # Caps, and work that only a cap ends, are about sums, and take sanitizers six minutes.
    return googletest(options, "ckpt_unit_tests", *([] if options.plain else ["--gtest_filter=-Cap.*:*WithoutEnd*"]))


def bad(options):
    if options.plain:
        more = ["--build", options.build]
    else:  # they reserve terabytes of address space, and take five times as long: a part of the attacks
        subjects = ("zip", "zip_header", "legacy")
        more = ["--memory", "0", *(f"--subject={subject}" for subject in subjects)]
    return script(sys.executable, "tests/bad/run.py", "--ckpt", options.ckpt, *more)(options)


def eval_unit(options):
    if not (options.build / "bin/ckpt_eval_tests").exists():
        return Result(skipped=1, remark="only for a build with libtorch")
    return googletest(options, "ckpt_eval_tests")


def with_torch(options, *command):
    if not options.torch_python:
        return Result(failed=1, remark="no Python with torch (see above)")
    return script(options.torch_python, *command)(options)


def interop(options):
    # Sanitizers take some five times as long: of what there is, that which unit tests reach the least.
    groups = [] if options.plain else ["safetensors_files", "joining", "averages", "loading", "stats"]
    return with_torch(options, "tests/interop/run.py", "--ckpt", options.ckpt, *groups)


def formats(options):
    return with_torch(options, "tests/formats/run.py", "--ckpt", options.ckpt)


@on_plain_build
def memory(options):
    return with_torch(options, "tests/memory/run.py", "--ckpt", options.ckpt, "--build", options.build)


def pictures(options):
    return with_torch(options, "tests/eval/pictures.py", "--program", options.build / "bin/ckpt_picture_tensor")


def test_sets(options):
    return with_torch(options, "tests/eval/test_sets.py", "--ckpt", options.ckpt)


def evaluation(options):
    if not (options.build / "bin/ckpt_eval_tool").exists():
        return Result(skipped=1, remark="built without libtorch (CKPT_LIBTORCH)")
    return with_torch(options, "tests/eval/run.py", "--ckpt", options.ckpt)


def samples(options):
    if not (options.build / "bin/samples/mnist").exists():
        return Result(skipped=1, remark="built without libtorch (CKPT_LIBTORCH) or without CKPT_BUILD_SAMPLES")
    return with_torch(options, "tests/samples/run.py", "--ckpt", options.ckpt)


@on_plain_build
def bench(options):
    return with_torch(options, "tests/bench/run.py", "--build", options.build)


@on_plain_build
def package(options):
    return script(sys.executable, "tests/package/run.py", "--build", options.build)(options)


@on_plain_build
def faults(options):
    return script(sys.executable, "tests/faults/run.py", "--ckpt", options.ckpt,
                  "--interposer", options.build / "lib/libckpt_interpose.so")(options)


@on_plain_build
def load(options):
    return script(sys.executable, "tests/load/run.py", "--ckpt", options.ckpt, "--build", options.build)(options)


def sandbox(options):
    tries = options.build / "lib/libckpt_tries.so"
    if not tries.exists():
        return Result(skipped=1, remark="only for a build without sanitizers and coverage: these have no sandbox")
    return script(sys.executable, "tests/sandbox/run.py", "--ckpt", options.ckpt, "--tries", tries)(options)


@on_plain_build
def hardening(options):
    return script(sys.executable, "tests/hardening.py", "--build", options.build)(options)


@on_plain_build
def fuzz(options):
    if not options.asan_build:
        return Result(skipped=1, remark="no clang-14 with libFuzzer (see above)")
    return script(sys.executable, "fuzz/run.py", "--build", options.asan_build, "--corpus", options.fuzz_corpus,
                  "--seconds", "5")(options)


def asan(options):
    """The suites that need no more than the program, under sanitizers, which count what is executed besides."""
    if not options.asan_build:
        return Result(skipped=1, remark="no clang-14 with its sanitizers (see above)")
    shutil.rmtree(options.asan_build / "profiles", ignore_errors=True)
    return script(sys.executable, "tests/run_all.py", "--build", options.asan_build, "--only", "unit,cli,found,calls,formats,interop,bad",
                  "--at-once", "1", "--torch-python", options.torch_python)(options)


def coverage(options):
    if not options.asan_build:
        return Result(skipped=1, remark="no clang-14, which counts (see above)")
    return script(sys.executable, "tests/coverage.py", "--build", options.asan_build)(options)


def lint(options):
    if not options.lint:
        return Result(skipped=1, remark="no clang-format and clang-tidy (see above)")
    # clang-tidy takes some ten seconds a file: what there is no time for is skipped, and said; ./dev lint reads all.
    return script(sys.executable, "tests/lint.py", "--folder", options.lint, "--cache", options.lint_cache,
                  "--seconds", "15")(options)


def trust(options):
    """docs/trust.md says what the suites before this one counted."""
    path = options.build / "figures.json"
    path.write_text(json.dumps(figures, indent=1) + "\n")
    return script(sys.executable, "tests/trust.py", "--figures", path, "--whole", ",".join(sorted(whole)))(options)


def suites(options):
    plain = [sys.executable]
    unlimited = [] if options.plain else ["--memory", "0"]  # sanitizers reserve terabytes of address space
    sanitized = [] if options.plain else ["--sanitized"]
    return {
        "unit": unit,
        "eval-unit": eval_unit,
        "cli": script(*plain, "tests/cli/run.py", "--ckpt", options.ckpt),
        "bad": bad,
        "corpus": script(*plain, "tests/corpus/run.py", "--ckpt", options.ckpt, *unlimited),
        "interop": interop,
        "formats": formats,
        "memory": memory,
        "pictures": pictures,
        "test-sets": test_sets,
        "eval": evaluation,
        "samples": samples,
        "faults": faults,
        "sandbox": sandbox,
        "load": load,
        "hardening": hardening,
        "layering": script(*plain, "tests/layering_test.py"),
        "package": package,
        "found": script(*plain, "tests/bad/found.py", "--replay", options.build / "bin/ckpt_fuzz_replay", *sanitized),
        "calls": script(*plain, "tests/bad/calls.py", "--replay", options.build / "bin/ckpt_fuzz_replay", "--every", "25"),
        "fuzz": fuzz,
        "asan": asan,
        "lint": lint,
        "bench": bench,
        "coverage": coverage,
        "trust": trust,
    }


def path(text):
    return Path(text).resolve() if text else None


FIRST = ("asan", "interop", "faults", "eval", "bad")  # the longest
LAST = ("coverage", "trust")  # they look at what the others left


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=Path, required=True, help="a build folder")
    parser.add_argument("--only", default="", help="suites to run, with commas between")
    parser.add_argument("--all", action="store_true", help="a suite that is skipped as a whole has failed (but corpus, whose files are other people's)")
    parser.add_argument("--torch-python", default="", help="a Python that has tests/requirements.txt")
    parser.add_argument("--asan-build", type=path, help="a build folder of the preset asan")
    parser.add_argument("--fuzz-corpus", default="build/asan/corpus", help="where the corpus that fuzzing has grown is kept")
    parser.add_argument("--lint", type=path, help="a folder for clang-tidy: set up, not built")
    parser.add_argument("--lint-cache", default="build/lint/cache", help="where what clang-tidy found well is kept")
    parser.add_argument("--at-once", type=int, default=2, help="suites that run at once")
    parser.add_argument("--timeout", type=float, default=1200, help="seconds that one suite may take")
    options = parser.parse_args()
    options.build = options.build.resolve()
    options.ckpt = options.build / "bin/ckpt"
    options.plain = "CKPT_SANITIZE:STRING=\n" in (options.build / "CMakeCache.txt").read_text()

    known = suites(options)
    chosen = options.only.split(",") if options.only else list(known)
    for name in chosen:
        if name not in known:
            parser.error(f"no suite {name!r}; there are: {', '.join(known)}")

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, end_all)

    at_once = min(options.at_once, len(chosen))
    before = [name for name in FIRST if name in chosen] + [name for name in chosen if name not in FIRST + LAST]

    def result(name):
        held.cpu = 0
        held.profiles = str(options.build / f"profiles/{name}-%4m.profraw")
        if at_once > 1:
            held.lines = []
        show(f"\n== {name}")
        begin = time.monotonic()
        found = known[name](options)
        if options.all and name != "corpus" and found.skipped and not found.passed and not found.failed:
            found = Result(failed=1, remark=f"skipped: {found.remark or 'see above'}")
        found.seconds, found.cpu = time.monotonic() - begin, held.cpu
        if options.plain and not found.failed and not found.skipped:
            whole.add(name)
        if found.remark:
            show(f"  {found.remark}")
        if at_once > 1:
            print("\n".join(held.lines), flush=True)
        return found

    with ThreadPoolExecutor(at_once) as workers:
        results = dict(zip(before, workers.map(result, before)))
    results |= {name: result(name) for name in LAST if name in chosen}

    print(f"\n{'suite':<10}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}{'cpu':>9}")
    for name, result in results.items():
        print(f"{name:<10}{result.passed:>8}{result.failed:>8}{result.skipped:>9}{result.seconds:>9.1f}{result.cpu:>9.1f}"
              + (f"  {result.remark}" if result.remark else ""))
    passed, failed, skipped = (sum(getattr(result, field) for result in results.values())
                               for field in ("passed", "failed", "skipped"))
    print(f"\n{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
