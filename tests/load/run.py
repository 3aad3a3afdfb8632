#!/usr/bin/env python3
"""More than anybody has: tens of thousands of tensors, a million values, a hundred GiB, 64 conversions at once, 10,000 in a row.

    tests/load/run.py --ckpt build/release/bin/ckpt --build build/release [GROUP…]
"""

import gzip
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "data")]
import harness  # noqa: E402
import sparse  # noqa: E402
from torchfile import Storage, Tensor, save_zip, state_dict  # noqa: E402

MIB = 1 << 20
SPARSE_GIB, ENTRIES, TENSORS, AT_ONCE, IN_A_ROW = 100, 1_000_000, 70_000, 64, 10_000


class Load:
    def __init__(self, options, folder):
        self.build, self.folder, self.suite = options.build, folder, harness.Suite()
        self.ckpt = harness.Ckpt(options.ckpt)

    def run(self, mib, *words, status=0):
        """A command, which must end so and take so many MiB at most. Returns what it printed."""
        command = [self.build / "bin/ckpt_measure", self.folder / "stdout", self.ckpt.path, *words]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=harness.environment())
        lines = done.stdout.strip().split("\n")
        report = json.loads(lines[-1]) if lines[-1].startswith("{") else {}
        name = " ".join(word.name if isinstance(word, Path) else str(word) for word in words)
        if self.suite.equal(f"{name}: status", report.get("status"), status, f"{done.stdout}{done.stderr}"):
            self.suite.check(f"{name}: within {mib} MiB", report["peak"] <= mib * MIB, f"{report['peak'] / MIB:.1f} MiB")
            print(f"{name}: {report['peak'] // MIB} MiB, {report['wall']:.2f} s")
        return (self.folder / "stdout").read_text()

    def has_lines(self, name, text, *wanted):
        for words in wanted:
            self.suite.check(f"{name}: {words}", words in text, text[-1000:])


def sparse_file(load):
    path, out = load.folder / "sparse.pt", load.folder / "small.pt"
    sparse.save_sparse(path, SPARSE_GIB)
    load.suite.check("it is sparse", path.stat().st_blocks * 512 < 16 * MIB, path.stat().st_blocks)
    load.has_lines("inspect", load.run(64, "inspect", path), "layer99.weight", "107.4 GB")
    load.has_lines("verify", load.run(64, "verify", path), "ok")
    load.run(64, "convert", path, out, "--keep", "small.*", "--to", "cpu")
    load.has_lines("what was kept", load.ckpt("inspect", out).text, "small.bias")
    load.suite.equal("its numbers", load.ckpt("extract", out, "small.bias", "-o", "-").out[-32:],
                     struct.pack("<8f", *range(8)))


def many_entries(load):
    path, out = load.folder / "entries.pt", load.folder / "entries.new.pt"
    save_zip(path, {"weight": Tensor([4]), "seen": {f"sample-{i}": i for i in range(ENTRIES)}})
    for words in (["inspect", path], ["verify", path], ["convert", path, out, "--gzip"]):
        load.run(256, *words)
    load.suite.equal("equal", load.ckpt("diff", path, out).code, 0)


def many_tensors(load):
    path, out = load.folder / "tensors.pt", load.folder / "tensors.new.pt"
    save_zip(path, state_dict({f"module.layers.{i}.weight": Tensor([16], device="cuda:0") for i in range(TENSORS)}))
    for words in (["inspect", path], ["verify", path], ["scan", path], ["digest", path], ["strip-prefix", path, out],
                  ["convert", path, out, "--to", "cpu", "--gzip"]):
        load.run(104, *words)
    for words in (["convert", path, out, "--dtype", "bfloat16"], ["stats", path], ["verify", path, "--finite"]):
        load.run(192, *words)
    load.run(256, "diff", path, path)


def model(folder, elements=100_000):
    weight = Storage(elements, device="cuda:0")
    path = folder / "model.pt"
    save_zip(path, state_dict({"module.fc.weight": Tensor([elements // 100, 100], storage=weight),
                               "module.fc.bias": Tensor([100], device="cuda:0")}))
    (folder / "model.pt.gz").write_bytes(gzip.compress(path.read_bytes(), 1, mtime=0))
    return path


def stopped(process):
    """Waits until it has stopped itself, or ended. Says which."""
    how = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    if how.si_code != os.CLD_STOPPED:
        return False
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)
    return True


# Each stops itself before its first write, and again when all is written and nothing has its name yet.
HELD = ",".join(f"{call}:1:signal={int(signal.SIGSTOP)}" for call in ("write", "sync"))


def at_once(load):
    path = model(load.folder)
    wanted = load.folder / "wanted.pt"
    load.suite.equal("alone", load.ckpt("convert", path, wanted, "--to", "cpu", "--strip-prefix").code, 0)
    outs = [load.folder / f"out-{i}.pt" for i in range(AT_ONCE)]
    ins = [path, path.with_suffix(".pt.gz")]
    held = {"LD_PRELOAD": load.build.resolve() / "lib/libckpt_interpose.so", "CKPT_FAULTS": HELD, "CKPT_FAULT_ALARM": "120"}
    running = [
        subprocess.Popen([load.ckpt.path, "convert", ins[i % 2], out, "--to", "cpu", "--strip-prefix", "--no-gzip"],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**harness.environment(), **held})
        for i, out in enumerate(outs)
    ]
    for when in ("before their first write", "before their outputs get names"):
        load.suite.equal(f"all at once {when}", sum(map(stopped, running)), AT_ONCE)
        load.suite.check(f"no output {when}", not any(out.exists() for out in outs))
        for process in running:
            process.send_signal(signal.SIGCONT)
    for process, out in zip(running, outs):
        _, err = process.communicate(timeout=120)
        load.suite.equal(f"{out.name}: status", process.returncode, 0, err.decode())
        load.suite.equal(f"{out.name}: bytes", out.read_bytes(), wanted.read_bytes())
    load.suite.check("nothing else is left", not list(load.folder.glob(".ckpt-*")))


def in_a_row(load):
    path, out = model(load.folder, 1000), load.folder / "again.pt"
    done = subprocess.run([load.build / "bin/ckpt_convert_often", str(IN_A_ROW), out, path, path.with_suffix(".pt.gz")],
                          capture_output=True, text=True, env=harness.environment())
    load.suite.equal("status", done.returncode, 0, done.stderr)
    held = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    load.suite.equal("all ran", [runs for runs, _, _ in held], list(range(1000, IN_A_ROW + 1, 1000)))
    growth = max(resident for _, resident, _ in held) - held[0][1]
    load.suite.check("memory does not grow", growth <= MIB, held)
    load.suite.equal("descriptors", {descriptors for _, _, descriptors in held}, {held[0][2]})
    left = {file.name for file in load.folder.iterdir()} - {"model.pt", "model.pt.gz", "again.pt"}
    load.suite.equal("temporaries", {name for name in left if name.startswith(".")}, set())


GROUPS = {"sparse": sparse_file, "entries": many_entries, "tensors": many_tensors, "at-once": at_once, "in-a-row": in_a_row}
FIGURES = {"sparse": ("sparse-gib", SPARSE_GIB), "entries": ("entries", ENTRIES), "tensors": ("tensors", TENSORS),
           "at-once": ("at-once", AT_ONCE), "in-a-row": ("in-a-row", IN_A_ROW)}


def main():
    parser = harness.parser(__doc__.split("\n")[0])
    parser.add_argument("--build", type=Path, required=True, help="the build folder, for its programs that measure and repeat")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)} (all)")
    options = harness.parse(parser)
    with harness.temporary_folder() as top:
        load = Load(options, top)
        for name in options.groups or GROUPS:
            load.folder = Path(tempfile.mkdtemp(dir=top))
            with load.suite.group(name):
                GROUPS[name](load)
            shutil.rmtree(load.folder)
            what, number = FIGURES[name]
            load.suite.figure(f"load.{what}", number)
    return load.suite.finish()


if __name__ == "__main__":
    sys.exit(main())
