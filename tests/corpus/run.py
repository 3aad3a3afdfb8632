#!/usr/bin/env python3
"""Every file of the shared corpus against what PyTorch says of it, and what scan says of it; writes docs/corpus.md,
docs/scan.md and README.md's figure with --write-page.

Files of malicious/ are given to ckpt alone: nothing here unpickles anything.
"""

import difflib
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import files  # noqa: E402
import harness  # noqa: E402
import page  # noqa: E402
import scan  # noqa: E402
import truth  # noqa: E402

PAGE = harness.ROOT / "docs" / "corpus.md"
SCAN_PAGE = harness.ROOT / "docs" / "scan.md"
README = harness.ROOT / "README.md"
FIGURE = re.compile(r"Of \d+ files, from public repositories or made with PyTorch 1.13 to 2.11, \d+ are not read")
WORKERS = 2


def compare(suite, path, text):
    old = path.read_text() if path.exists() else ""
    changed = difflib.unified_diff(old.split("\n"), text.split("\n"), "committed", "this run", lineterm="", n=0)
    name = path.relative_to(harness.ROOT)
    good = f"{name} says what this run found (mend with --write-page)"
    suite.check(good, old == text, lambda: "\n".join(list(changed)[:40]))


def main():
    p = harness.parser(__doc__.split("\n")[0])
    p.add_argument("--corpus", type=Path, default=harness.ROOT.parent / "shared" / "corpus")
    p.add_argument("--write-page", action="store_true", help="write docs/corpus.md and docs/scan.md")
    p.add_argument("--memory", type=int, default=2, metavar="GIB", help="address space of ckpt; 0: no limit (2)")
    p.add_argument("--only", metavar="TEXT", help="files whose name contains it; leaves the page alone")
    options = harness.parse(p)
    suite = harness.Suite()
    if not (options.corpus / "truth.json").exists():
        suite.skip("corpus", f"no shared corpus at {options.corpus}")
        return suite.finish()
    ckpt = harness.Ckpt(options.ckpt, memory=options.memory * harness.GIB or None)
    ours, hostile = truth.load(options.corpus)
    if options.only:
        ours = [r for r in ours if options.only in r.name]
        hostile = [r for r in hostile if options.only in r.name]
    outcomes, ends = [], []
    with harness.temporary_folder() as top, ThreadPoolExecutor(WORKERS) as pool:
        for kind in sorted({r.kind for r in ours}, key=lambda k: (":" in k, k)):
            with suite.group(f"{kind}"):
                rows = [r for r in ours if r.kind == kind]
                suite.check(f"{kind}: a format this test knows", all(r.known_kind for r in rows))
                tests = [files.FileTest(suite, ckpt, r, top / r.name.replace("/", "_")) for r in rows]
                outcomes += pool.map(files.FileTest.run, tests)
        with suite.group("malicious"):
            tests = [files.HostileTest(suite, ckpt, r, top / r.name.replace("/", "_")) for r in hostile]
            ends += [(t.row, *end) for t, end in zip(tests, pool.map(files.HostileTest.run, tests))]
    with suite.group("scan"):
        scanned = scan.run(suite, ckpt, ours, hostile)
    readable = [o for o in outcomes if o.row.format]
    suite.figure("corpus.files", sum(o.equal for o in readable))
    suite.figure("corpus.tensors", sum(len(o.row.tensors) for o in readable))
    suite.figure("corpus.hostile", len(ends))
    if not options.only:
        text = page.page(outcomes, ends)
        unread = (
            f"Of {len(outcomes)} files, from public repositories or made with PyTorch 1.13 to 2.11, "
            f"{sum(not o.read for o in outcomes)} are not read"
        )
        if options.write_page:
            PAGE.write_text(text)
            SCAN_PAGE.write_text(scanned)
            README.write_text(FIGURE.sub(unread, README.read_text()))
        else:
            with suite.group("page"):
                suite.check(f"README.md says: {unread}", unread in README.read_text())
                compare(suite, PAGE, text)
                compare(suite, SCAN_PAGE, scanned)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
