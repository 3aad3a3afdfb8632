#!/usr/bin/env python3
"""Memory stays constant: every operation on a checkpoint of 1 GiB, and every format, takes 40 MiB at most on two cores.

The files are sparse, or made by ckpt, and lie on disk, one at a time. `--gib` makes smaller ones.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "bad")]
import edits  # noqa: E402
import forge  # noqa: E402
import gguf_attacks as ggml  # noqa: E402
import harness  # noqa: E402

MOST = 40 << 20
TENSORS = 8


def safetensors(size):
    """What stands before that many bytes of tensors; so do the others."""
    each = size // TENSORS
    infos = (f'"layer{i}.weight":{forge.tensor_info("F32", [each // 4096, 1024], i * each, (i + 1) * each)}' for i in range(TENSORS))
    return forge.safetensors(f"{{{','.join(infos)}}}", b"")


def gguf(size):
    each = size // TENSORS
    tensors = [ggml.tensor(f"layer{i}.weight", (1024, each // 4096), 0, i * each) for i in range(TENSORS)]
    return ggml.gguf(tensors, [ggml.entry("general.architecture", 8, ggml.text("test"))], b"")


def npy(size):
    """One tensor without a name."""
    return forge.npy(data=b"", shape=f"({size // 4096}, 1024)")


def write_sparse(path, head, size):
    """Zeros after it, which take no room on the disk."""
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + size)


# By ckpt, of the sparse file: what is converted to it with these words.
WRITTEN = {
    "torch": ["--format", "torch"],
    "torch, gzip": ["--format", "torch", "--gzip"],
    "torch-legacy": ["--format", "torch-legacy"],
    "safetensors-index": ["--format", "safetensors-index", "--shard-size", "500MB"],
    "torch-index": ["--format", "torch-index", "--shard-size", "500MB"],
    "dcp": ["--format", "dcp"],
    "npz": ["--format", "npz"],
}
# Formats of which a file that is cut is recovered.
RECOVERED = ("torch", "torch, gzip", "torch-legacy", "safetensors")


class Measure:
    def __init__(self, suite, build, folder):
        self.suite, self.folder, self.most = suite, folder, 0
        self.measure, self.ckpt = build / "bin/ckpt_measure", build / "bin/ckpt"

    def run(self, name, *words, status=0):
        """One command, which must end so within the mark; returns its memory in bytes."""
        command = [self.measure, self.folder / "stdout", self.ckpt, *words]
        done = subprocess.run([str(w) for w in command], capture_output=True, text=True, env=harness.environment())
        report = json.loads(done.stdout.strip().split("\n")[-1]) if done.stdout.strip() else {}
        ended = report.get("status") == status
        if not self.suite.check(f"{name}: {words[0]} ends with {status}", ended, f"{done.stdout}{done.stderr}"):
            return 0
        self.suite.check(f"{name}: {words[0]} within {MOST >> 20} MiB", report["peak"] <= MOST, f"{report['peak'] >> 20} MiB")
        return report["peak"]

    def operations(self, name, path):
        # A tensor alone is no state dict, and has no name to be written under.
        words = ["out.pt"] if name == "npy" else ["out.safetensors", "--weights-only"]
        most = max(
            self.run(name, "inspect", path),
            self.run(name, "verify", path),
            self.run(name, "digest", path),
            self.run(name, "scan", path),
            self.run(name, "convert", path, self.folder / words[0], "--dry-run", *words[1:]),
        )
        if name in RECOVERED:
            with path.open("r+b") as file:
                file.truncate(path.stat().st_size * 3 // 4)
            most = max(most, self.run(name, "recover", path, self.folder / "out", "--dry-run", status=1))
        print(f"{name}: {most >> 20} MiB at most")
        self.most = max(self.most, most)


def made(kind, path, size):
    """By a Python of its own, whose memory goes with it."""
    subprocess.run([sys.executable, Path(__file__).with_name("make.py"), kind, path, str(size)], check=True)


def remove(path):
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def main():
    p = harness.parser(__doc__.split("\n")[0])
    p.add_argument("--build", type=Path, required=True, help="the build folder, for its program that measures")
    p.add_argument("--gib", type=float, default=1, help="of each checkpoint (1)")
    p.add_argument("formats", nargs="*", help="formats to try (all), or edits")
    options = harness.parse(p)
    suite = harness.Suite()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])  # each thread has memory of its own
    size = int(options.gib * (1 << 30)) // (TENSORS * 4096) * TENSORS * 4096
    folder = Path(tempfile.mkdtemp(prefix="ckpt-memory-"))  # on disk, not in memory
    wanted = lambda name: not options.formats or name in options.formats  # noqa: E731
    try:
        if shutil.disk_usage(folder).free < 2 * size + (1 << 30):
            suite.skip("memory", f"less than {2 * size >> 30} GiB free in {folder.parent}")
            return suite.finish()
        measure = Measure(suite, options.build, folder)
        source = folder / "source.safetensors"
        write_sparse(source, safetensors(size), size)
        for name, head in (("safetensors", safetensors), ("gguf", gguf), ("npy", npy)):
            if not wanted(name):
                continue
            with suite.group(name):
                path = folder / f"made.{name}"
                write_sparse(path, head(size), size)
                measure.operations(name, path)
        for name, words in WRITTEN.items():
            if not wanted(name):
                continue
            path = folder / "written"
            with suite.group(name):
                measure.run(name, "convert", source, path, *words)
                measure.operations(name, path)
            remove(path)
        for name in ("torchscript", "pickle", "pickle of arrays", "torch-tar"):
            if not wanted(name):
                continue
            path = folder / "made"
            with suite.group(name):
                made(name, path, size)
                measure.operations(name, path)
            remove(path)
        if wanted("edits"):
            path = folder / "views.pt"
            with suite.group("edits"):
                other = folder / "other.pt"
                made("views", path, size)
                made("other views", other, size)
                edits.try_all(measure, path, other)
            remove(path)
            remove(other)
        if not options.formats:
            suite.figure("memory.mib", measure.most >> 20)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
