"""Runs a row: each command once to judge its output, then in rounds, one after the other."""

import importlib.machinery
import json
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import checks
import store
import test_sets

HERE = Path(__file__).resolve().parent
IN = re.compile(r"\bIN(\.pt(\.gz)?|\.safetensors|/)")
SLOW, FEW = 10, 3  # a command that takes longer than so many seconds is run in so many rounds at most
DEBIAN = {"igzip": "isal", "cp": "coreutils", "cat": "coreutils", "sha256sum": "coreutils"}


class Failed(Exception):
    pass


class Bench:
    """Where the programs and files are. `folder` holds the sources and, in out/, whatever a command puts out; `peers` the
    packages of bench/requirements.txt. `old`: a build folder of which ckpt alone is taken."""

    def __init__(self, build, folder, peers=None, old=None):
        self.judge = (build / "bin/ckpt").resolve()
        self.ckpt = (old / "bin/ckpt").resolve() if old else self.judge
        self.measure = (build / "bin/ckpt_measure").resolve()
        self.folder, self.out = folder, folder / "out"
        self.printed = self.out / "printed"
        self.peers = peers

    def expected(self, source):
        return json.loads((self.folder / f"{source.name.split('.')[0]}.json").read_text())

    def words(self, line, source, other=None):
        """The words to run, the file its standard output goes to, and the file or folder it makes."""
        words, printed, made = shlex.split(line), self.printed, None
        for i, word in enumerate(words):
            if IN.fullmatch(word):
                words[i] = str(source)
            elif word == "AND.pt":
                words[i] = str(other)
            elif word.startswith("DATA"):
                words[i] = f"{self.folder}/{test_sets.folder(source)}{word.removeprefix('DATA')}"
            elif word == "TENSOR":
                words[i] = late_tensor(self.expected(source))
            elif word.startswith("OUT"):
                made = self.out / word
                words[i] = str(made)
        if ">" in words:
            words, printed = words[: words.index(">")], words[-1]
        if "|" in words:
            words = ["sh", "-c", " ".join(word if word == "|" else shlex.quote(word) for word in words)]
        elif words[0] == "ckpt":
            words[0] = str(self.ckpt)
        elif words[0] == "python":
            words[0] = sys.executable
            if words[1].endswith(".py"):
                script = HERE / "peers" / words[1]
                timed = [str(HERE / "peers/timed.py")] if "import torch" in script.read_text() else []
                words[1:2] = [*timed, str(script)]
        return words, printed, made

    def run(self, line, source, other=None):
        """One run of a command, into an empty folder."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        words, printed, made = self.words(line, source, other)
        environment = {**os.environ, "PYTHONPATH": str(self.peers)} if self.peers else None
        done = subprocess.run([self.measure, printed, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=environment)
        taken = json.loads(done.stdout) if done.returncode == 0 else {"status": "not started"}
        if taken["status"] != 0:
            raise Failed(f"{line}: exit {taken['status']}\n{done.stderr}")
        own = re.search(r"^without import: ([\d.]+)$", done.stderr, re.M)
        taken["without_import"] = float(own[1]) if own else None
        taken["size"] = store.size(made) if made else None
        taken["warned"] = done.stderr
        return taken, made

    def try_out(self, command, source, other=None):
        """A run of which the output is judged."""
        taken, made = self.run(command.line, source, other)
        try:
            command.check(checks.Run(self.judge, source, self.expected(source), made, self.printed, taken["warned"]))
        except checks.Wrong as wrong:
            raise Failed(f"{command.line}: {wrong}") from None
        return taken

    def source(self, row, command):
        other = self.folder / command.other.name if command.other else None
        return self.folder / (command.file or row.file).name, other


def late_tensor(expected):
    """Near the end of the file, so that whoever reads all before it is seen to; 4 MiB in a large one."""
    return [name for name in expected if name.endswith("attn.proj.weight")][-1]


def shown(command, file, expected):
    """The command as the page has it."""
    line = IN.sub(lambda found: file.name + ("/" if found[1] == "/" else ""), command.line)
    if command.other:
        line = line.replace("AND.pt", command.other.name)
    if " TENSOR" in line:
        line = line.replace("TENSOR", late_tensor(expected))
    return line.replace("DATA", test_sets.folder(Path(file.name)))


def missing(bench, command):
    """What a command needs that is not here."""
    program = command.line.split()[0]
    if command.line.startswith("ckpt eval ") and not bench.ckpt.with_name("ckpt-eval").exists():
        return "libtorch, for ckpt-eval"
    if command.needs:
        places = [str(bench.peers)] * bool(bench.peers) + sys.path
        if not importlib.machinery.PathFinder.find_spec(command.needs, places):
            return f"Python package {command.needs}"
    if program in ("ckpt", "python") or shutil.which(program):
        return None
    return "Debian's package " + DEBIAN.get(program, program)


def summary(runs):
    walls = [run["wall"] for run in runs]
    result = {
        "median": statistics.median(walls),
        "min": min(walls),
        "max": max(walls),
        "cpu": statistics.median(run["cpu"] for run in runs),
        "peak": max(run["peak"] for run in runs),
        "rounds": len(walls),
        "walls": walls,
    }
    if runs[0]["without_import"] is not None:
        result["without_import"] = statistics.median(run["without_import"] for run in runs)
    if runs[0]["size"] is not None:
        result["size"] = runs[0]["size"]
    return result


def rounds_of(row, tried, rounds):
    """A command that takes long runs in fewer rounds: it varies less, and there is an end to what one can wait."""
    most = min(rounds, row.rounds or rounds)
    return min(most, FEW) if tried["wall"] > SLOW else most


def measure_row(bench, row, rounds, python=True, trial_counts=False):
    """`trial_counts`: the run that was judged is the first round, too."""
    results, present = [], []
    for command in row.commands:
        if not python and command.line.startswith("python"):
            continue
        file = command.file or row.file
        source, other = bench.source(row, command)
        line = shown(command, file, bench.expected(source))
        result = {"command": line, "file": file.name, "ours": command.ours, "remark": command.remark}
        results.append(result)
        if what := missing(bench, command):
            result["missing"] = what
            continue
        tried = bench.try_out(command, source, other)
        runs = [tried] if trial_counts else []
        present.append((command, source, other, result, runs, rounds_of(row, tried, rounds)))
    for i in range(rounds):
        for command, source, other, _, runs, enough in present:
            if i < enough and len(runs) < enough:
                runs.append(bench.run(command.line, source, other)[0])
    for _, _, _, result, runs, _ in present:
        result.update(summary(runs))
    judged = [mark(results)._asdict() for mark in row.marks]
    return {"name": row.name, "title": row.title, "note": row.note, "commands": results, "marks": judged}
