#!/usr/bin/env python3
"""The table of formats: every format with every operation, against the format's own library in both directions.

Writes docs/formats/README.md with --write-page; fails where that page and a run disagree. Every file that is unpickled
here was saved here.
"""

import difflib
import hashlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness  # noqa: E402

PAGE = harness.ROOT / "docs" / "formats" / "README.md"
PAGES = {"safetensors-index": "shards", "torch-index": "shards", "npy": "npz"}  # the others have one of their own
OPERATIONS = ("inspect", "verify", "digest", "diff", "to torch", "and back")
INTRO = """# Formats

What a file is, its content says, never its name. Each but a folder may be in [gzip](gzip.md), and so may each shard of an
index; one checkpoint may lie in a [tar](tar.md). [Modules](modules.md) are whole models that a pickle holds.

The table is made by `tests/formats/run.py`, which fails where it is wrong: a file or folder is saved by the format's own
library, and then ckpt's *inspect* (names, dtypes, shapes), *verify* (sound; and not once it is damaged), *digest* (each
tensor's SHA-256) and *diff* (none; and one number changed) must say what the library's loader gives. It is converted *to
torch* (a zip, loaded with `weights_only=True`) *and back*, where the library loads it, equal to the last bit. *Read only*:
nothing writes it any more, or should. *Stays one*: a model with its code, which `convert` moves to another device and nothing
else could be.

"""


def sha256(tensor):
    import torch

    data = tensor.detach().contiguous().flatten().view(torch.uint8) if tensor.dim() else tensor.reshape(1).view(torch.uint8)
    return hashlib.sha256(bytes(data.tolist())).hexdigest()


def described(tensors):
    return {name: (str(t.dtype).removeprefix("torch."), list(t.shape)) for name, t in tensors.items()}


def same(a, b):
    return described(a) == described(b) and all(sha256(a[n]) == sha256(b[n]) for n in a)


class Row:
    """One format, through all operations."""

    def __init__(self, suite, ckpt, library, folder):
        self.suite, self.ckpt, self.library, self.folder = suite, ckpt, library, folder
        self.cells = dict.fromkeys(OPERATIONS, "NO")

    def check(self, operation, what, good, detail):
        return self.suite.check(f"{self.library.name}: {operation}: {what}", good, detail)

    def cell(self, operation, method, *arguments):
        """One of the table: yes where nothing failed."""
        failed = self.suite.failed
        word = method(*arguments) or "yes"
        if self.suite.failed == failed:
            self.cells[operation] = word

    def saved(self, name, tensors):
        path = self.folder / (name + self.library.suffix)
        self.library.save(tensors, path)
        return path

    def run(self):
        tensors = self.library.tensors()
        source = self.saved("source", tensors)
        truth = self.library.load(source)
        self.suite.check(f"{self.library.name}: the library loads what it saved", same(truth, tensors))
        out = self.folder / "out.pt"
        self.cell("inspect", self.inspect, source, truth)
        self.cell("verify", self.verify, source)
        self.cell("digest", self.digest, source, truth)
        self.cell("diff", self.diff, source, tensors)
        self.cell("to torch", self.to_torch, source, truth, out)
        self.cell("and back", self.back, truth, source, out)

    def inspect(self, source, truth):
        done = self.ckpt("inspect", "--json", source)
        if done.code:
            return self.check("inspect", "exit 0", False, done)
        report = done.json
        self.check("inspect", "the format's name", report["format"] == self.library.name, report["format"])
        got = {t["name"]: (t["dtype"], t["shape"]) for t in report["tensors"]}
        self.check("inspect", "names, dtypes and shapes", got == described(truth), (got, described(truth)))

    def verify(self, source):
        done = self.ckpt("verify", source)
        self.check("verify", "sound", done.code == 0, done)
        spoilt = self.saved("spoilt", self.library.tensors())
        self.library.spoil(spoilt)
        done = self.ckpt("verify", spoilt)
        self.check("verify", "damaged", done.code in (1, 3), done)

    def digest(self, source, truth):
        done = self.ckpt("digest", "--json", source)
        got = done.json["tensors"] if done.code == 0 else None
        expected = {name: sha256(t) for name, t in truth.items()}
        self.check("digest", "of every tensor", got == expected, lambda: f"{done}\nexpected: {expected}")

    def diff(self, source, tensors):
        again = self.saved("again", {n: t.clone() for n, t in tensors.items()})
        self.check("diff", "none", (done := self.ckpt("diff", source, again)).code == 0, done)
        changed = {n: t.clone() for n, t in tensors.items()}
        name = "fc1.weight" if "fc1.weight" in changed else ""
        changed[name][1, 2] += 1
        done = self.ckpt("diff", source, self.saved("changed", changed))
        self.check("diff", "one number", done.code == 1 and (name or "differ") in done.text, done)

    def to_torch(self, source, truth, out):
        import torch

        done = self.ckpt("convert", source, out, "--format", "torch", *self.library.convert_options)
        if not self.check("to torch", "exit 0", done.code == 0, done):
            return
        loaded = torch.load(out, weights_only=True)
        loaded = {"": loaded} if isinstance(loaded, torch.Tensor) else loaded
        self.check("to torch", "what torch loads", same(loaded, truth), lambda: f"{described(loaded)}\n{described(truth)}")

    def back(self, truth, source, out):
        path = self.folder / ("back" + self.library.suffix)
        if self.library.kept:
            done = self.ckpt("convert", source, path, "--to", "cpu")
            if self.check("and back", "exit 0", done.code == 0, done):
                self.check("and back", "what the library loads", same(self.library.load(path), truth), done)
            return "stays one"
        done = self.ckpt("convert", out, path, "--format", self.library.name)
        if not self.library.written:
            refused = done.code in (2, 3) and not path.exists()
            self.check("and back", "refused", refused, done)
            return "read only"
        if self.check("and back", "exit 0", done.code == 0, done):
            got = self.library.load(path)
            self.check("and back", "what the library loads", same(got, truth), lambda: f"{described(got)}")


def linked(name):
    return f"[`{name}`]({PAGES.get(name, name)}.md)"


def page(rows):
    head = ("format", "its library", *OPERATIONS)
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for library, cells in rows:
        lines.append("| " + " | ".join([linked(library.name), library.library, *cells.values()]) + " |")
    return INTRO + "\n".join(lines) + "\n"


def main():
    p = harness.parser(__doc__.split("\n")[0])
    p.add_argument("--write-page", action="store_true", help=f"write {PAGE.relative_to(harness.ROOT)}")
    p.add_argument("formats", nargs="*", help="formats to try (all)")
    options = harness.parse(p)
    suite = harness.Suite()
    try:
        import torch

        import libraries
    except ImportError as error:
        suite.skip("formats", f"no PyTorch here ({error}); pip install -r tests/requirements.txt")
        return suite.finish()
    torch.set_num_threads(1)
    ckpt = harness.Ckpt(options.ckpt)
    known = {f["name"]: f for f in ckpt("formats", "--json").json["formats"]}
    suite.equal("every format has a row", {x.name for x in libraries.ALL}, set(known))
    written = {name for name, f in known.items() if f["writes"]}
    suite.equal("what is written", {x.name for x in libraries.ALL if x.written or x.kept}, written)
    rows = []
    for library in libraries.ALL:
        if options.formats and library.name not in options.formats:
            continue
        with harness.temporary_folder() as folder, suite.group(library.name):
            row = Row(suite, ckpt, library, folder)
            rows.append((library, row.cells))
            row.run()
    suite.figure("formats.read", len(rows))
    if options.write_page:
        PAGE.write_text(page(rows))
    elif not options.formats:
        old = PAGE.read_text() if PAGE.exists() else ""
        changed = difflib.unified_diff(old.split("\n"), page(rows).split("\n"), "committed", "this run", lineterm="", n=0)
        suite.check("docs/formats/README.md says what this run found (mend with --write-page)", old == page(rows),
                    lambda: "\n".join(changed))
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
