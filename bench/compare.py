"""`--compare REV`: ckpt beside itself as it was, on the same files, in turns.

REV is unpacked and built below build/compare, which is kept for the next time. In each round both run, now
the one first and now the other; the ratio of the two times of a round is what counts, of which the median, the smallest
and the largest are told.
"""

import re
import statistics
import subprocess
from dataclasses import replace
from pathlib import Path

from figures import mib, seconds
from runner import Failed, missing, rounds_of, shown, summary

ROOT = Path(__file__).resolve().parent.parent


class NotBuilt(Exception):
    pass


def _run(*command, cwd=ROOT):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
        raise NotBuilt(f"{' '.join(map(str, command))}: exit {done.returncode}\n{last}")
    return done.stdout.strip()


def build(revision, beside):
    """The build folder of `revision`, set up as `beside` is."""
    commit = _run("git", "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")[:12]
    tree = ROOT / "build/compare" / commit
    if not (tree / "CMakeLists.txt").exists():
        part = tree.with_suffix(".part")
        part.mkdir(parents=True, exist_ok=True)
        _run("sh", "-c", f"git archive {commit} | tar -x -C '{part}'")
        part.rename(tree)
    options, targets = ["-DCKPT_BUILD_TESTS=OFF"], ["ckpt_program"]
    if torch := re.search(r"^CKPT_LIBTORCH:\w+=(.+)$", (beside / "CMakeCache.txt").read_text(), re.M):
        options, targets = [*options, f"-DCKPT_LIBTORCH={torch[1]}"], [*targets, "ckpt_eval_program"]
    _run("cmake", "--preset", "release", *options, cwd=tree)
    _run("cmake", "--build", "--preset", "release", "--target", *targets, cwd=tree)
    return tree / "build/release"


def for_comparison(chosen):
    """Only what ckpt does, each command once; `chosen` keeps its rows."""
    seen, result = set(), []
    for row in chosen:
        commands = [c for c in row.commands if c.ours and (c.line, c.file or row.file) not in seen]
        seen |= {(c.line, c.file or row.file) for c in commands}
        if commands:
            result.append(replace(row, commands=commands, marks=[]))
    return result


def _lacks(bench, command, source, other):
    """What `bench`'s ckpt says where it cannot do this; None where it can."""
    try:
        return None, bench.try_out(command, source, other)
    except Failed as failed:
        said = [line.strip() for line in str(failed).removeprefix(f"{command.line}: ").splitlines() if line.strip()]
        said = next((line for line in said if line.startswith("ckpt: ")), said[0])
        return said, None


def measure_row(new, old, row, rounds):
    pairs = []
    for command in row.commands:
        source, other = new.source(row, command)
        pair = {"command": shown(command, command.file or row.file, new.expected(source)), "file": source.name}
        pairs.append(pair)
        if what := missing(new, command) or missing(old, command):
            pair["missing"] = what
            continue
        tried = new.try_out(command, source, other)
        said, tried_old = _lacks(old, command, source, other)
        if said:
            pair["lacks"] = said
            continue
        runs = {new: [], old: []}
        for i in range(rounds_of(row, max(tried, tried_old, key=lambda run: run["wall"]), rounds)):
            for bench in (new, old) if i % 2 else (old, new):
                runs[bench].append(bench.run(command.line, source, other)[0])
        pair["new"], pair["old"] = summary(runs[new]), summary(runs[old])
        ratios = [one["wall"] / before["wall"] for one, before in zip(runs[new], runs[old], strict=True)]
        pair["ratio"], pair["least"], pair["most"] = statistics.median(ratios), min(ratios), max(ratios)
    return {"name": row.name, "title": row.title, "pairs": pairs}


HEAD = ["command", "before", "now", "now / before", "range", "memory before", "now"]


def cells(pair):
    command = f"`{pair['command']}`"
    if "missing" in pair:
        return [command, f"not measured: here is no {pair['missing']}", *[""] * 5]
    if "lacks" in pair:
        return [command, f"it cannot: {pair['lacks'].replace('|', ' ')}", *[""] * 5]
    new, old = pair["new"], pair["old"]
    span = f"{pair['least']:.2f} to {pair['most']:.2f}"
    return [command, seconds(old["median"]), seconds(new["median"]), f"{pair['ratio']:.2f} ×", span, mib(old["peak"]),
            mib(new["peak"])]


def section(row):
    from page import table

    return [f"### {row['title']}", "", *table(HEAD, [cells(pair) for pair in row["pairs"]]), ""]


def page(report, before):
    from page import table

    machine = report["machine"]
    lines = [f"# ckpt now, beside {before}", "",
             f"{machine['processor']}, {machine['cores']} cores; {machine['date']}; files on {machine['files_on']}; "
             f"{report['rounds']} rounds, of each the ratio of both times: their median and range.", ""]
    if report["quick"]:
        lines += ["The files were tiny, so the figures mean nothing.", ""]
    return "\n".join([*lines, *table(HEAD, [cells(pair) for row in report["rows"] for pair in row["pairs"]])]) + "\n"


def write(report, options):
    """Writes the table of all pairs beside the results, and returns where."""
    commit = options.other.parent.parent.name if options.compare else ""
    before = f"{options.compare} ({commit})" if commit else str(options.compare_build)
    if options.json:
        target = options.json.with_suffix(".md")
    else:
        folder = options.build / "compare"
        folder.mkdir(exist_ok=True)
        target = folder / f"{re.sub(r'[^A-Za-z0-9.]+', '-', before).strip('-')}.md"
    target.write_text(page(report, before))
    return f"{sum('ratio' in pair for row in report['rows'] for pair in row['pairs'])} pairs, in {target}"
