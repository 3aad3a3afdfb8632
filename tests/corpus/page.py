"""docs/corpus.md: what the corpus holds, and what of it ckpt reads, keeps and refuses."""

from collections import Counter, defaultdict

INTRO = """# The corpus

Written by `tests/corpus/run.py --write-page`; the test fails where this page and a run disagree.

The corpus holds checkpoints that nobody of this project wrote, from public repositories (2017 to 2026), and
others made with PyTorch 1.13.1, 2.0.1 and 2.11.0 for what those lack (every dtype, sparse, quantised, big-endian, gzip
variants …). Of each, a file beside them says what PyTorch itself sees: each tensor's name, shape, dtype, stride,
offset, device and storage, and the SHA-256 of its bytes. It is other people's, and neither in the repository nor published: tests look for it in
`../shared/corpus`, beside the clone (`tests/corpus/run.py --corpus FOLDER` names another), and are skipped without it. There
`good/`, `made/` and `malicious/` hold the files, and `truth.json` what is in each (`tests/corpus/truth.py` reads it).

*Read*: `ckpt inspect` takes it. *Equal*: `verify` finds no fault; inspect and digest say what PyTorch says, to the last
bit; and after `convert --to cpu`, `convert` without options (where its format is written), and `convert --format` to
another, the file reads back with the same tensors and digests; between torch's own two formats with the same globals and
state dicts too, the device alone having changed where that was asked.
*Needs --allow-unsafe*: read and equal, but written only where the user says so. *Refused*: by content, with a message
that names what it is.
"""


def escape(text):
    return text.replace("|", "\\|").replace("<", "\\<")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(c) for c in row) + " |" for row in rows]
    return "\n".join(lines)


def page(outcomes, hostile):
    return "\n".join([INTRO, formats(outcomes), refused(outcomes), verdicts(outcomes), malicious(hostile)])


def formats(outcomes):
    groups = defaultdict(list)
    for o in outcomes:
        groups[o.group].append(o)
    order = sorted(groups, key=lambda g: (not groups[g][0].row.format, -len(groups[g]), g))
    rows = []
    for name in order:
        of = groups[name]
        unsafe = sum(any(what == "write" for what, _ in o.refused) for o in of)
        not_read = [o for o in of if not o.read]
        rows.append(
            (name, len(of), sum(o.read for o in of), sum(o.equal for o in of), unsafe or "", len(not_read) or "")
        )
    readable = [o for o in outcomes if o.row.format]
    rows.append(
        (
            "**of formats ckpt reads**",
            len(readable),
            sum(o.read for o in readable),
            sum(o.equal for o in readable),
            "",
            "",
        )
    )
    head = ("content", "files", "read", "equal", "needs --allow-unsafe", "refused")
    tensors = sum(len(o.row.tensors) for o in readable)
    return f"## By content\n\n{table(head, rows)}\n\nTensors compared in files that are read: {tensors}.\n"


def refused(outcomes):
    parts = ["## Refused, and why\n"]
    for what, title in (
        ("write", "Read, but written with `--allow-unsafe` only"),
        ("torch-legacy", "Read, but the legacy format has no words for it"),
        ("read", "Not read"),
    ):
        rows = [(f"`{o.row.name}`", o.group, escape(why)) for o in outcomes for w, why in o.refused if w == what]
        if rows:
            parts += [
                f"### {title}\n",
                table(("file", "content", "the message"), sorted(rows, key=lambda r: (r[1], r[0]))),
                "",
            ]
    return "\n".join(parts)


def verdicts(outcomes):
    count, verdict = Counter(), {}
    for o in outcomes:
        for name, v in o.verdicts.items():
            count[name] += 1
            verdict[name] = v
    rows = [
        (f"`{name}`", verdict[name], count[name])
        for name in sorted(count, key=lambda n: (("dangerous", "unknown", "known").index(verdict[n]), -count[n], n))
    ]
    return "## Globals, by verdict\n\n" + table(("name", "verdict", "files"), rows) + "\n"


def malicious(hostile):
    count = Counter((row.row["verdict"], what) for row, what, _, _ in hostile)
    rows = [(verdict, what, n) for (verdict, what), n in sorted(count.items())]
    parts = [
        "## Hostile files\n",
        "Files of scanners' test suites, their benign controls among them. Each is read in under 20 s and 2 GiB "
        "of address space, none is executed, and none that is unsafe for a name of the standard library or of torch "
        "is written.\n",
        table(("the corpus says", "convert", "files"), rows),
        "",
    ]
    rows = [(f"`{row.name}`", ", ".join(f"`{n}`" for n in dangerous)) for row, _, _, dangerous in hostile if dangerous]
    if rows:
        parts += [
            "Of these, in a container that ckpt reads, and refused for a dangerous name:\n",
            table(("file", "dangerous"), sorted(rows)),
            "",
        ]
    return "\n".join(parts)
