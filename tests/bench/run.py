#!/usr/bin/env python3
"""Do the benchmarks measure what they say? Nothing here asks how fast anything is.

    tests/bench/run.py --build build/release      (with a Python that has torch, which makes the files)

Ends with `N passed, N failed`.
"""

import argparse
import json
import math
import shlex
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]
import checks  # noqa: E402
import compare  # noqa: E402
import harness  # noqa: E402
import losses  # noqa: E402
import marks  # noqa: E402
import page  # noqa: E402
import plots  # noqa: E402
import reasons  # noqa: E402
import row as one_row  # noqa: E402
import rows  # noqa: E402
import runner  # noqa: E402
import store  # noqa: E402
from files import File  # noqa: E402


# Two at a time: torch takes seconds to start, and nobody looks at the figures.
HALVES = ("^(memory-|gzip|eval)", "^(?!memory-|gzip|eval)")


def bench(build, *options):
    command = [sys.executable, ROOT / "bench/run.py", "--build", build, "--quick", *options]
    return subprocess.run(command, capture_output=True, text=True)


def everything_runs(suite, build, folder):
    """All rows on tiny files, peers too, each command once."""
    reports = [folder / f"{i}.json" for i in range(len(HALVES))]

    def half(i):
        return bench(build, "--rounds=1", "--rows", HALVES[i], "--json", reports[i])

    with ThreadPoolExecutor() as both:
        for done in both.map(half, range(len(HALVES))):
            if not suite.equal("bench --quick ends well", done.returncode, 0, done.stderr):
                return
    found = [json.loads(report.read_text()) for report in reports]
    table = {row.name: row for row in rows.table()}
    suite.equal("names are unlike", len(table), len(rows.table()))
    measured = {row["name"]: row for report in found for row in report["rows"]}
    suite.equal("all rows are there", measured.keys(), table.keys())
    results = [result for row in measured.values() for result in row["commands"]]
    for name in sorted({result["missing"] for result in results if "missing" in result}):
        suite.skip(name, "it is not here")
    suite.check("all else was measured", all("median" in result or "missing" in result for result in results))
    for report in found:
        the_page_is_written(suite, report, folder / "docs")


def the_page_is_written(suite, report, docs):
    page.write(report, docs)
    text = (docs / "benchmarks.md").read_text()
    suite.check("each row is on the page", all(f"### {row['title']}\n" in text for row in report["rows"]))
    timed = [row for row in report["rows"] if plots.compares(row)]
    sized = [row for row in report["rows"] if plots.of_memory(row)]
    for name, plotted in ("overview.svg", timed), ("memory.svg", sized):
        root = xml.parse(docs / "benchmarks" / name).getroot()
        found = [mark for mark in root.iter() if mark.get("class", "").startswith("mark ")]
        inside = [mark for mark in found if mark.find("{*}title") is not None]
        legend = len(plots.KINDS) + 1 if name == "overview.svg" else 0
        suite.equal(f"{name}: a mark a command", len(inside) - legend, sum(len(plots.measured(row)) for row in plotted))
        suite.check(f"{name}: light and dark", "prefers-color-scheme: dark" in root.find("{*}style").text)
        width, height = map(float, root.get("viewBox").split()[2:])
        off = [text.text for text in root.iter("{*}text") if not 0 < float(text.get("x")) < width
               or not 0 < float(text.get("y")) < height]
        suite.equal(f"{name}: nothing off the paper", off, [])


def two_builds_are_compared(suite, build, folder):
    """This build beside itself, and beside one that can do nothing of it."""
    names = "^(inspect|gzip|diff)$"
    target = folder / "pairs.json"
    done = bench(build, "--compare-build", build, "--rows", names, "--json", target)
    if suite.equal("--compare-build ends well", done.returncode, 0, done.stderr):
        pairs = [pair for row in json.loads(target.read_text())["rows"] for pair in row["pairs"]]
        suite.equal("a pair a command of ckpt's", len(pairs), 3)
        suite.equal("both in turns", {len(p[which]["walls"]) for p in pairs for which in ("new", "old")}, {2})
        table = target.with_suffix(".md").read_text()
        suite.check("the table is written", all(f"| `{pair['command']}` |" in table for pair in pairs), table)
    old = folder / "old/bin"
    old.mkdir(parents=True)
    (old / "ckpt").write_text("#!/bin/sh\necho 'ckpt: no such command' >&2; exit 2\n")
    (old / "ckpt").chmod(0o755)
    done = bench(build, "--compare-build", old.parent, "--rows", "^inspect$", "--json", target)
    suite.equal("a build that lacks a command ends nothing", done.returncode, 0, done.stdout + done.stderr)
    suite.check("… and it is said", "it cannot: ckpt: no such command" in done.stdout, done.stdout)


def peers_are_taken_from_their_folder(suite, build, folder):
    """A package that stands for picklescan, and leaves a sign of having run."""
    package = folder / "peers/picklescan"
    package.mkdir(parents=True)
    verdict = "Scanned files: 1\nInfected files: 0\nDangerous globals: 0\n"
    (package / "__main__.py").write_text(f"open({str(folder / 'ran')!r}, 'w')\nprint({verdict!r}, end='')\n")
    (folder / "peers/picklescan-99.dist-info").mkdir()
    (folder / "peers/picklescan-99.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: picklescan\nVersion: 99\n")
    target = folder / "scan.json"
    done = bench(build, "--rounds=1", "--rows", "^scan$", "--peers", package.parent, "--json", target)
    if suite.equal("bench --peers ends well", done.returncode, 0, done.stderr):
        report = json.loads(target.read_text())
        suite.equal("its version is told", report["machine"]["versions"]["picklescan"], "99")
        suite.check("it was measured", all("median" in result for result in report["rows"][0]["commands"]), report["rows"])
    suite.check("and it is what ran", (folder / "ran").exists())


def a_revision_is_found(suite):
    try:
        compare.build("no-such-revision", ROOT)
    except compare.NotBuilt as failed:
        suite.check("a revision that is not there is named", "no-such-revision" in str(failed), failed)
    else:
        suite.fail("a revision that is not there is built")
    everything = rows.table()
    chosen = compare.for_comparison(everything)
    lines = [(command.line, command.file or row.file) for row in chosen for command in row.commands]
    ours = {(c.line, c.file or row.file) for row in everything for c in row.commands if c.ours}
    suite.equal("each of ckpt's commands once", (len(lines), set(lines)), (len(ours), ours))


def files_come_and_go(suite, build, folder):
    """Of a row's files what is missing is made; what no row needs any more goes."""
    kept = store.Store(folder, build / "bin/ckpt", None, True)
    small, folded, copied = File("small"), File("small", "sharded"), File("many", "copy")
    kept.need({small, folded, copied})
    suite.check("they are made", all((folder / file.name).exists() for file in (small, folded, copied)))
    suite.check("what only led to them is not kept", not (folder / "many.pt").exists())
    sizes = [path.stat().st_size for path in (folder / folded.name).iterdir()]
    suite.equal("a folder's size is that of its files", kept.there[folded], sum(sizes))
    kept.keep_only({small})
    suite.equal("they go", sorted(p.name for p in folder.iterdir() if not p.name.endswith(".json")), ["small.pt"])
    suite.equal("and are told of", len(kept.described()), 3)
    names = [row.name for row in store.order(rows.table())]
    huge = {row.name for row in rows.table() if any(isinstance(f, File) and f.kind == "huge" for f in row.files())}
    suite.equal("the largest come last", set(names[-len(huge):]), huge)


def wrong_outputs_are_seen(suite, build, folder):
    """On a checkpoint with `module.` and on one for cuda:0: each command claims what it does not do."""
    ckpt = build / "bin/ckpt"

    def failure(name, line, check):
        shutil.copy(harness.DATA / name, folder)
        source = folder / name
        listed = json.loads(subprocess.check_output([ckpt, "inspect", "--json", source]))["tensors"]
        digests = json.loads(subprocess.check_output([ckpt, "digest", "--json", source]))["tensors"]
        expected = {t["name"]: [digests[t["name"]], t["dtype"], t["shape"]] for t in listed}
        (folder / f"{source.stem}.json").write_text(json.dumps(expected))
        cast = {name: [digest, "bfloat16", shape] for name, (digest, _, shape) in expected.items()}
        (folder / f"{source.stem}.bfloat16.json").write_text(json.dumps(cast))
        told = checks.figures_of_json(subprocess.check_output([ckpt, "stats", "--json", source], text=True))
        (folder / f"{source.stem}.figures.json").write_text(json.dumps({name: found for name, (found, _) in told.items()}))
        try:
            runner.Bench(build, folder).try_out(one_row.Command(line, check), source)
        except runner.Failed as failed:
            return str(failed)
        return ""

    prefixed, on_gpu = "foonet_module_prefix.pt", "foonet_cuda0.pt"
    gone = checks.holds(device="cpu", prefix="")
    figures = f"{shlex.quote(str(ckpt))} stats --json IN.pt"
    clean = "printf 'Scanned files: 1\nInfected files: 0\nDangerous globals: 0\n'"
    for name, line, check in [
        ("checkpoint", "ckpt strip-prefix IN.pt OUT.pt", gone),
        ("set of figures", "ckpt stats --json IN.pt", checks.describes),
        ("verdict", clean, checks.clears),
    ]:
        suite.equal(f"a right {name} passes", failure(prefixed, line, check), "")
    for name, file, line, check in [
        ("a prefix that stays", prefixed, "cp IN.pt OUT.pt", gone),
        ("a device that stays", on_gpu, "cp IN.pt OUT.pt", checks.holds(device="cpu", prefix="")),
        ("no checkpoint", prefixed, "cp /dev/null OUT.pt", gone),
        ("names that are not listed", prefixed, "echo module.fc1.weight", checks.lists),
        ("another dtype", prefixed, "cp IN.pt OUT.pt", checks.holds(dtype="bfloat16")),
        ("no tensor's hash", prefixed, "sha256sum IN.pt", checks.hashes_one),
        ("no array", prefixed, "cp IN.pt OUT.npy", checks.extracts),
        ("another tensor", prefixed, "ckpt extract IN.pt module.linears.0.weight -o OUT.npy", checks.extracts),
        ("no hashes", prefixed, "ckpt inspect IN.pt", checks.hashes),
        ("another file's hash", prefixed, "sha256sum /dev/null", checks.hashes_file),
        ("figures of one tensor", prefixed, "ckpt stats --json IN.pt --keys *.0.*", checks.describes),
        ("another figure", prefixed, f"{figures} | sed 's/nan\":0/nan\":1/'", checks.describes),
        ("a histogram of other numbers", prefixed, f"{figures} | sed 's/counts\":.1/counts\":[2/'", checks.describes),
        ("no scan", prefixed, f"{clean} | sed s/1/0/", checks.clears),
        ("a scan that broke off", prefixed, f"{clean} | tee /dev/stderr", checks.clears),
        ("an exit status", prefixed, "false", checks.succeeds),
        ("a command that is not there", prefixed, "ckpt-is-not-here", checks.succeeds),
    ]:
        suite.check(f"seen: {name}", failure(file, line, check))


def memory_is_the_commands_own(suite, build, folder):
    ballast = bytearray(64 << 20)  # of this process, which starts the one that measures
    taken, _ = runner.Bench(build, folder).run("true", folder / "nothing")
    suite.check("`true` takes less than 8 MiB", taken["peak"] < 8 << 20, taken)
    del ballast


def command(name, median=1.0, peak=10 << 20, size=100):
    times = dict.fromkeys(("median", "min", "max", "cpu"), median)
    what = {"command": name, "file": "a.pt", "ours": name.startswith("ckpt"), "remark": ""}
    return {**what, **times, "peak": peak, "size": size}


def marks_are_judged(suite):
    results = [command("ckpt convert a.pt OUT.pt.gz"), command("cp a.pt", median=0.8, size=99),
               command("larger a.pt", size=101), command("sha256sum a.pt", median=4),
               command("openssl dgst a.pt", median=2)]
    for name, mark, kept in [
        ("seconds kept", marks.seconds_at_most(1), True),
        ("seconds missed", marks.seconds_at_most(0.9), False),
        ("times kept", marks.times_at_most(1.25, "cp"), True),
        ("times missed", marks.times_at_most(1.2, "cp"), False),
        ("no such peer", marks.times_at_most(1.2, "igzip"), None),
        ("memory kept", marks.memory_at_most(10), True),
        ("memory missed", marks.memory_at_most(9), False),
        ("memory kept by many tensors", marks.memory_at_most(9, tensors=2_000), True),
        ("memory missed by few tensors", marks.memory_at_most(9, tensors=1_000), False),
        ("size missed", marks.no_larger_than("cp"), False),
        ("size kept", marks.no_larger_than("larger"), True),
        ("all cores kept", marks.as_fast_on_every_core(("sha256sum", "openssl dgst"), 0.1, cores=2), True),
        ("all cores missed", marks.as_fast_on_every_core(("sha256sum", "openssl dgst"), 0.1, cores=3), False),
        ("all cores of the slower one alone", marks.as_fast_on_every_core(("sha256sum",), 0.1, cores=3), True),
        ("on all cores, no such peer", marks.as_fast_on_every_core(("md5sum",), 0.1, cores=2), None),
    ]:
        suite.equal(name, mark(results).kept, kept)
    over = marks.times_at_most(1, "cp")(results).over
    suite.check("by how much", math.isclose(over, 1.25), over)
    named = marks.times_at_most(1, "c")(results)
    suite.equal("a name is whole words", named.kept, None)
    faster, frugal = marks.times_faster, marks.times_less_processor_time
    slower = [command("ckpt eval a.pt"), command("python x_tuned.py a.pt", median=2.0),
              command("python x.py a.pt", median=3.0)]
    for name, mark, kept in [
        ("so many times faster", faster(3, "python x.py"), True),
        ("not so many times faster", faster(3.1, "python x.py"), False),
        ("less processor time", frugal(2, "python x_tuned.py"), True),
        ("not so much less processor time", frugal(2.1, "python x_tuned.py"), False),
        ("faster than no such peer", faster(2, "python y.py"), None),
    ]:
        suite.equal(name, mark(slower)[2], kept)
    absent = [{"command": "ckpt eval a.pt", "ours": True, "missing": "libtorch"}, *slower[1:]]
    for name, mark in [("times", faster(3, "python x.py")), ("memory", marks.memory_at_most(10))]:
        suite.equal(f"{name} where ckpt eval is not here", mark(absent)[2], None)
    grown = [*results, command("ckpt convert b.pt OUT.pt.gz", peak=12 << 20)]
    suite.equal("flat enough", marks.memory_flat(2)(grown)[2], True)
    suite.equal("not flat", marks.memory_flat(1)(grown)[2], False)


def the_page_says_where_ckpt_loses(suite):
    ckpt = command("ckpt convert a.pt OUT.pt.gz")

    def said_of(peer, asked=()):
        return "\n".join(losses.losses({"rows": [{"title": "Job", "commands": [ckpt, peer], "marks": list(asked)}]}))

    suite.equal("nowhere", said_of(command("gzip -1 a.pt > OUT.pt.gz")), "")
    suite.check("time", "is faster, 0.50 s against 1.00 s" in said_of(command("igzip a.pt > OUT.pt.gz", median=0.5)))
    imported = {**command("python x.py", median=2.0), "without_import": 0.5}
    suite.check("time without import", "imported already, 0.50 s against 1.00 s" in said_of(imported))
    suite.check("size", "a smaller file, 90 B" in said_of(command("gzip -9 a.pt > OUT.pt.gz", size=90)))
    suite.check("memory", "Memory: `cp` take less" in said_of(command("cp a.pt OUT.pt", peak=1 << 20)))
    missed = {"asked": "at most 1 s", "measured": "2 s", "kept": False}
    said = said_of(command("cp a.pt OUT.pt"), [missed])
    suite.check("a mark", "the mark is at most 1 s, and 2 s was measured" in said)
    suite.check("by how much", "missed 2.0 times over" in said_of(command("cp a.pt"), [{**missed, "over": 2.0}]))
    suite.check("by a little", "missed by 7 %" in said_of(command("cp a.pt"), [{**missed, "over": 1.07}]))


def what_stands_in_the_way_is_said(suite):
    mark = {"asked": "at most 1 s", "measured": "2 s", "kept": False, "over": 2.0}
    table = [row.name for row in rows.table()]
    suite.equal("reasons are of rows that are there", set(reasons.WHY) - set(table), set())
    reasons.WHY["job"] = "so it is."
    try:
        row = {"name": "job", "title": "Job", "commands": []}
        lines = losses.missed({**row, "marks": [mark, mark]})
        said = [line.endswith("in the way: so it is.") for line in lines]
        suite.equal("once, where marks are missed", said, [False, True])
        suite.equal("not where they are kept", losses.missed({**row, "marks": [{**mark, "kept": True}]}), [])
    finally:
        del reasons.WHY["job"]


def the_page_is_its_results(suite):
    made = page.written(json.loads((ROOT / "docs/benchmarks.json").read_text()))
    for name, text in made.items():
        suite.check(f"docs/{name} is made of benchmarks.json", (ROOT / "docs" / name).read_text() == text,
                    "bench/page.py writes it again")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    build = parser.parse_args().build.resolve()
    suite = harness.Suite()
    for test in (everything_runs, two_builds_are_compared, peers_are_taken_from_their_folder, files_come_and_go,
                 wrong_outputs_are_seen, memory_is_the_commands_own):
        with suite.group(test.__name__.replace("_", " ")), harness.temporary_folder() as folder:
            test(suite, build, folder)
    for test in (marks_are_judged, a_revision_is_found, the_page_says_where_ckpt_loses, what_stands_in_the_way_is_said,
                 the_page_is_its_results):
        with suite.group(test.__name__.replace("_", " ")):
            test(suite)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
