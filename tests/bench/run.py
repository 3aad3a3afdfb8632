#!/usr/bin/env python3
"""Do the benchmarks measure what they say? Nothing here asks how fast anything is.

    tests/bench/run.py --build build/release      (with a Python that has torch, which makes the files)

Ends with `N passed, N failed`.
"""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]
import checks  # noqa: E402
import harness  # noqa: E402
import marks  # noqa: E402
import page  # noqa: E402
import rows  # noqa: E402
import run as bench_run  # noqa: E402


def everything_runs(suite, build, folder):
    """All rows on tiny files; the peers in Python are left out, since each takes seconds to import torch."""
    report = folder / "report.json"
    options = ["--build", build, "--quick", "--rounds=1", "--no-python", "--json", report]
    done = subprocess.run([sys.executable, ROOT / "bench/run.py", *options], capture_output=True, text=True)
    if not suite.equal("bench --quick ends well", done.returncode, 0, done.stdout + done.stderr):
        return
    found = json.loads(report.read_text())
    suite.equal("all rows are there", [row["name"] for row in found["rows"]], [row.name for row in rows.table()])
    results = [result for row in found["rows"] for result in row["commands"]]
    for name in sorted({result["missing"] for result in results if "missing" in result}):
        suite.skip(name, "it is not here")
    ours = [result for result in results if result["ours"] and "missing" not in result]
    suite.check("ckpt was measured everywhere", all("median" in result for result in ours))


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
        try:
            bench_run.Bench(build, folder).try_out(rows.Command(line, check), source)
        except bench_run.Failed as failed:
            return str(failed)
        return ""

    prefixed, on_gpu = "foonet_module_prefix.pt", "foonet_cuda0.pt"
    gone = checks.holds(device="cpu", prefix="")
    suite.equal("a right output passes", failure(prefixed, "ckpt strip-prefix IN.pt OUT.pt", gone), "")
    for name, file, line, check in [
        ("a prefix that stays", prefixed, "cp IN.pt OUT.pt", gone),
        ("a device that stays", on_gpu, "cp IN.pt OUT.pt", checks.holds(device="cpu", prefix="")),
        ("no checkpoint", prefixed, "cp /dev/null OUT.pt", gone),
        ("names that are not listed", prefixed, "echo module.fc1.weight", checks.lists),
        ("no hashes", prefixed, "ckpt inspect IN.pt", checks.hashes),
        ("another file's hash", prefixed, "sha256sum /dev/null", checks.hashes_file),
        ("an exit status", prefixed, "false", checks.succeeds),
        ("a command that is not there", prefixed, "ckpt-is-not-here", checks.succeeds),
    ]:
        suite.check(f"seen: {name}", failure(file, line, check))


def memory_is_the_commands_own(suite, build, folder):
    ballast = bytearray(64 << 20)  # of this process, which starts the one that measures
    taken, _ = bench_run.Bench(build, folder).run("true", folder / "nothing")
    suite.check("`true` takes less than 8 MiB", taken["peak"] < 8 << 20, taken)
    del ballast


def command(name, median=1.0, peak=10 << 20, size=100):
    times = dict.fromkeys(("median", "min", "max", "cpu"), median)
    what = {"command": name, "file": "a.pt", "ours": name.startswith("ckpt"), "remark": ""}
    return {**what, **times, "peak": peak, "size": size}


def marks_are_judged(suite):
    results = [command("ckpt convert a.pt OUT.pt.gz"), command("cp a.pt", median=0.8, size=99)]
    for name, mark, kept in [
        ("seconds kept", marks.seconds_at_most(1), True),
        ("seconds missed", marks.seconds_at_most(0.9), False),
        ("times kept", marks.times_at_most(1.25, "cp"), True),
        ("times missed", marks.times_at_most(1.2, "cp"), False),
        ("no such peer", marks.times_at_most(1.2, "igzip"), None),
        ("memory kept", marks.memory_at_most(10), True),
        ("memory missed", marks.memory_at_most(9), False),
        ("size missed", marks.no_larger_than("cp"), False),
    ]:
        suite.equal(name, mark(results)[2], kept)
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

    def losses(peer, asked=()):
        return "\n".join(page.losses({"rows": [{"title": "Job", "commands": [ckpt, peer], "marks": list(asked)}]}))

    suite.equal("nowhere", losses(command("gzip -1 a.pt > OUT.pt.gz")), "")
    suite.check("time", "is faster, 0.50 s against 1.00 s" in losses(command("igzip a.pt > OUT.pt.gz", median=0.5)))
    imported = {**command("python x.py", median=2.0), "without_import": 0.5}
    suite.check("time without import", "imported already, 0.50 s against 1.00 s" in losses(imported))
    suite.check("size", "a smaller file, 90 B" in losses(command("gzip -9 a.pt > OUT.pt.gz", size=90)))
    suite.check("memory", "Memory: `cp` take less" in losses(command("cp a.pt OUT.pt", peak=1 << 20)))
    missed = {"asked": "at most 1 s", "measured": "2 s", "kept": False}
    said = losses(command("cp a.pt OUT.pt"), [missed])
    suite.check("a mark", "the mark is at most 1 s, and 2 s was measured" in said)


def the_page_is_its_results(suite):
    made = page.page(json.loads((ROOT / "docs/benchmarks.json").read_text()))
    stands = (ROOT / "docs/benchmarks.md").read_text()
    suite.check("docs/benchmarks.md is made of benchmarks.json", stands == made, "bench/page.py writes it again")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    build = parser.parse_args().build.resolve()
    suite = harness.Suite()
    for test in (everything_runs, wrong_outputs_are_seen, memory_is_the_commands_own):
        with suite.group(test.__name__.replace("_", " ")), harness.temporary_folder() as folder:
            test(suite, build, folder)
    for test in (marks_are_judged, the_page_says_where_ckpt_loses, the_page_is_its_results):
        with suite.group(test.__name__.replace("_", " ")):
            test(suite)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
