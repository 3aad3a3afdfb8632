#!/usr/bin/env python3
"""What ckpt does when the machine fails it: every call and allocation of a conversion fails once, the process is killed,
the disk is full, the input changes while it is read, others write the same target. The target must be the old file or
the new one, whole, and nothing else may be left.

    tests/faults/run.py --ckpt build/release/bin/ckpt --interposer build/release/lib/libckpt_interpose.so [GROUP…]

CONTRIBUTING.md says how to repeat one fault by hand.
"""

import gzip
import os
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "data")]
import harness  # noqa: E402
import sweeps  # noqa: E402
from driver import Folders, Program, Scenario  # noqa: E402
from torchfile import Storage, Tensor, save_legacy, save_zip, state_dict  # noqa: E402

OLD = b"what stood here before" * 20


def weights(elements):
    """A state dict as DataParallel saves it on a GPU, with tensors of which the largest takes several reads."""
    numbers = random.Random(7)
    tensors = {"module.fc.weight": Tensor([elements], storage=Storage(elements, device="cuda:0",
                                                                     record=numbers.randbytes(4 * elements)))}
    for name in ("fc.bias", "norm.weight"):
        tensors[f"module.{name}"] = Tensor([5], device="cuda:0")
    return state_dict(tensors, ["", "module", "module.fc", "module.norm"])


def make_sources(folder):
    """Two of each kind: `small` for faults of which there are thousands, `large` for several reads and writes a file."""
    for name, elements in (("small", 6), ("large", 150_000)):
        save_zip(folder / f"{name}.pt", weights(elements))
        save_legacy(folder / f"{name}_legacy.pt", weights(elements))
        (folder / f"{name}.pt.gz").write_bytes(gzip.compress((folder / f"{name}.pt").read_bytes(), 1, mtime=0))
        (folder / f"{name}_legacy.pt.gz").write_bytes(
            gzip.compress((folder / f"{name}_legacy.pt").read_bytes(), 1, mtime=0))


def scenarios(files, size):
    """Each conversion, with an old target where it is told."""
    def scenario(name, command, source, old=None, **more):
        return Scenario(f"{size} {name}", command.split(), files / f"{size}{source}", old, **more)

    return [
        scenario("bare>bare", "convert IN OUT", ".pt"),
        scenario("bare>bare over an old file", "convert IN OUT --to cpu", ".pt", OLD),
        scenario("bare>gz over an old file", "convert IN OUT", ".pt", OLD),
        scenario("gz>bare", "convert IN OUT --no-gzip", ".pt.gz"),
        scenario("legacy>zip over an old file", "convert IN OUT --format torch", "_legacy.pt", OLD),
        scenario("zip>legacy", "convert IN OUT --format torch-legacy", ".pt"),
        scenario("in place", "convert --in-place OUT --to cpu", ".pt", in_place=True),
        scenario("strip-prefix over an old file", "strip-prefix IN OUT", ".pt", OLD),
        scenario("no-clobber", "convert IN OUT --no-clobber", ".pt"),
    ]


def named(all_scenarios):
    """The same where the file system has no unnamed files."""
    return [Scenario(**{**vars(s), "name": f"{s.name} by a named temporary", "named": True}) for s in all_scenarios]


def sweep_group(context):
    for scenario in scenarios(context.files, "large") + named(scenarios(context.files, "large")):
        yield lambda s=scenario: sweeps.failing_calls(context.suite, context.program, s, context.folders)


def memory_group(context):
    small = scenarios(context.files, "small")
    for scenario in small[:-1] + named([small[1]]):
        for part in range(2):
            yield lambda s=scenario, p=part: sweeps.failing_allocations(
                context.suite, context.program, s, context.folders, p, 2)


def changing_group(context):
    for source, command in ((".pt", "convert IN OUT --to cpu"), (".pt.gz", "convert IN OUT --no-gzip"),
                            ("_legacy.pt", "convert IN OUT --format torch"), ("_legacy.pt", "convert IN OUT --to cpu"),
                            ("_legacy.pt.gz", "convert IN OUT")):
        for size in ("small", "large"):
            scenario = Scenario(f"{size}{source}: {command}", command.split(), context.files / f"{size}{source}", OLD)
            yield lambda s=scenario: sweeps.changing_input(context.suite, context.program, s, context.folders)


GROUPS = {"calls": sweep_group, "memory": memory_group, "changing": changing_group}


class Context:
    def __init__(self, options, top):
        self.suite = harness.Suite()
        self.program = Program(Path(options.ckpt).resolve(), Path(options.interposer).resolve())
        self.folders = Folders(top)
        self.files = self.folders.new()
        make_sources(self.files)


def main():
    p = harness.parser(__doc__.split("\n")[0])
    p.add_argument("--interposer", required=True, metavar="LIBRARY", help="libckpt_interpose.so")
    p.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)} (all)")
    options = harness.parse(p)
    if not os.path.exists(options.interposer):
        p.error(f"{options.interposer} is not there")
    with harness.temporary_folder() as top, ThreadPoolExecutor(os.cpu_count()) as pool:
        context = Context(options, top)
        for name in options.groups or GROUPS:
            with context.suite.group(name):
                for job in [pool.submit(job) for job in GROUPS[name](context)]:
                    job.result()
        for what, number in context.program.counts.items():
            print(f"{what}: {number:,}")
        return context.suite.finish()


if __name__ == "__main__":
    sys.exit(main())
