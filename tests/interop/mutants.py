"""Thousands of damaged checkpoints: where PyTorch and ckpt both read one, both have read the same.

Where only one of them reads, the reason is counted, and must be one of those that differences.py lists. A reason that
nobody has looked at yet fails the test.
"""

import collections
import json
import re
from concurrent.futures import ThreadPoolExecutor

import differences
import torch_worker
from mutating import Mutator

SEED = 20240229
COUNT = 6000
BATCH = 250
SOME = 20


def general(message):
    """A message without what is particular to one file."""
    message = re.sub(r"^/\S+: |'[^']*'|\"[^\"]*\"", "'…'", message)
    message = re.sub(r"CRC-32 [0-9a-f]+, expected [0-9a-f]+", "CRC-32 N, expected N", message)
    return re.sub(r"\d+", "N", message)[:160]


def inspected(ckpt, paths):
    """By path: the JSON of `inspect`, or the line in which it refuses."""
    found = {}
    for first in range(0, len(paths), BATCH):
        batch = paths[first : first + BATCH]
        done = ckpt("inspect", "--json", *batch, timeout=300)
        found |= {shown["file"]: shown for shown in map(json.loads, done.out.splitlines())}
        refused = [line for line in done.err.splitlines() if not line.startswith(("ckpt: warning", "hint: "))]
        for path in batch:  # a folder's refusal may name a file in it
            of_it = (line for line in refused if line.startswith((f"ckpt: {path}:", f"ckpt: {path}/")))
            if str(path) not in found:
                found[str(path)] = next(of_it, f"ckpt: {path}: died: {done.code}").split(": ", 2)[2]
    return [found[str(path)] for path in paths]


def digests(ckpt, path):
    done = ckpt("digest", "--json", path)
    return done.json["tensors"] if done.code == 0 else done.err.partition(": ")[2].partition("\n")[0]


def name_of(row):
    return row["name"].encode("utf-8", "backslashreplace").decode()


def unlike(theirs, ours, hashes, ordered=True):
    """Where the two readings part; None where they do not."""
    ours = {name_of(row): row for row in ours}
    theirs = {name_of(row): row for row in theirs}
    order = list if ordered else sorted
    if order(theirs) != order(ours):
        return f"names: PyTorch {list(theirs)[:20]}, ckpt {list(ours)[:20]}"
    for name, row in theirs.items():
        for field in ("dtype", "layout", "shape", "stride", "offset"):
            if field == "stride" and 0 in row["shape"]:
                continue  # of nothing, strides are anybody's
            if field in row and row[field] != ours[name][field]:
                return f"{name}, {field}: PyTorch {row[field]}, ckpt {ours[name][field]}"
        if "sha256" in row and hashes.get(name) != row["sha256"]:
            return f"{name}: other bytes"
    return None


class Tally:
    """Counts who reads what; `known` has the reasons why one of the two may refuse, `peer` is the other one's name."""

    def __init__(self, suite, known, peer, ordered=True, lists_more=False):
        """`lists_more`: ckpt names tensors that the other does not, such as plain attributes of a TorchScript module."""
        self.suite, self.known, self.peer, self.ordered, self.lists_more = suite, known, peer, ordered, lists_more
        self.counts = collections.Counter()
        self.reasons = collections.Counter()
        self.first = {}

    def one_sided(self, reader, message, path):
        kind = f"only {'ckpt' if reader == 'ckpt' else self.peer} reads"
        self.counts[kind] += 1
        reason = next((known.why for known in self.known if known.reader == reader and re.search(known.words, message)), None)
        self.reasons[kind, reason or general(message)] += 1
        if reason is None:
            self.first.setdefault((kind, general(message)), f"{path.name}: {message}")

    def compare(self, ckpt, path, theirs, ours):
        read = isinstance(ours, dict)
        if "died" in theirs or "skipped" in theirs:
            self.counts[f"{self.peer} " + theirs.get("died", "") + theirs.get("skipped", "")] += 1
        elif "refused" in theirs:
            # What inspect lists without the tensors' bytes may still be refused when they are read.
            if read and not isinstance(digests(ckpt, path), str):
                self.one_sided("ckpt", theirs["refused"], path)
            else:
                self.counts["both refuse"] += 1
        elif not read:
            self.one_sided("library", ours, path)
        else:
            hashes = digests(ckpt, path)
            if isinstance(hashes, str):
                return self.one_sided("library", hashes, path)
            self.counts["both read"] += 1
            listed = {row["name"] for row in theirs["tensors"]}
            ours = [row for row in ours["tensors"] if not self.lists_more or name_of(row) in listed]
            problem = unlike(theirs["tensors"], ours, hashes, self.ordered)
            self.suite.check(f"{path.name}: both read the same", problem is None, problem)
        self.suite.check(f"{path.name}: ckpt ends by itself", read or not ours.startswith("died"), ours)

    def report(self, what, count):
        self.suite.check(f"{what}: one mutant in {SOME} is read by both", self.counts["both read"] * SOME >= count, self.counts)
        print(f"{count} mutants of {what}: " + ", ".join(f"{n} {what}" for what, n in self.counts.most_common()))
        for (kind, reason), n in self.reasons.most_common():
            print(f"  {n:5} {kind}: {reason}")
        for (kind, reason), example in self.first.items():
            self.suite.fail(f"a reason that nobody has looked at: {kind}: {reason}", example)


def differential(checks):
    """Mutants of what PyTorch saved, read by both."""
    mutator = Mutator(SEED)
    paths = []
    for number in range(COUNT):
        path = checks.folder / f"{number:05}.pt"
        path.write_bytes(mutator.mutant())
        paths.append(path)
    theirs = torch_worker.load_all(paths)
    ours = inspected(checks.ckpt, paths)
    tally = Tally(checks.suite, differences.OF_TORCH, "PyTorch")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda row: tally.compare(checks.ckpt, *row), zip(paths, theirs, ours)))
    checks.suite.figure("interop.mutants", COUNT)
    checks.suite.figure("interop.read-by-both", tally.counts["both read"])
    tally.report("torch's files", COUNT)


GROUPS = [differential]
