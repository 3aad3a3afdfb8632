#!/usr/bin/env python3
"""docs/trust.md: what ckpt promises, how each promise is tested, and what was counted while it was.

    tests/trust.py [--figures build/release/figures.json] [--write-page]

`./dev test` collects the figures from its suites and runs this at the end: a figure that the page tells otherwise fails.
What a suite that ran whole has not counted fails; what others have not is not asked about, and said.
"""

import argparse
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import harness

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(1, str(ROOT / "tests" / "interop"))
from differences import BY_DESIGN, OF_LIBRARIES  # noqa: E402

PAGE = ROOT / "docs" / "trust.md"


@dataclass
class Row:
    promise: str
    how: str
    # {suite.name}, of that suite: exactly that; {?suite.name}: within a twentieth, since versions of libraries matter; {~suite.name}:
    # rounded and within a factor of three, since it depends on the machine and on chance.
    figures: str
    command: str


ROWS = [
    Row("Nothing in a file is run",
        "files that reach for code by every opcode, protocol and container, plain, compressed and before a broken tail; "
        "no name is ever resolved, and what is dangerous is named and not written. (The code of a TorchScript file alone is run, "
        "where it is asked for: `eval --arch torchscript`)",
        "{bad.reach-code} attack files of ours, {corpus.hostile} of scanners' test suites", "bad,corpus"),
    Row("`scan` calls nothing safe that reaches code",
        "every attack of ours that does, by import opcode, protocol, nesting, compression, place in an archive and damage; "
        "scanners' own test files and their benign controls, none of which is dangerous; real files ([scan.md](scan.md))",
        "{bad.reach-code} attack files of ours, {corpus.scanned} others", "bad,corpus"),
    Row("Bad input never crashes, hangs, or takes the machine's memory",
        "each attack through `inspect`, `verify`, `convert` and `scan`, or the command that it is aimed at, in 1 GiB of address "
        "space and 60 s, with the exit status and the message it must get, through `recover`, and through one other operation; "
        "a lawful file beside each kind",
        "{bad.attacks} files", "bad"),
    Row("No call of a name that readers look for breaks them",
        "every name that ckpt knows, called by each opcode with too little, too much and the wrong things, and such calls put "
        "wherever a reader looks for one; each reader of them gets one in 25 in a run, with sanitizers too, others the next day "
        "(`tests/bad/calls.py` takes all)",
        "{calls.names} names, {calls.pickles} pickles for {calls.readers} readers: {?calls.tried} given to one", "calls,asan"),
    Row("A damaged file is refused or read as it was",
        "small files of each format and compression cut at every byte and with every bit flipped; where no checksum "
        "covers the bit, `verify` says that nothing does",
        "{bad.swept} files, {?bad.cuts} cuts, {?bad.flips} flips: {?bad.refused} refused, {?bad.same} read the same, "
        "{?bad.uncovered} uncovered and said so", "bad"),
    Row("Every cap is where it says",
        "a test at each constant of `ckpt/limits.h` and one past it; a constant without one fails",
        "{bad.caps} caps", "unit,bad"),
    Row("What is read is what PyTorch reads",
        "real files, which are not in the repository, against what PyTorch says of them: each tensor's name, shape, dtype, "
        "stride, offset, device, storage and SHA-256 ([corpus.md](corpus.md))",
        "{corpus.files} files, {corpus.tensors} tensors", "corpus"),
    Row("… of damaged files too",
        "mutants of small files that PyTorch saved, their checksums repaired, given to `torch.load(weights_only=True)` and to ckpt: "
        "what both read is equal, and where one refuses, the reason is one that somebody has looked at",
        "{interop.mutants} mutants, {?interop.read-by-both} read by both", "interop"),
    Row("… of the other formats too",
        "mutants of what each format's own library wrote, given to it and to ckpt in the same way",
        "{interop.other-formats} formats, {interop.mutants-of-them} mutants, {?interop.of-them-read-by-both} read by both", "interop"),
    Row("What goes in comes out",
        "every dtype, layout, protocol and container, trainers' files and whole modules, converted both ways and loaded by "
        "PyTorch 2.11; random object graphs, random selections; `diff` and `check` against PyTorch's own answers",
        "equal to the last bit", "interop"),
    Row("A cast is PyTorch's",
        "every float16, bfloat16 and float8, random float32 and float64, and those between two of a smaller dtype, NaNs and "
        "denormal numbers among them, to each of six dtypes against `Tensor.to()`; vector code against plain code",
        "{interop.cast-elements} elements, equal to the last bit", "unit,interop"),
    Row("Edits can be combined",
        "random checkpoints of PyTorch's, ten random edits of each in one `convert` and in several, against the same done in "
        "Python: names, order, dtypes, shapes, strides, devices, sharing, bits and all other values",
        "{interop.chain-checkpoints} checkpoints, {?interop.chain-commands} commands", "interop"),
    Row("Every format is what its own library takes it for",
        "saved by that library and read, verified, digested, compared and converted to torch; written back and loaded by it "
        "([formats](formats/README.md))",
        "{formats.read} formats", "formats,interop"),
    Row("Pictures become what Pillow makes of them",
        "random pictures of every colour type, depth and many sizes, as captchas and as digits",
        "{pictures.compared} tensors, {?pictures.equal} equal", "pictures"),
    Row("What the documents say works",
        "each command of README and docs that names its files, as it stands, on files of these names; each recipe's result in PyTorch",
        "{interop.documented-commands} commands", "interop"),
    Row("The target is the old file or the new one, whole",
        "every system call and thread start of a conversion fails once, for each N, and every allocation up to the 2,000th, then "
        "ever fewer, with an old target and without, with unnamed temporaries and named ones; of `eval` its reads and writes, and some allocations",
        "{~faults.calls-that-failed} calls, {~faults.calls-interrupted-or-cut-short} interrupted or cut short, "
        "{~faults.allocations-that-failed} allocations", "faults"),
    Row("… killed at any moment",
        "whatever writes files or folders, at each call that writes, names or syncs, and at random moments: by SIGKILL, and by SIGTERM, SIGINT, "
        "SIGHUP, SIGQUIT and SIGXCPU in turn, each of them where a file is synced or named; no temporary is left where a signal could be caught",
        "{~faults.kills-at-a-chosen-call} kills and {~faults.signals-at-a-chosen-call} signals at chosen calls, "
        "{~faults.kills-at-random-moments} and {~faults.signals-at-random-moments} at random; "
        "{~faults.runs-ended-before-there-was-a-new-target} before there was a new target, "
        "{~faults.runs-ended-with-the-new-target-in-place} when it was in place; "
        "{~faults.temporaries-of-killed-runs-removed-later} leftovers removed by a later run", "faults"),
    Row("… on a full disk, into a closed pipe",
        "a tmpfs of many sizes, a limit on file size, standard output closed, full or broken off at each write: exit "
        "status 6, the old target stands, and what a reader got of a stream is refused by it",
        "{~faults.disks-filled} disks, {~faults.outputs-broken-off-on-standard-output} streams", "faults"),
    Row("… with others about",
        "two and eight processes onto one target; OUT that is IN by name, link or `--in-place`; links, modes, owners",
        "{~faults.races-onto-one-target} races", "faults"),
    Row("… under load",
        "inspected, verified and converted: a sparse file, a dict of very many entries, very many tensors, in bounded memory; "
        "conversions at once, each equal to the last byte; conversions in a row in one process, with no growth of memory, "
        "descriptors or temporaries",
        "{load.sparse-gib} GiB, {load.entries} entries, {load.tensors} tensors, {load.at-once} at once, {load.in-a-row} in a row",
        "load"),
    Row("The program can do no more than it must",
        "each command, and a thread of those that read on several, tries from within to write elsewhere, change modes and owners, start programs, open "
        "sockets, signal and look into other processes, on Linux with Landlock and seccomp; without the sandbox each of these works "
        "([SECURITY.md](../SECURITY.md))",
        "{sandbox.ways} ways, {sandbox.commands} commands", "sandbox"),
    Row("What is built is hard to take over",
        "position-independent, relocations read-only before main(), stack protectors, checked functions and indexes, marked entries for "
        "jumps: read from the built programs and libraries",
        "{hardening.files} files", "hardening"),
    Row("An input that changes while it is read is an error",
        "shrunk, grown or overwritten at each read, bare and in gzip",
        "{~faults.inputs-changed-while-read} changes", "faults"),
    Row("No name in a file steers a terminal",
        "keys and file names with escape sequences, newlines, right-to-left marks and bytes that are no UTF-8, through "
        "every command that reads a checkpoint, on a terminal and into a pipe",
        "{~faults.outputs-searched-for-raw-names} outputs searched", "faults"),
    Row("A conversion can be proved",
        "`ckpt diff OLD NEW --ignore devices`, `ckpt digest`, `ckpt verify --digest`; before an output appears its "
        "directory, pickle and checksums are read back (but of standard output), with `--verify=full` every byte",
        "a byte altered on its way to the disk is found", "unit,cli,interop"),
    Row("Memory stays constant",
        "inspect, verify, digest, scan and convert (without writing) of a checkpoint of 1 GiB in every format, and every other operation but "
        "`eval` on one, on two cores; 40 MiB allowed",
        "{~memory.mib} MiB at most", "memory"),
    Row("The tests reach the code",
        "what those on the build with sanitizers execute of lib/ and formats/: unit, command line, formats, parts of interop and of the attacks",
        "{?coverage.lines} % of lines, {?coverage.branches} % of branches", "asan,coverage"),
    Row("It is fast",
        "beside `cp`, `igzip`, `gzip` and PyTorch on the same files in the same run",
        "[benchmarks.md](benchmarks.md)", "./dev bench"),
]

INTRO = """# Trust

People hand ckpt the only copy they have, and files from strangers. This page says what it promises, how each promise is
tested, and how much of it was tried in the last full run. Written by `tests/trust.py --write-page`; a run of `./dev test`
fails where it counted otherwise: by more than a twentieth where versions of libraries matter, by more than a factor of three where
the machine or chance does, which is rounded, after "about".

| promise | how it is tested | how much | again |
|---|---|---|---|
"""

OUTRO = """
## Where ckpt and a format's own library part

Damaged files are given to both (`./dev test --only interop`). Where both read one, both have read the same. Where only one
does, it is for one of these reasons; a reason that is not listed fails the test.

DIFFERENCES

## Fuzzing

`./dev fuzz --seconds N` runs a target for each reader, and for recover, scan, gzip around a file, the round trip and the
whole program, with address and undefined-behaviour sanitizers, 1.5 GiB and 100 s an input (10 s without sanitizers). A mutator keeps archives and pickles
whole and their checksums right, so that mutations get deep. Each target asserts more than that nothing crashes: what was
written reads back equal, exit statuses are those of the manual, only ckpt's own errors escape. `./dev test` runs each target
for a while, and replays what was ever found (`tests/bad/found`). `./dev fuzz --fast --log docs/fuzz.json --until-flat` goes
on until each target has had three million executions and is flat: in half an hour of a processor no more than one in a
thousand of the lines and branches of ckpt's own code that it reaches was new. It runs without sanitizers, begins with what the
other targets keep, too, and gives every input that reached something new to the build with them, which counts; what it has
grown, out of the files that unit tests, attacks and `interop` make too, is kept in `fuzz/corpus`, from which it goes on on
any machine. So far (docs/fuzz.json):

FUZZED

## ThreadSanitizer and Valgrind

Too slow for every run, they were run by hand, last in November 2026, and found nothing. `./dev test --preset tsan --only unit,cli`:
then 2,099 unit tests (all but those of caps, and of work that only a cap ends) and 342 cases of the command line, on every thread
that there is; the threads of evaluation are not among them, for libtorch is not compiled for it.
`tests/cli/run.py --valgrind`: 318 cases of the command line. RE2's sparse sets read, on purpose,
what nothing has written, and are passed over (`tests/cli/valgrind.supp`).

## GPUs

No GPU is needed for `./dev test`, which skips what only one can show. On an NVIDIA H200 (driver 580, PyTorch 2.11 for CUDA 13), last
in November 2026: all 119 unit tests of evaluation (`ckpt_eval_tests`); `tests/eval/run.py`, 1,155 results, with two skipped that are
for machines without one (a real MLP of the corpus was not at hand there); the kernels' tests under compute-sanitizer's memcheck, racecheck and initcheck, which found nothing. A start
of a thread that fails, each of the first ten and some later, ends with status 0 or 5, and with the reason.

## What is not promised

- A file of unknown classes is written through: whether *they* are safe to load, their authors know.
- A checksum finds damage, not malice. Whoever can change a file can change its checksums; `ckpt digest` of a copy that you
  trust finds that.
- An input that is rewritten within one tick of the file system's clock, with as many bytes, is not noticed in a format
  without checksums.
- SIGKILL may leave `.ckpt-PID-N.tmp`: a folder, of an output that is one; a file where a file system has no unnamed files,
  or in the instant before the rename;
  the next run that writes there once it is an hour old removes it and says so. Where an input is a pipe, it may leave
  `ckpt-XXXXXX` in the folder of temporary files, which that folder's owner tidies.
"""

FUZZED = {
    "pickle": "scanner, machine, emitter, and the graph that comes back",
    "torch_zip": "torch's zip files",
    "torch_legacy": "files before PyTorch 1.6",
    "torch_tar": "PyTorch 0.1's, and tar archives",
    "torchscript": "reader and writer",
    "plain_pickle": "arrays and files in bytes",
    "numpy": "npy and npz, reader and writer",
    "safetensors": "files, headers and indexes of shards",
    "dcp": "`.metadata`, and the writer",
    "gguf": "and the numbers of its blocks",
    "gzip": "at random against forward",
    "zip": "every member, by directory and byte",
    "png": "as it is, and with its checksums put right",
    "idx": "in parts against at once",
    "scan": "no less than what reading the same bytes finds",
    "compressed": "in gzip as bare",
    "recover": "what is whole is written, of a sound file all of it",
    "roundtrip": "torch's formats, safetensors and npz: written, read, the same",
    "program": "the commands that read and write files, and what they print",
}
FUZZ_LOG = ROOT / "docs" / "fuzz.json"

NAMES = re.compile(r"\{([~?]?)([\w.-]+)\}")


def about(count):
    """Two digits of it."""
    unit = 10 ** max(0, len(str(count)) - 2)
    return round(count / unit) * unit


def fuzzed():
    """The table of what ./dev fuzz --log has counted."""
    log = json.loads(FUZZ_LOG.read_text())
    lines = ["| target | executions | lines and branches | minutes with next to none new | new in them |", "|---|---|---|---|---|"]
    for target, what in FUZZED.items():
        sums = {"executions": 0, "reached": 0, "flat": [], **log.get(target, {})}
        seconds, new = (sum(column) for column in zip([0, 0], *sums["flat"]))
        counted = (f"{sums['reached']:,}", f"{seconds // 60:,}", f"{new:,}") if sums["reached"] else ("not yet counted", "", "")
        lines.append(f"| {target}: {what} | {sums['executions']:,} | {' | '.join(counted)} |")
    return "\n".join(lines)


def differences():
    """The table of tests/interop/differences.py."""
    lines = ["| read by | what, and why that is right |", "|---|---|"]
    for what, _, why in BY_DESIGN:
        lines.append(f"| ckpt, not PyTorch with `weights_only=True` | {what}: {why} |")
    for reader, shown in (("ckpt", "ckpt, not the library"), ("library", "the library, not ckpt")):
        for why in dict.fromkeys(difference.why for difference in OF_LIBRARIES if difference.reader == reader):
            lines.append(f"| {shown} | {why} |")
    return "\n".join(lines)


def outro():
    return OUTRO.replace("DIFFERENCES", differences()).replace("FUZZED", fuzzed())


def fill(text, figures):
    def shown(match):
        count = figures[match[2]]
        return f"about {about(count):,}" if match[1] == "~" else f"{count:,}"

    return NAMES.sub(shown, text)


def line(row, figures):
    command = row.command if row.command.startswith("./") else f"./dev test --only {row.command}"
    return f"| {row.promise} | {row.how} | {fill(row.figures, figures)} | `{command}` |"


def said(row, page):
    """The row's counts, by name, as the page has them; None where it has no such row."""
    pattern = re.escape(f"| {row.promise} | {row.how} | {row.figures} | ")
    names = NAMES.findall(row.figures)
    for rough, name in names:
        pattern = pattern.replace(re.escape(f"{{{rough}{name}}}"), r"(?:about )?([\d,]+)", 1)
    counts = re.search(f"^{pattern}", page, re.MULTILINE)
    return counts and {name: int(text.replace(",", "")) for (_, name), text in zip(names, counts.groups())}


def differs(row, figures, page):
    """What the page says of the row that is not so; None where all is."""
    if line(row, figures) in page.splitlines():
        return None
    counts = said(row, page)
    if counts is None:
        return f"has no row, or another: {row.promise} (mend with --write-page)"
    for rough, name in NAMES.findall(row.figures):
        count, told = figures[name], counts[name]
        least = {"": 1, "?": 0.95, "~": 1 / 3}[rough] * max(count, told)
        if min(count, told) < least:
            return f"says {told:,} {name}, and this run counted {count:,} (mend with --write-page)"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--figures", type=Path, default=ROOT / "build/release/figures.json", help="what the suites counted, as JSON")
    parser.add_argument("--whole", default="", help="suites of which nothing failed and nothing was skipped, with commas between")
    parser.add_argument("--write-page", action="store_true", help=f"write {PAGE.relative_to(ROOT)}; what no suite counted stays as it is there")
    options = parser.parse_args()
    figures = json.loads(options.figures.read_text())
    whole = options.whole.split(",")
    page = PAGE.read_text() if PAGE.exists() else ""
    if options.write_page:
        counts = {name: count for row in ROWS for name, count in (said(row, page) or {}).items()} | figures
        if missing := [name for row in ROWS for _, name in NAMES.findall(row.figures) if name not in counts]:
            sys.exit(f"neither a suite nor the page has counted {', '.join(missing)}")
        PAGE.write_text(page := INTRO + "".join(line(row, counts) + "\n" for row in ROWS) + outro())
    suite = harness.Suite()
    for row in ROWS:
        missing = [name for _, name in NAMES.findall(row.figures) if name not in figures]
        lost = [name for name in missing if name.split(".")[0] in whole]
        if missing and not lost:
            suite.skip(f"docs/trust.md, {row.promise}", f"not counted by this run: {', '.join(missing)}")
            continue
        problem = f"says {lost[0]}, which its suite no longer counts" if lost else differs(row, figures, page)
        suite.check(f"docs/trust.md {problem}", problem is None)
    suite.check("docs/trust.md tells of differences and of fuzzing otherwise than they are listed (mend with --write-page)",
                page.endswith(outro()))  # fmt: skip
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
