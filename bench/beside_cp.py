#!/usr/bin/env python3
"""`ckpt convert --to cpu` of a checkpoint of 1 GiB beside `cp` of the same file, on a RAM disk.

    bench/beside_cp.py --ckpt BIN [--mib 1024] [--rounds 5] [--write-page docs/benchmarks.md]

Each round runs every command once, one after the other, so that a slow minute of the machine slows them all. Printed:
median and range of the wall time, its ratio to cp's, and the most memory (maximum resident set) that a run took.
"""

import argparse
import os
import pathlib
import platform
import statistics
import struct
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "data"))
import torchfile  # noqa: E402


def make_checkpoint(path, mib):
    """A DataParallel state dict on cuda:0: tensors of 16 MiB of random floats between -1 and 1."""
    block = bytearray(os.urandom(16 << 20))
    block[3::4] = bytes(0x3F if byte < 128 else 0xBF for byte in block[3::4])
    tensors = {}
    for i in range(mib // 16):
        record = struct.pack("<Q", i) + bytes(block[8:])
        storage = torchfile.Storage(4 << 20, device="cuda:0", record=record)
        tensors[f"module.layer{i}.weight"] = torchfile.Tensor([2048, 2048], storage=storage)
    torchfile.save_zip(path, torchfile.state_dict(tensors))


def make_apart(path, mib):
    """In a process of its own: a child's maximum resident set begins with its parent's."""
    child = os.fork()
    if child == 0:
        make_checkpoint(path, mib)
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit("the checkpoint could not be made")


def run(command):
    """Wall seconds and KiB of a command."""
    start = time.perf_counter()
    child = os.posix_spawnp(command[0], command, os.environ)
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - start
    if status != 0:
        sys.exit(f"failed: {' '.join(command)}")
    return seconds, usage.ru_maxrss


def table(ckpt, folder, rounds):
    source, target = str(folder / "big.pt"), str(folder / "out.pt")
    commands = {
        "cp IN OUT": ["cp", source, target],
        "ckpt convert IN OUT --to cpu": [ckpt, "convert", "--quiet", source, target, "--to", "cpu"],
        "ckpt convert IN OUT --to cpu --strip-prefix": [ckpt, "convert", "--quiet", source, target, "--to", "cpu",
                                                        "--strip-prefix"],
    }
    runs = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            runs[name].append(run(command))
            os.unlink(target)
    floor = statistics.median(seconds for seconds, _ in runs["cp IN OUT"])
    lines = ["| command | median | range | beside cp | memory |", "|---|---|---|---|---|"]
    for name, measured in runs.items():
        seconds = sorted(s for s, _ in measured)
        median = statistics.median(seconds)
        memory = max(kib for _, kib in measured) / 1024
        lines.append(f"| `{name}` | {median:.2f} s | {seconds[0]:.2f} to {seconds[-1]:.2f} s | {median / floor:.2f} × | "
                     f"{memory:.0f} MiB |")
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ckpt", required=True)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write-page")
    options = parser.parse_args()
    ram = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=ram, prefix="ckpt-bench-") as name:
        folder = pathlib.Path(name)
        make_apart(folder / "big.pt", options.mib)
        lines = table(options.ckpt, folder, options.rounds)
    print("\n".join(lines))
    if options.write_page:
        page = ["# Benchmarks", "",
                f"Written by `bench/beside_cp.py` ({options.rounds} rounds, commands interleaved; {os.cpu_count()} cores,",
                f"{platform.machine()}, RAM disk). Times differ from machine to machine and hour to hour: the ratios taken in",
                "one run are what counts. `./dev bench` repeats it.", "",
                f"## Converting {options.mib} MiB, beside `cp`", "",
                "A zip checkpoint of random floats on `cuda:0` under DataParallel. Every byte's CRC-32 is compared with the",
                "source's and what was written is opened again before it replaces anything.", ""]
        pathlib.Path(options.write_page).write_text("\n".join(page + lines) + "\n")


if __name__ == "__main__":
    main()
