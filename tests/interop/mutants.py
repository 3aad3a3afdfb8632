"""Thousands of damaged checkpoints: where PyTorch and ckpt both read one, both have read the same.

Where only one of them reads, the reason is counted, and must be one of those listed here. A reason that nobody has
looked at yet fails the test.
"""

import collections
import json
import re
from concurrent.futures import ThreadPoolExecutor

import torch_worker
from mutating import Mutator

SEED = 20240229
COUNT = 6000
BATCH = 250

# What PyTorch reads and ckpt refuses: words of ckpt, and why it does.
ARCHIVE = "an archive that contradicts itself: PyTorch looks at the directory alone"
STRANGE_ID = "an id that no torch.save writes: with map_location PyTorch does not look"
ONLY_TORCH = {
    r"the bytes have CRC-32": "PyTorch compares no CRC",
    r"in the local header of|no local header|member '.*' (has flags|lies on disk|overlaps)": ARCHIVE,
    r"after the last record|reaches (into the directory|past the end of the file)|a directory (record )?of": ARCHIVE,
    r"before the first member|the end record|equal but for case|extra field": ARCHIVE,
    r"is (encrypted|compressed by method)": ARCHIVE,
    r"is a (symbolic link|device, pipe or socket|folder of)": "a member that is no file: PyTorch does not look",
    r"the archive has no member '.*version'": "an archive without the version that torch.save writes",
    r"which the list of keys lacks": "a legacy storage that the file does not hold: PyTorch leaves its memory unset",
    r"the file counts \d+ elements": "a legacy storage of another size than the pickle says: PyTorch takes either",
    r"list of keys names storage|by the list of storage keys": "a list of storage keys that is not the object's",
    r"reaches element \d+": "a tensor past its storage: PyTorch shows what stands in memory there",
    r"named once as": "one storage under two dtypes or sizes: PyTorch takes the first",
    r"location that is no string|storage class that is no name|a key that is no string": STRANGE_ID,
    r"storage class '|persistent id": STRANGE_ID,
    r"pickle protocol \d+, expected 0 to 5": "a protocol that does not exist: PyTorch does not look",
    r"member 'byteorder' says": "a byte order that does not exist",
    r"bytes, expected \d+, as the pickle says": "a storage longer than the pickle says: PyTorch ignores the rest",
    r"is called with|is given arguments that are no tuple": "arguments that torch.save never writes",
    r"sys_info is no dict": "a legacy file without its sys_info",
    r"FRAME of": "a frame that ends behind the pickle",
    r"stands for \d+ bytes": "a view that stands for far more bytes than there are: a cap of digest",
}
# What ckpt reads and PyTorch refuses: words of PyTorch, and why it does.
NOT_TAKEN = "a name or an opcode that weights_only does not take: ckpt shows it and runs nothing"
CALL = "a call that fails in Python: ckpt calls nothing"
ONLY_CKPT = {
    r"Unsupported (global|class|operand)|Trying to call reduce|persistent_load|not in the allowlist": NOT_TAKEN,
    r"Can only (SETITEMS?|append|build|extend|create)": NOT_TAKEN,
    r"positional argument|arguments? .*given|combination of arguments|expected at most": CALL,
    r"takes (no|exactly)|missing \d+|not callable|not a type object|(not enough|too many) values": CALL,
    r"object is not|no attribute|out of range|unhashable": CALL,
    r"unknown encoding|codec|must be|cannot be interpreted|not (subscriptable|iterable)|an integer is required": CALL,
    r"unexpected keyword|has wrong type|dictionary update|not supported between|can require gradients": CALL,
    r"AssertionError: expected dict, got": CALL,
    r"device type|Expected one of|Invalid device|don't know how to restore": "a device that this machine has not",
}


def general(message):
    """A message without what is particular to one file."""
    message = re.sub(r"^/\S+: |'[^']*'|\"[^\"]*\"", "'…'", message)
    message = re.sub(r"CRC-32 [0-9a-f]+, expected [0-9a-f]+", "CRC-32 N, expected N", message)
    return re.sub(r"\d+", "N", message)[:160]


def inspected(ckpt, paths):
    """By path: the JSON of `inspect`, or the line in which it refuses."""
    done = ckpt("inspect", "--json", *paths, timeout=300)
    found = {shown["file"]: shown for shown in map(json.loads, done.out.splitlines())}
    for line in done.err.splitlines():
        match = re.match(r"ckpt: (/[^:]*): (.*)", line)
        if match and not line.startswith("ckpt: warning") and match[1] not in found:
            found[match[1]] = match[2]
    return [found.get(str(path), f"died: {done.code}") for path in paths]


def digests(ckpt, path):
    done = ckpt("digest", "--json", path)
    return done.json["tensors"] if done.code == 0 else done.err.partition(": ")[2].partition("\n")[0]


def name_of(row):
    return row["name"].encode("utf-8", "backslashreplace").decode()


def unlike(theirs, ours, hashes):
    """Where the two readings part; None where they do not."""
    ours = {name_of(row): row for row in ours}
    theirs = {name_of(row): row for row in theirs}
    if list(theirs) != list(ours):
        return f"names: PyTorch {list(theirs)[:20]}, ckpt {list(ours)[:20]}"
    for name, row in theirs.items():
        for field in ("dtype", "layout", "shape", "stride", "offset"):
            if field in row and row[field] != ours[name][field]:
                return f"{name}, {field}: PyTorch {row[field]}, ckpt {ours[name][field]}"
        if "sha256" in row and name in hashes and hashes[name] != row["sha256"]:
            return f"{name}: other bytes"
    return None


class Tally:
    def __init__(self, suite):
        self.suite = suite
        self.counts = collections.Counter()
        self.reasons = collections.Counter()
        self.first = {}

    def one_sided(self, kind, known, message, path):
        self.counts[kind] += 1
        reason = next((why for words, why in known.items() if re.search(words, message)), None)
        self.reasons[kind, reason or general(message)] += 1
        if reason is None:
            self.first.setdefault((kind, general(message)), f"{path.name}: {message}")

    def compare(self, ckpt, path, theirs, ours):
        read = isinstance(ours, dict)
        if "died" in theirs or "skipped" in theirs:
            self.counts["PyTorch " + theirs.get("died", "") + theirs.get("skipped", "")] += 1
        elif "refused" in theirs:
            # What inspect lists without the tensors' bytes may still be refused when they are read.
            if read and not isinstance(digests(ckpt, path), str):
                self.one_sided("only ckpt reads", ONLY_CKPT, theirs["refused"], path)
            else:
                self.counts["both refuse"] += 1
        elif not read:
            self.one_sided("only PyTorch reads", ONLY_TORCH, ours, path)
        else:
            hashes = digests(ckpt, path)
            if isinstance(hashes, str):
                return self.one_sided("only PyTorch reads", ONLY_TORCH, hashes, path)
            self.counts["both read"] += 1
            problem = unlike(theirs["tensors"], ours["tensors"], hashes)
            self.suite.check(f"{path.name}: both read the same", problem is None, problem)


def differential(checks):
    """Mutants of real checkpoints, read by both."""
    mutator = Mutator(SEED)
    paths = []
    for number in range(COUNT):
        path = checks.folder / f"{number:05}.pt"
        path.write_bytes(mutator.mutant())
        paths.append(path)
    batches = [paths[i : i + BATCH] for i in range(0, COUNT, BATCH)]
    theirs = torch_worker.load_all(paths)
    ours = [row for batch in batches for row in inspected(checks.ckpt, batch)]
    tally = Tally(checks.suite)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda row: tally.compare(checks.ckpt, *row), zip(paths, theirs, ours)))
    for text in ours:
        checks.suite.check("ckpt ends by itself", not (isinstance(text, str) and text.startswith("died")), text)
    checks.suite.figure("mutants.all", COUNT)
    checks.suite.figure("mutants.both", tally.counts["both read"])
    print(f"{COUNT} mutants: " + ", ".join(f"{n} {what}" for what, n in tally.counts.most_common()))
    for (kind, reason), n in tally.reasons.most_common():
        print(f"  {n:5} {kind}: {reason}")
    for (kind, reason), example in tally.first.items():
        checks.suite.fail(f"a reason that nobody has looked at: {kind}: {reason}", example)


GROUPS = [differential]
