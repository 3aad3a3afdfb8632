"""docs/scan.md: what `ckpt scan` says of the corpus, beside what the corpus says of itself. Nothing is unpickled."""

import json
from collections import Counter, defaultdict

from page import escape, table

INTRO = """# What scan says of the corpus

Written by `tests/corpus/run.py --write-page`; the test fails where this page and a run disagree.

The files come from the test suites of other scanners, with what their authors say of them: *unsafe*, a *benign control*,
*malformed*. `ckpt scan` is held to this: nothing unsafe is called safe, no benign control is called dangerous, and each name
that the corpus lists is found. Where its verdict is another than the corpus's word for it, the reason stands below.

What each verdict means, and how a file is judged, is in [cli.md](cli.md#scan).
"""
AGREES = {"unsafe": "dangerous", "benign-control": "safe", "malformed-or-not-a-checkpoint": "unreadable"}
OTHERWISE = {
    "modelaudit__sklearn_logistic.pkl": "a class of scikit-learn alone: a third party's name, shown, and for the user to judge",
    "modelaudit__model_archive.tar": "a tar that holds no pickle and no array: there is nothing in it to judge",
    "modelaudit__safe_model.zip": "a zip that holds no pickle and no array: there is nothing in it to judge",
    "modelaudit__safe_zip.zip": "a zip that holds no pickle and no array: there is nothing in it to judge",
}
# Names that the corpus lists and scan does not, though the file is dangerous for others.
NOT_NAMED = {
    "__builtin__.dict": "known: it makes a dictionary",
    "torch.FloatTensor": "known: it makes a tensor",
    "torch.LongTensor": "known: it makes a tensor",
    "os.os": "never imported: the pickle breaks off before, in Python too",
    'echo "type-confusion-exploit".os': "never imported: the pickle breaks off before, in Python too",
}
# Real files that policy calls dangerous, and for what.
DANGEROUS = {
    "good/Super_RT__model_initial.pth": {
        "__builtin__.getattr", "__builtin__.type", "_operator.getitem", "inspect._empty", "typing.OrderedDict", "typing.Union",
    }
}
VERDICTS = ("safe", "unknown", "unreadable", "dangerous")


def scan_all(ckpt, rows):
    """The result of each file, by its row; one process for all."""
    done = ckpt("scan", "--json", *[row.path for row in rows], timeout=600)
    results = [json.loads(line) for line in done.out.splitlines()]
    return dict(zip(rows, results)) if len(results) == len(rows) else {}


def names(result):
    return {finding["name"] for finding in result["findings"]}


def judge_hostile(suite, row, result):
    expected, got = row.row["verdict"], result["verdict"]
    title = row.name.split("/")[-1]
    what = lambda: json.dumps(result)[:2000]  # noqa: E731
    suite.check(f"{title}: {got}, and the corpus says {expected}", got == AGREES[expected] or title in OTHERWISE, what)
    if expected == "unsafe":
        suite.check(f"{title}: is not called safe", got in ("dangerous", "unknown"), what)
    if expected == "benign-control":
        suite.check(f"{title}: is not called dangerous", got != "dangerous", what)
    missing = set(row.row["disallowed_globals"]) - names(result) - set(NOT_NAMED)
    suite.check(f"{title}: each name is found", not missing, lambda: f"missing {sorted(missing)}\n{what()}")
    placed = all(isinstance(f["offset"], int) and (f["how"] or f["where"]) for f in result["findings"])
    suite.check(f"{title}: each has a place", placed, what)


def judge_ours(suite, row, result):
    what = lambda: json.dumps(result)[:2000]  # noqa: E731
    dangerous = {f["name"] for f in result["findings"] if f["verdict"] == "dangerous"}
    expected = DANGEROUS.get(row.name, set())
    suite.check(f"{row.name}: dangerous for nothing that is not listed here", dangerous <= expected, what)
    if row.name in DANGEROUS:
        suite.check(f"{row.name}: dangerous", bool(dangerous), what)
    listed = set(row.row.get("globals") or [])
    suite.check(f"{row.name}: sees all {len(listed)} names", result["known"] + len(names(result)) >= len(listed), what)


def hostile_table(results):
    count = defaultdict(Counter)
    for row, result in results.items():
        count[row.row["source"]["repo"], row.row["verdict"]][result["verdict"]] += 1
    rows = [(f"{repo}", verdict, sum(of.values()), *(of[v] or "" for v in VERDICTS)) for (repo, verdict), of in sorted(count.items())]
    total = Counter(result["verdict"] for result in results.values())
    rows.append(("**all**", "", sum(total.values()), *(total[v] or "" for v in VERDICTS)))
    return table(("source", "the corpus says", "files", *VERDICTS), rows)


def differences(results):
    rows = [(f"`{row.name.split('/')[-1]}`", row.row["verdict"], result["verdict"], OTHERWISE.get(row.name.split("/")[-1], "?"))
            for row, result in results.items() if result["verdict"] != AGREES[row.row["verdict"]]]
    return table(("file", "the corpus says", "scan says", "because"), sorted(rows))


def unnamed(results):
    rows = [(f"`{row.name.split('/')[-1]}`", f"`{escape(name)}`", NOT_NAMED[name])
            for row, result in results.items() for name in set(row.row["disallowed_globals"]) - names(result)]
    return table(("file", "name", "because"), sorted(rows))


def ours_table(results):
    count = defaultdict(Counter)
    for row, result in results.items():
        count[row.name.split("/")[0], row.kind][result["verdict"]] += 1
    rows = [(folder, kind, sum(of.values()), *(of[v] or "" for v in VERDICTS)) for (folder, kind), of in sorted(count.items())]
    return table(("folder", "content", "files", *VERDICTS), rows)


def others(results):
    """What makes real files unknown or dangerous, by the package that a name belongs to."""
    files = defaultdict(set)
    for row, result in results.items():
        for finding in result["findings"]:
            files[finding["verdict"], finding["name"].split(".")[0]].add(row.name)
    rows = [(verdict, f"`{package}`", len(of)) for (verdict, package), of in sorted(files.items(), key=lambda i: (i[0][0], -len(i[1]), i[0][1]))]
    return table(("verdict", "names of", "files"), rows)


def dangerous(results):
    rows = [(f"`{row.name.split('/')[-1]}`", f"`{f['name']}`", "called" if f["called"] else "imported", f["how"])
            for row, result in results.items() for f in result["findings"] if f["verdict"] == "dangerous"]
    return table(("file", "name", "", "by"), rows)


def page(hostile, ours):
    return "\n".join([
        INTRO, "## Hostile files and their controls\n", hostile_table(hostile), "\n### Judged otherwise\n", differences(hostile),
        "\n### Names that the corpus lists and scan does not\n", unnamed(hostile),
        "\n## Real files\n\nCheckpoints that nobody here wrote (`good`), and made with PyTorch (`made`). *Unreadable* are those that are no checkpoint or "
        "damaged.\n", ours_table(ours), "\n### What is not known in them\n\n`__torch__` are the classes of TorchScript files: their code is the archive's own.\n",
        others(ours), "\nDangerous:\n", dangerous(ours), "",
    ])


def run(suite, ckpt, ours, hostile):
    """Judges every file; the text of the page."""
    judged, real = scan_all(ckpt, hostile), scan_all(ckpt, ours)
    suite.check("every file has a result", len(judged) == len(hostile) and len(real) == len(ours))
    for row, result in judged.items():
        judge_hostile(suite, row, result)
    for row, result in real.items():
        judge_ours(suite, row, result)
    suite.figure("corpus.scanned", len(judged) + len(real))
    return page(judged, real)
