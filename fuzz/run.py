#!/usr/bin/env python3
"""Fuzzes every target for some seconds, two at once, and says what came of it, a line a target.

    fuzz/run.py --build build/asan --corpus FOLDER [--seconds 60] [--target NAME]…
    fuzz/run.py --build build/fuzz --replay build/asan --corpus FOLDER … [--log docs/fuzz.json [--until-flat]]

FOLDER keeps what was found to reach new code, a folder a target, and in `slow` what is too slow to begin from; where it has none
of a target, fuzz/corpus has an archive of what the logged runs kept. A run of a minute or more, or one that is logged, begins
with all of it and the seeds, and minimises it; another begins with some of both. A build of the preset fuzz has no sanitizers and tells libFuzzer of
no comparisons (most are of an index and a size), and does four to fifteen times as much; --replay gives all that it keeps to one
with sanitizers, which counts the lines and branches of ckpt's own code that it reaches. What breaks a target is put into
`findings` of the build that it breaks, as it was found and as small as it gets in a short while, with the command that repeats it.
The last lines repeat, shortly, what failed and why, with the bytes of a small finding as base64: they suffice to repeat it. The
very last one is `N passed, N failed`, a target each; the exit status is 1 where anything failed. --log adds each run to the sums
that docs/trust.md shows; --until-flat begins with what the other targets keep, too, and stays with a target until it has had
enough: see `Log.has_had_enough`.
"""

import argparse
import contextlib
import hashlib
import itertools
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))
import llvm_coverage  # noqa: E402
from finding import Finding, fault_in  # noqa: E402
from forms import LARGEST, own_forms  # noqa: E402
from log import Log, Outcome  # noqa: E402

TARGETS = """
    program roundtrip compressed recover torch_zip pickle torch_legacy plain_pickle torch_tar torchscript
    numpy gguf dcp safetensors scan gzip zip png idx
""".split()  # the slowest first
# By entropy libFuzzer would choose what to change, and takes two to five times as long a run for it.
OPTIONS = ["-entropic=0", "-rss_limit_mb=1536", "-malloc_limit_mb=512", f"-max_len={LARGEST}"]
TIMEOUT = 10  # seconds of an input
SANITIZED_TIMEOUT = 100  # they take up to twenty times as long
SLOW = 10  # times as long as half of a corpus takes: one input in ten, and of all their time two thirds
NEVER_SLOW = 0.002  # seconds of an input without sanitizers
ENVIRONMENT = {
    # Freed memory is soon used again: each input touches few pages, and stays within the limits. Where memory was
    # allocated, the replay of a finding says.
    "ASAN_OPTIONS": "quarantine_size_mb=8:thread_local_quarantine_size_kb=64:malloc_context_size=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "LLVM_PROFILE_FILE": "/dev/null",
}
WORTH_MINIMISING = 60  # seconds of a run: to minimise takes as long as a short one
SAMPLE = 50  # files that a shorter run begins with: a grown corpus takes minutes to read, and hundreds all the time there is
ADOPTING = 600  # seconds that all that the other targets keep may take
MERGING = 3600  # seconds that minimising a whole corpus may take: nearly 90,000 files of the program's
REPLAYING = 600  # seconds that a part of a corpus may take under sanitizers
PART = 500  # files of it, as many as a command line takes
OWN = ("lib/", "formats/", "tools/", "eval/")  # whose lines and branches count
FINDINGS = 5  # of a run: what follows is often the same
MINIMISING = 20  # seconds that a finding may be made smaller for
ROOM = 1 << 30  # bytes of a RAM disk that is worked on


def parts(files):
    return (files[begin : begin + PART] for begin in range(0, len(files), PART))


class Fuzzer:
    """One target, its program and its folders."""

    def __init__(self, target, options, seeds, scratch):
        self.target = target
        self.program = options.build / "bin" / f"ckpt_fuzz_{target}"
        self.sanitized = options.replay and options.replay / "bin" / f"ckpt_fuzz_{target}"
        self.seconds = options.seconds
        self.is_logged = options.log is not None
        self.seeds = seeds / target
        self.corpus = options.corpus / target
        self.slow = options.corpus / "slow" / target  # not begun from, but what it reaches is known
        self.scratch = scratch / target
        self.profiles = scratch / "profiles" / target  # of what the sanitizers were given
        self.replayed = set()  # names of it
        self.known = None  # how many lines and branches it reached
        self.archive = HERE / "corpus" / f"{target}.tar.xz"
        for folder in (self.corpus, self.slow):
            folder.mkdir(parents=True, exist_ok=True)
        if self.archive.exists() and not any(self.corpus.iterdir()):
            with tarfile.open(self.archive) as archive:
                archive.extractall(options.corpus)

    def call(self, program, *arguments, timeout):
        """A program of the target: its exit status, what it says, and its processor's seconds. Its temporary files, and where
        it stops, are in the scratch folder."""
        environment = {**os.environ, **ENVIRONMENT, "TMPDIR": str(self.scratch)}
        if program == self.sanitized:
            environment["LLVM_PROFILE_FILE"] = f"{self.profiles}/%m.profraw"  # each run is added
        limit = TIMEOUT if self.sanitized and program == self.program else SANITIZED_TIMEOUT
        command = [str(part) for part in (program, *OPTIONS, f"-timeout={limit}", *arguments)]
        process = subprocess.Popen(command, cwd=self.scratch, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        timer = threading.Timer(timeout, process.kill)
        timer.start()
        text = process.stdout.read().decode("utf-8", "backslashreplace")
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode, text, usage.ru_utime + usage.ru_stime

    def begin(self):
        self.outcome = Outcome(self.target, is_grown=any(self.corpus.iterdir()))
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir()

    def adopt(self):
        """Adds to the corpus what the other targets keep and reaches new code here too: most of them read files of any form.
        (A merge of so many files takes ten times as long, for it writes down all that each of them reaches.)"""
        self.begin()
        others, reaching = self.scratch / "others", self.scratch / "reaching"
        others.mkdir()
        reaching.mkdir()
        for target in TARGETS:
            if target in (self.target, "program"):
                continue
            folder, names = self.corpus.parent / target, []
            with contextlib.suppress(FileNotFoundError):  # another run is minimising
                names = os.listdir(folder)
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    for content in own_forms(self.target, (folder / name).read_bytes()):
                        (others / hashlib.sha1(content).hexdigest()).write_bytes(content)
        # What reaches something that nothing before it did gives its SHA-1 to a file there.
        self.look_for_faults(self.program, ADOPTING, "-runs=0", f"-features_dir={reaching}", self.corpus, others)
        adopted = [others / name for name in os.listdir(reaching) if (others / name).exists() and not (self.corpus / name).exists()]
        for file in adopted:
            shutil.copy(file, self.corpus)
        self.outcome.adopted = len(adopted)
        return self.outcome

    def run(self):
        self.begin()
        is_short = self.seconds < WORTH_MINIMISING and not self.is_logged
        corpora = [self.sample()] if is_short else [self.corpus, self.seeds]
        if self.is_logged and self.known is None:
            self.replay()
            self.known, _ = self.count_reached()
        text, self.outcome.seconds = self.look_for_faults(self.program, self.seconds, f"-dict={HERE / 'pickle.dict'}",
                                                          *corpora)
        self.read_figures(text)
        if not self.outcome.executions and not self.outcome.findings and not self.outcome.failure:
            self.outcome.failure = f"no executions: {text[-2000:]}"
        if is_short:
            for file in corpora[0].iterdir():
                if not (self.seeds / file.name).exists():
                    shutil.copy(file, self.corpus)
        else:
            self.minimise()
        if self.sanitized:
            self.replay()
        if self.is_logged:
            self.outcome.reached, self.outcome.countable = self.count_reached()
            self.outcome.new, self.known = max(0, self.outcome.reached - self.known), self.outcome.reached
            self.pack()
        self.outcome.corpus = len(list(self.corpus.iterdir()))
        return self.outcome

    def count_reached(self):
        """Lines and branches of ckpt's own code that the sanitizers' program has reached, and all in those files."""
        profiles = list(self.profiles.glob("*.profraw"))
        files = llvm_coverage.by_file(self.sanitized.parent.parent, profiles, [self.sanitized])
        of_files = [list(by.values()) for name, by in files.items() if name.startswith(OWN)]
        counts = [count for by in of_files if any(covered for covered, _ in by) for count in by]
        return sum(covered for covered, _ in counts), sum(count for _, count in counts)

    def replay(self):
        """Gives the sanitizers what is in the corpus, and they had not before."""
        new = [file for file in sorted(self.corpus.iterdir()) if file.name not in self.replayed]
        for part in parts(new):
            folder = self.scratch / "new"
            folder.mkdir()
            for file in part:
                shutil.copy(file, folder)
                self.replayed.add(file.name)
            self.look_for_faults(self.sanitized, REPLAYING, "-runs=0", folder)
            shutil.rmtree(folder)

    def pack(self):
        """What is kept as an archive, to go on from on another machine. The same files make the same archive."""
        self.archive.parent.mkdir(exist_ok=True)
        with tarfile.open(self.archive, "w:xz") as archive:
            for file in sorted([*self.corpus.iterdir(), *self.slow.iterdir()]):
                entry = tarfile.TarInfo(str(file.relative_to(self.corpus.parent)))
                entry.size = file.stat().st_size
                with file.open("rb") as content:
                    archive.addfile(entry, content)

    def sample(self):
        """A folder with some of the corpus and of the seeds."""
        folder = self.scratch / "sample"
        folder.mkdir()
        files = [*self.corpus.iterdir(), *self.seeds.iterdir()]
        for file in random.sample(files, min(len(files), SAMPLE)):
            shutil.copy(file, folder)
        return folder

    def look_for_faults(self, program, seconds, *arguments):
        """Runs a program of the target, and keeps what breaks it. Returns what it says, and the seconds that it worked."""
        found = self.scratch / "found"
        found.mkdir()
        status, text, worked = self.call(program, f"-max_total_time={seconds}", "-print_final_stats=1", f"-artifact_prefix={found}/",
                                 *arguments, timeout=seconds + 120)
        # What is slow, but no timeout, is none.
        breaking = [file for file in sorted(found.iterdir()) if not file.name.startswith("slow-unit-")]
        for file in breaking[:FINDINGS]:
            self.outcome.findings.append(self.keep(program, file, fault_in(text)))
        if status != 0 and not breaking:
            self.outcome.failure = f"exit {status}: {fault_in(text)}\n{text[-2000:]}"
        shutil.rmtree(found)
        return text, min(worked, seconds)

    @staticmethod
    def edges_said(pattern, text):
        """The last of them."""
        edges = re.findall(pattern, text, re.MULTILINE)
        return int(edges[-1]) if edges else 0

    def read_figures(self, text):
        self.outcome.edges = self.edges_said(r"^#\d+\s.* cov: (\d+)", text)
        executions = re.search(r"stat::number_of_executed_units: (\d+)", text)
        self.outcome.executions = int(executions[1]) if executions else 0

    def keep(self, program, file, said):
        """Puts a finding where it stays, and beside it a smaller one, which may break another promise. `said` is what the
        run said that found it: what needs the inputs before it breaks nothing alone."""
        kind = file.name.split("-")[0]
        folder = program.parent.parent / "findings"
        folder.mkdir(exist_ok=True)
        kept = folder / f"{self.target}-{file.name}"
        shutil.copy(file, kept)
        small = Path(f"{kept}-small")
        if kind == "crash":
            self.call(program, "-minimize_crash=1", f"-max_total_time={MINIMISING}", f"-exact_artifact_path={small}", file,
                      timeout=MINIMISING + 60)
        status, text, _ = self.call(program, kept, timeout=SANITIZED_TIMEOUT)
        repeats = status != 0
        why = fault_in(text) or said or kind
        why = why if repeats else f"{why} (does not repeat alone)"
        return Finding(kept, why, program.parent / "ckpt_fuzz_replay", self.target, small if repeats and small.exists() else kept)

    def minimise(self):
        """Keeps, of all that there is, what is needed to reach all that it reaches."""
        merged = self.scratch / "merged"
        merged.mkdir()
        status, text, _ = self.call(self.program, "-merge=1", merged, self.corpus, self.slow, self.seeds, timeout=MERGING)
        if status != 0:
            self.outcome.failure = self.outcome.failure or f"merge: exit {status}: {text[-2000:]}"
            return
        self.outcome.edges = self.edges_said(r"(\d+) new coverage edges", text)
        for folder in (self.corpus, self.slow):
            shutil.rmtree(folder)
        shutil.copytree(merged, self.corpus)
        self.slow.mkdir()
        self.set_aside_the_slow()

    def set_aside_the_slow(self):
        """Takes out of the corpus what is not worth beginning from: a minute of scan did five times as much without."""
        took = self.seconds_of_each()
        most = max(NEVER_SLOW, SLOW * statistics.median(took.values())) if took else 0
        for name, seconds in took.items():
            if seconds > most:
                shutil.move(name, self.slow)

    def seconds_of_each(self):
        """By its name, how long each file of the corpus takes."""
        took = {}
        for part in parts(sorted(self.corpus.iterdir())):
            took.update(self.seconds_of(part))
        return took

    def seconds_of(self, files):
        """The same of some files. The program says each name before it goes on to it."""
        replay = [self.program.with_name("ckpt_fuzz_replay"), self.target, *files]
        environment = {**os.environ, "TMPDIR": str(self.scratch)}
        with subprocess.Popen(replay, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment) as process:
            name, began = None, 0.0
            for line in itertools.chain(process.stdout, [None]):
                now = time.monotonic()
                if name:
                    yield name, now - began
                name, began = line and line.rstrip("\n"), now


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=Path, required=True, help="a build folder of the preset asan or fuzz")
    parser.add_argument("--replay", type=Path, metavar="BUILD", help="one of the preset asan, to be given what is kept")
    parser.add_argument("--corpus", type=Path, required=True, help="where the grown corpus is kept")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--target", action="append", choices=TARGETS, help="only this one; may be repeated, and is done in this order")
    parser.add_argument("--log", type=Path, metavar="FILE", help="add what was done to the sums in FILE")
    parser.add_argument("--until-flat", action="store_true", help="each target again and again, until it has had enough")
    options = parser.parse_args()
    if options.log and not options.replay:
        parser.error("--log counts what --replay reaches")
    if options.until_flat and not options.log:
        parser.error("--until-flat goes by the --log")
    options.build, options.corpus = options.build.resolve(), options.corpus.resolve()
    options.replay = options.replay and options.replay.resolve()
    targets = options.target or TARGETS
    failed = fuzz(targets, options, Log(options.log))
    for target, why in failed.items():
        print(f"FAILED {target}: {why}")
    print(f"{len(targets) - len(failed)} passed, {len(failed)} failed", flush=True)
    return 1 if failed else 0


def fuzz(targets, options, log):
    """Each target once or, until it is flat, again and again before the next one. Gives those that something is wrong with, and
    what it is."""
    ram = "/dev/shm"
    memory = ram if os.access(ram, os.W_OK) and shutil.disk_usage(ram).free > ROOM else None
    failed, logging = {}, threading.Lock()
    with tempfile.TemporaryDirectory(prefix="ckpt-fuzz-", dir=memory) as scratch:
        seeds = Path(scratch) / "seeds"
        subprocess.run([sys.executable, str(HERE / "seeds/make.py"), str(seeds)], check=True)

        def report(outcome):
            print(outcome.line(), flush=True)
            for finding in outcome.findings:
                print(f"  {finding}", flush=True)
            if outcome.findings:
                failed[outcome.target] = min((finding.short() for finding in outcome.findings), key=len)
            elif outcome.failure:
                failed[outcome.target] = outcome.failure.split("\n")[0]

        # Until flat, what each of them keeps is wanted: see `Fuzzer.adopt`.
        fuzzers = {target: Fuzzer(target, options, seeds, Path(scratch)) for target in (TARGETS if options.until_flat else targets)}

        def work(target):
            fuzzer = fuzzers[target]
            if options.until_flat and not log.has_had_enough(target):
                report(fuzzer.adopt())
            while not (options.until_flat and log.has_had_enough(target)):
                outcome = fuzzer.run()
                if options.log:
                    with logging:
                        log.add(outcome)
                report(outcome)
                if not options.until_flat:
                    break

        with ThreadPoolExecutor(max_workers=2) as pool:
            list(pool.map(work, targets))
    return failed


if __name__ == "__main__":
    sys.exit(main())
