#!/usr/bin/env python3
"""Bad input: every attack of this folder, and what `inspect`, `verify`, `convert` and `scan` make of it; small good
files, cut at every byte and with every bit flipped; a test for each cap.

    tests/bad/run.py --ckpt BIN --build FOLDER [--memory BYTES] [WORD…]

`recover` runs on each as well: whatever it makes of one, what it writes is sound and calls for nothing dangerous. So does
one of all other operations (operations.py), by its name, and eval on some; --all-operations: all of them on each, which takes
hours.

Each command runs in 1 GiB of address space (--memory 0: as much as it likes, for sanitizers) and 60 s, which SECURITY.md
calls a fault. It must end by itself with the status listed, say what is listed, leave no output where it fails, and print
nothing that steers a terminal.
"""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path[1:1] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent.parent / "data")]
import harness  # noqa: E402
import archive_attacks  # noqa: E402
import behind_attacks  # noqa: E402
import container_attacks  # noqa: E402
import dcp_attacks  # noqa: E402
import gguf_attacks  # noqa: E402
import gzip_attacks  # noqa: E402
import idx_attacks  # noqa: E402
import import_attacks  # noqa: E402
import inflate_attacks  # noqa: E402
import legacy_attacks  # noqa: E402
import numpy_attacks  # noqa: E402
import operations  # noqa: E402
import pickle_attacks  # noqa: E402
import safetensors_attacks  # noqa: E402
import sarif  # noqa: E402
import scan_attacks  # noqa: E402
import script_attacks  # noqa: E402
import plain_attacks  # noqa: E402
import sweep_files  # noqa: E402
import sum_attacks  # noqa: E402
import tar_attacks  # noqa: E402
import tensor_attacks  # noqa: E402
import work_attacks  # noqa: E402
import zip_attacks  # noqa: E402
import zip_header_attacks  # noqa: E402
from attack import Outcome  # noqa: E402

SUBJECTS = {
    module.__name__.removesuffix("_attacks"): module
    for module in (
        import_attacks,
        pickle_attacks,
        zip_attacks,
        zip_header_attacks,
        archive_attacks,
        legacy_attacks,
        gguf_attacks,
        gzip_attacks,
        tensor_attacks,
        numpy_attacks,
        safetensors_attacks,
        script_attacks,
        plain_attacks,
        tar_attacks,
        dcp_attacks,
        container_attacks,
        scan_attacks,
        work_attacks,
        inflate_attacks,
        sum_attacks,
        idx_attacks,
        behind_attacks,
    )
}
TIMEOUT = 60
LONG_TIMEOUT = 200  # of a sanitizer's build, which has no cap on memory, and of an operation that may be any on any file
UNSAFE = 4
STATUSES = (0, 1, 2, 3, 4)  # docs/cli.md; the machine lacks nothing
STATUSES_OF_EVAL = (*STATUSES, 5)  # but memory, where libtorch takes most of it
NOTHING, MISSING = Outcome(0), Path("/nonexistent")
DIGITS = harness.ROOT / "samples" / "digits"
FILES = {
    "OTHER": harness.DATA / "foonet_cpu.pt",
    "MODEL": DIGITS / "fnn_digits_dp.pt.gz",
    "SET": DIGITS / "digits_test.pt.gz",
}
ONE_THREAD = {"OMP_NUM_THREADS": "1"}  # for eval: each takes address space
SWEPT = re.compile(r": (\d+) cuts, (\d+) flips: (\d+) refused, (\d+) same, (\d+) uncovered, (\d+) failures")
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2028\u2029\u2060-\u2069\ufeff]")


def wrong(done, outcome, out):
    """What of the outcome is not so; None where all is."""
    said = done.text + done.err
    if done.timed_out:
        return "still running when its time was up"
    if done.code != outcome.exit:
        return f"exit {done.code}, expected {outcome.exit}"
    if outcome.text not in said:
        return f"does not say: {outcome.text}"
    if outcome.at is not None and f"(at byte {outcome.at})" not in said:
        return f"does not say: (at byte {outcome.at})"
    if outcome.lacks and outcome.lacks in said:
        return f"says: {outcome.lacks}"
    if "bug in ckpt" in said:
        return "takes it for a bug of its own"
    if outcome.exit >= 3 and "scan" not in done.args and "\nhint: " not in done.err:
        return "gives no hint"
    steering = STEERS.search(said)
    if steering:
        return f"prints {steering.group()!r}"
    if outcome.exit and out.exists():
        return "leaves an output"
    return None


def wrong_output(ckpt, out, may_be_dangerous=False, may_be_broken=False):
    """What of an output is not so; None where all is."""
    if not out.exists():
        return "leaves no output"
    read = ckpt("verify", out)
    is_good = read.code in ((0, 1) if may_be_broken else (0,)) and (may_be_dangerous or "(dangerous)" not in read.text)
    return None if is_good else f"writes what verify does not like: {read}"


def wrong_recovery(ckpt, done, attack, out):
    """What of a recovery is not so; None where all is."""
    if done.code not in (0, 1, 3, 4):
        return f"exit {done.code}"
    if attack.outcomes.get("convert", NOTHING).exit == UNSAFE and done.code < 3:
        return "writes what convert refuses as unsafe"
    problem = wrong(done, Outcome(done.code), out if done.code >= 3 else MISSING)
    return problem if problem or done.code >= 3 else wrong_output(ckpt, out)


def scanned(attack):
    """The statuses of `scan` that will do. What another command calls dangerous, is that; the rest is judged or not."""
    if "scan" in attack.outcomes:
        return (attack.outcomes["scan"].exit,)
    said = [(o.exit, o.text) for o in attack.outcomes.values()]
    dangerous = any(exit_ == 4 or "(dangerous)" in text for exit_, text in said)
    return (1,) if dangerous else (0, 1, 3)


def remove(path):
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def words_of(command, path, out):
    """`command`: a name, or a whole line in which FILE, OUT and OTHER stand for the files, FILE/ for the folder."""
    line = command if " " in command else f"{command} FILE OUT" if command == "convert" else f"{command} FILE"
    files = {"FILE": path.name, "OUT": out.name, **FILES}
    return [files.get(word, word.replace("FILE/", f"{path.name}/")) for word in line.split()]


def run_line(ckpt, line, path, out, timeout):
    variables = ONE_THREAD if line.startswith("eval ") else {}
    return ckpt(*words_of(line, path, out), cwd=path.parent, timeout=timeout, **variables)


def wrong_operation(ckpt, done, line, out, is_broken):
    """What of an operation is not so that may end as it likes; None where all is. `is_broken`: what is read, which is passed
    on as it was."""
    if done.code not in (STATUSES_OF_EVAL if line.startswith("eval ") else STATUSES):
        return f"exit {done.code}"
    problem = wrong(done, Outcome(done.code), out if done.code else MISSING)
    if problem or done.code:
        return problem
    if "--json" in line:
        json.loads(done.text)
    return wrong_output(ckpt, out, "--allow-unsafe" in line, is_broken) if "OUT" in line else None


def attack_one(suite, ckpt, folder, attack, lines):
    path = folder / attack.name
    if isinstance(attack.data, dict):
        path.mkdir()
        for name, data in attack.data.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(data)
    else:
        path.write_bytes(attack.data)
    out = folder / f"out-{attack.name}"
    seconds = TIMEOUT if ckpt.memory else LONG_TIMEOUT
    for command, outcome in attack.outcomes.items():
        done = run_line(ckpt, command, path, out, seconds)
        problem = wrong(done, outcome, out)
        if not problem and done.code == 0 and (command == "convert" or " OUT" in command):
            problem = wrong_output(ckpt, out, "--allow-unsafe" in command)
        suite.check(f"{attack.name}, {command}", problem is None, lambda: f"{problem}\n{str(done)[:3000]}")
        remove(out)
    if attack.alone:
        return remove(path)
    if not isinstance(attack.data, dict):
        done = ckpt("recover", path.name, out.name, cwd=folder, timeout=seconds)
        problem = wrong_recovery(ckpt, done, attack, out)
        suite.check(f"{attack.name}, recover", problem is None, lambda: f"{problem}\n{str(done)[:3000]}")
        remove(out)
    if "scan" not in attack.outcomes:
        done = ckpt("scan", path.name, cwd=folder, timeout=seconds)
        good = done.code in scanned(attack) and not STEERS.search(done.text + done.err)
        suite.check(f"{attack.name}, scan", good, lambda: f"expected {scanned(attack)}\n{str(done)[:3000]}")
    is_broken = attack.outcomes.get("verify", NOTHING).exit == 1
    for line in lines:
        done = run_line(ckpt, line, path, out, LONG_TIMEOUT)
        problem = wrong_operation(ckpt, done, line, out, is_broken)
        suite.check(f"{attack.name}, {line}", problem is None, lambda: f"{problem}\n{str(done)[:3000]}")
        remove(out)
    remove(path)


def has_eval(ckpt):
    return Path(ckpt.path).with_name("ckpt-eval").exists()


def lines_for(attack, all_operations, with_eval):
    """The operations on an attack."""
    lines = operations.of(attack.name, all_operations)
    if with_eval and "inspect" in attack.outcomes and attack.outcomes["inspect"].exit == 0:
        lines += operations.evaluations_of(attack.name, all_operations)
    return lines


def attack_all(suite, ckpt, subjects, words, all_operations):
    total = reach_code = 0
    with_eval = has_eval(ckpt)
    for name in subjects or SUBJECTS:
        if name == "idx" and not with_eval:
            suite.skip("attacks, idx, and eval of others", "built without libtorch (CKPT_LIBTORCH)")
            continue
        names = []
        with harness.temporary_folder() as folder, suite.group(f"attacks, {name}"), ThreadPoolExecutor(
            os.cpu_count()
        ) as pool:
            attacks = (a for a in SUBJECTS[name].attacks() if not words or any(word in a.name for word in words))
            # A few at a time, so that no more files than that are held.
            while batch := list(itertools.islice(attacks, 32)):
                # Sanitizers, which have no cap on memory, take ten times as long.
                lines = [
                    lines_for(attack, all_operations, with_eval and name != "import")
                    if ckpt.memory or all_operations
                    else []
                    for attack in batch
                ]
                names += [attack.name for attack in batch]
                reach_code += sum(scanned(attack) == (1,) for attack in batch)
                list(pool.map(lambda attack, own: attack_one(suite, ckpt, folder, attack, own), batch, lines))
            suite.check("nothing is left behind", not list(folder.iterdir()), lambda: sorted(folder.iterdir()))
            twice = {attack for attack in names if names.count(attack) > 1}
            suite.check("no two have one name, and so one file", not twice, lambda: sorted(twice))
            total += len(names)
            print(f"{name}: {len(names)} files", flush=True)
    if with_eval and not subjects and not words:  # else they are not all
        suite.figure("bad.attacks", total)
        suite.figure("bad.reach-code", reach_code)


def operations_work(suite, ckpt):
    """On a sound file each does what it is for: else an attack would meet nothing but a refusal of the words."""
    nothing_to_do = {"extract FILE a -o OUT": 2, "extract FILE weight -o OUT": 2}
    with harness.temporary_folder() as folder, suite.group("operations"):
        path, out = folder / "sound.pt", folder / "out"
        shutil.copy(harness.DATA / "foonet_module_prefix.pt", path)
        for line in operations.of(path.name, True):
            done = run_line(ckpt, line, path, out, LONG_TIMEOUT)
            suite.equal(line, done.code, nothing_to_do.get(line, 0), str(done)[:2000])
            remove(out)
        if not has_eval(ckpt):
            return
        for line in operations.evaluations_of(path.name, True):
            shutil.copy(FILES["SET" if "--data FILE" in line else "MODEL"], path)
            done = run_line(ckpt, line, path, out, LONG_TIMEOUT)
            suite.equal(line, done.code, 0, str(done)[:2000])


def sweep_one(suite, program, memory, path):
    command = harness.limited([program, path], memory)
    done = subprocess.run(command, capture_output=True, text=True, env=harness.environment(), timeout=900)
    line = SWEPT.search(done.stdout)
    good = done.returncode == 0 and line is not None
    suite.check(f"sweep of {path.name}", good, lambda: f"exit {done.returncode}\n{done.stdout}{done.stderr}"[:5000])
    return [int(n) for n in line.groups()] if line else [0] * 6


def sweep_all(suite, build, memory):
    """Every cut and flip is refused, read as the same, or has no checksum that could tell (sweep.cpp)."""
    with harness.temporary_folder() as folder, suite.group("sweeps"), ThreadPoolExecutor(os.cpu_count()) as pool:
        paths = sweep_files.make_all(folder)
        rows = list(pool.map(lambda path: sweep_one(suite, build / "bin/ckpt_bad_sweep", memory, path), paths))
        totals = [sum(column) for column in zip(*rows)]
        for name, total in zip(("cuts", "flips", "refused", "same", "uncovered"), totals):
            suite.figure(f"bad.{name}", total)
        suite.figure("bad.swept", len(paths))
        print(f"{'':34}{'cuts':>8}{'flips':>9}{'refused':>9}{'same':>8}{'uncovered':>11}")
        for name, row in sorted(zip((p.name for p in paths), rows)) + [
            (f"{len(paths)} files", totals)
        ]:
            print(f"{name:34}{row[0]:>8}{row[1]:>9}{row[2]:>9}{row[3]:>8}{row[4]:>11}", flush=True)


def check_caps(suite, build):
    """Each constant of ckpt/limits.h has a unit test that bears its name."""
    with suite.group("caps"):
        text = (harness.ROOT / "lib/include/ckpt/limits.h").read_text()
        caps = set(re.findall(r"^inline constexpr [\w:]+ (\w+) =", text, re.M)) - {"kib", "mib", "gib"}
        listed = subprocess.run(
            [build / "bin/ckpt_unit_tests", "--gtest_list_tests", "--gtest_filter=Cap.*"],
            capture_output=True,
            text=True,
            env=harness.environment(),
        )
        tests = set(re.findall(r"^  (\w+)", listed.stdout, re.M))
        suite.figure("bad.caps", len(caps))
        for cap in sorted(caps):
            suite.check(f"limits::{cap}", cap in tests, "no test TEST(Cap, " + cap + ") in tests/unit/caps")
        suite.equal("tests of caps that are no more", sorted(tests - caps), [])


def main():
    p = harness.parser(__doc__.split("\n")[0])
    p.add_argument("--build", type=Path, help="the build folder, for sweeps and caps (without it: attacks only)")
    p.add_argument("--memory", type=int, default=harness.GIB, help="bytes of address space (0: no cap)")
    p.add_argument("--subject", action="append", choices=SUBJECTS, help="only the attacks on this; may be repeated")
    p.add_argument("--all-operations", action="store_true", help="each on every attack")
    p.add_argument("words", nargs="*", help="only attacks with one of these in their names")
    options = harness.parse(p)
    suite = harness.Suite()
    operations_work(suite, harness.Ckpt(options.ckpt, options.memory))
    attack_all(suite, harness.Ckpt(options.ckpt, options.memory), options.subject, options.words, options.all_operations)
    if not options.words and not options.subject:
        with harness.temporary_folder() as folder, suite.group("SARIF"):
            sarif.check(suite, harness.Ckpt(options.ckpt, options.memory), folder)
    if options.build and not options.words and not options.subject:
        check_caps(suite, options.build.resolve())
        sweep_all(suite, options.build.resolve(), options.memory)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
