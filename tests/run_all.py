#!/usr/bin/env python3
"""Runs every suite, shows what each says, and ends with one line for all: `N passed, N failed[, N skipped]`.

    tests/run_all.py --build build/release [--only unit,cli] [--torch-python PYTHON]

A suite is a program that ends with such a line itself. One that dies, hangs or does not print it has failed.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIGURE = re.compile(r"^figure (\S+) (\d+)$")
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")
# A sanitizer's finding must not look like one of the program's own exit statuses.
ENVIRONMENT = {
    "ASAN_OPTIONS": "exitcode=99:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "exitcode=99:print_stacktrace=1",
    "TSAN_OPTIONS": "exitcode=99",
    "PYTHONDONTWRITEBYTECODE": "1",
}


@dataclass
class Result:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    remark: str = ""
    seconds: float = 0


figures = {}  # what suites count beside results, for docs/trust.md: "figure NAME N" on a line of its own


def run(command, timeout, keep=lambda line: True):
    """Runs `command`, passing its output on line by line. Returns its exit status, or None after `timeout`, and its lines."""
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, env={**ENVIRONMENT, **os.environ}, text=True, errors="replace")
    expired = threading.Event()
    timer = threading.Timer(timeout, lambda: (expired.set(), process.kill()))
    timer.start()
    lines = []
    try:
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if found := FIGURE.match(lines[-1]):
                figures[found[1]] = int(found[2])
            elif keep(line):
                print("  " + line, end="", flush=True)
        status = process.wait()
    finally:
        timer.cancel()
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


def googletest(options, program):
    """A binary of GoogleTest: counted from the report that it writes at its end."""
    report = options.build / f"{program}.json"
    report.unlink(missing_ok=True)
    quiet = re.compile(r"^\[( RUN|       OK|-----|=====)|^$|^Running main|^\[  PASSED|^Note: Google")
    status, lines = run([options.build / "bin" / program, f"--gtest_output=json:{report}"], options.timeout,
                        lambda line: not quiet.match(line))
    if status not in (0, 1) or not report.exists():
        begun = [line for line in lines if line.startswith("[ RUN")]
        return Result(failed=1, remark=f"died in {begun[-1].split()[-1]} (exit {status})" if begun else f"exit {status}")
    tests = [test for group in json.loads(report.read_text())["testsuites"] for test in group["testsuite"]]
    failed = sum("failures" in test for test in tests)
    skipped = sum(test["result"] in ("SKIPPED", "SUPPRESSED") and "failures" not in test for test in tests)
    return judge(status, [f"{len(tests) - failed - skipped} passed, {failed} failed, {skipped} skipped"])


def unit(options):
    return googletest(options, "ckpt_unit_tests")


def eval_unit(options):
    if not (options.build / "bin/ckpt_eval_tests").exists():
        return Result(skipped=1, remark="only for a build with libtorch")
    return googletest(options, "ckpt_eval_tests")


def with_torch(options, *command):
    if not options.torch_python:
        return Result(failed=1, remark="no Python with torch (see above)")
    return script(options.torch_python, *command)(options)


def interop(options):
    return with_torch(options, "tests/interop/run.py", "--ckpt", options.ckpt)


def formats(options):
    return with_torch(options, "tests/formats/run.py", "--ckpt", options.ckpt)


def memory(options):
    if not options.plain:
        return Result(skipped=1, remark="only for a build without sanitizers")
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


def bench(options):
    if not options.plain:
        return Result(skipped=1, remark="only for a build without sanitizers")
    return with_torch(options, "tests/bench/run.py", "--build", options.build)


def package(options):
    if not options.plain:
        return Result(skipped=1, remark="only for a build without sanitizers")
    return script(sys.executable, "tests/package/run.py", "--build", options.build)(options)


def faults(options):
    if not options.plain:  # a sanitizer has its own malloc and write, and must be loaded first
        return Result(skipped=1, remark="only for a build without sanitizers")
    return script(sys.executable, "tests/faults/run.py", "--ckpt", options.ckpt,
                  "--interposer", options.build / "lib/libckpt_interpose.so")(options)


def fuzz(options):
    if not options.plain:
        return Result(skipped=1, remark="only beside a release build: it is a build of its own, with sanitizers")
    if not options.fuzz_build:
        return Result(skipped=1, remark="no clang-14 with libFuzzer (see above)")
    return script(sys.executable, "fuzz/run.py", "--build", options.fuzz_build, "--corpus", options.fuzz_corpus,
                  "--seconds", "10")(options)


def trust(options):
    """docs/trust.md says what the suites before this one counted."""
    path = options.build / "figures.json"
    path.write_text(json.dumps(figures, indent=1) + "\n")
    return script(sys.executable, "tests/trust.py", "--figures", path)(options)


def suites(options):
    plain = [sys.executable]
    unlimited = [] if options.plain else ["--memory", "0"]  # sanitizers reserve terabytes of address space
    return {
        "unit": unit,
        "eval-unit": eval_unit,
        "cli": script(*plain, "tests/cli/run.py", "--ckpt", options.ckpt),
        "bad": script(*plain, "tests/bad/run.py", "--ckpt", options.ckpt, "--build", options.build, *unlimited),
        "corpus": script(*plain, "tests/corpus/run.py", "--ckpt", options.ckpt, *unlimited),
        "interop": interop,
        "formats": formats,
        "memory": memory,
        "pictures": pictures,
        "test-sets": test_sets,
        "eval": evaluation,
        "samples": samples,
        "faults": faults,
        "layering": script(*plain, "tests/layering_test.py"),
        "package": package,
        "found": script(*plain, "tests/bad/found.py", "--replay", options.build / "bin/ckpt_fuzz_replay"),
        "fuzz": fuzz,
        "bench": bench,
        "trust": trust,  # last: it compares what the others counted
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=Path, required=True, help="a build folder")
    parser.add_argument("--only", default="", help="suites to run, with commas between")
    parser.add_argument("--torch-python", default="", help="a Python that has tests/requirements.txt")
    parser.add_argument("--fuzz-build", default="", help="a build folder of the preset fuzz")
    parser.add_argument("--fuzz-corpus", default="build/fuzz/corpus", help="where its grown corpus is kept")
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

    results = {}
    for name in chosen:
        print(f"\n== {name}", flush=True)
        begin = time.monotonic()
        results[name] = known[name](options)
        results[name].seconds = time.monotonic() - begin
        if results[name].remark:
            print(f"  {results[name].remark}", flush=True)

    print(f"\n{'suite':<10}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}")
    for name, result in results.items():
        print(f"{name:<10}{result.passed:>8}{result.failed:>8}{result.skipped:>9}{result.seconds:>9.1f}"
              + (f"  {result.remark}" if result.remark else ""))
    passed, failed, skipped = (sum(getattr(result, field) for result in results.values())
                               for field in ("passed", "failed", "skipped"))
    print(f"\n{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
