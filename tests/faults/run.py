#!/usr/bin/env python3
"""What ckpt does when the machine fails it: every call and allocation of a conversion fails once, the process is
killed, the disk is full, the input changes while it is read, others write the same target. The target must be the old file or
the new one, whole, and nothing else may be left.

    tests/faults/run.py --ckpt build/release/bin/ckpt --interposer build/release/lib/libckpt_interpose.so [GROUP…]

CONTRIBUTING.md says how to repeat one fault by hand.
"""

import gzip
import inspect
import os
import random
import resource
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "data")]
import asking  # noqa: E402
import evaluations  # noqa: E402
import folders  # noqa: E402
import harness  # noqa: E402
import kills  # noqa: E402
import names  # noqa: E402
import other_formats  # noqa: E402
import places  # noqa: E402
import served  # noqa: E402
import streams  # noqa: E402
import sweeps  # noqa: E402
from driver import Folders, Program, Scenario  # noqa: E402
from make import scripts  # noqa: E402
from torchfile import Storage, Tensor, save_legacy, save_zip, state_dict  # noqa: E402

OLD = b"what stood here before" * 20
OTHER_FORMATS = ("script.pt", "model.gguf", "data.npz", "array.npy", "a.safetensors", "model.tar.gz", "tensors.pkl")


def weights(elements):
    """A state dict as DataParallel saves it on a GPU, with tensors of which the largest takes several reads."""
    numbers = random.Random(7)
    tensors = {
        "module.fc.weight": Tensor(
            [elements], storage=Storage(elements, device="cuda:0", record=numbers.randbytes(4 * elements))
        )
    }
    for name in ("fc.bias", "norm.weight"):
        tensors[f"module.{name}"] = Tensor([5], device="cuda:0")
    return state_dict(tensors, ["", "module", "module.fc", "module.norm"])


def make_sources(folder):
    """Two of each kind: `small` for faults of which there are thousands, `large` for several reads and writes."""
    for name, elements in (("small", 6), ("large", 150_000)):
        save_zip(folder / f"{name}.pt", weights(elements))
        save_legacy(folder / f"{name}_legacy.pt", weights(elements))
        (folder / f"{name}.pt.gz").write_bytes(gzip.compress((folder / f"{name}.pt").read_bytes(), 1, mtime=0))
        (folder / f"{name}_legacy.pt.gz").write_bytes(
            gzip.compress((folder / f"{name}_legacy.pt").read_bytes(), 1, mtime=0)
        )
    for make_some in (scripts, other_formats.gguf_files, other_formats.numpy_files, other_formats.foreign, other_formats.tars,
                      other_formats.plain_pickles):
        make_some(folder)


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


def piped(files):
    """From standard input, which is first kept in a temporary file."""
    return [
        Scenario("large pipe>bare over an old file", ["convert", "-", "OUT"], files / "large.pt", OLD, pipe=True),
        Scenario("large pipe of gz>bare", ["convert", "-", "OUT", "--no-gzip"], files / "large.pt.gz", pipe=True),
    ]


def other_writers(files):
    """Whatever else writes a file; tests/faults/folders.py has those that write a folder."""
    written = {
        "safetensors": "convert IN OUT --format safetensors",
        "npz": "convert IN OUT --format npz",
        "cast": "convert IN OUT --dtype bfloat16 --contiguous --compact --dedupe",
        "average": "average IN IN OUT --clobber",
        "merge": "merge IN OUT --clobber",
        "extract": "extract IN module.fc.bias -o OUT",
        "recover": "recover IN OUT",
    }
    return [
        *(Scenario(f"small {name}", command.split(), files / "small.pt", OLD) for name, command in written.items()),
        Scenario("merge of a folder", ["merge", "IN", "OUT", "--clobber"], files / "shards", OLD),
        Scenario("small npy", ["extract", "IN", "module.fc.bias", "-o", "OUT"], files / "small.pt", OLD, target="target.npy"),
        Scenario("small plot", ["stats", "IN", "--plot", "OUT"], files / "small.pt", OLD, target="target.svg"),
        Scenario("torchscript", ["convert", "IN", "OUT", "--to", "cpu"], files / "script.pt", OLD),
    ]


def sweep_group(context):
    all_scenarios = scenarios(context.files, "large") + piped(context.files)
    for scenario in all_scenarios + named(all_scenarios) + other_writers(context.files):
        yield context.job(sweeps.failing_calls, scenario)


def memory_group(context):
    small = scenarios(context.files, "small")
    for scenario in small[:-1] + named([small[1]]):
        for part in range(2):
            yield context.job(sweeps.failing_allocations, scenario, part, 2)
    for scenario in other_writers(context.files):
        yield context.job(sweeps.failing_allocations, scenario, 0, 12)


def changing_group(context):
    # It is the process itself that changes its input here, which it may not.
    for source, command in (
        (".pt", "convert IN OUT --to cpu"),
        (".pt.gz", "convert IN OUT --no-gzip"),
        ("_legacy.pt", "convert IN OUT --format torch"),
        ("_legacy.pt", "convert IN OUT --to cpu"),
        ("_legacy.pt.gz", "convert IN OUT"),
    ):
        for size in ("small", "large"):
            scenario = Scenario(f"{size}{source}: {command}", [*command.split(), "--no-sandbox"], context.files / f"{size}{source}", OLD)
            yield context.job(sweeps.changing_input, scenario)
    for name in OTHER_FORMATS:
        words = ["convert", "IN", "OUT", "--format", "torch", "--no-sandbox"]
        yield context.job(sweeps.changing_input, Scenario(f"{name}: to torch", words, context.files / name, OLD))


def reading_group(context):
    for name in ("small.pt", "small.pt.gz", "small_legacy.pt"):
        source = context.files / name
        commands = [["inspect"], ["inspect", "--json"], ["verify"], ["verify", "--finite"], ["digest"], ["diff", source],
                    ["check", "--like", source]]
        for command in commands:
            yield context.job(sweeps.reading_fails, command, source)
    for name in OTHER_FORMATS:
        for command in ("inspect", "verify"):
            yield context.job(sweeps.reading_fails, [command], context.files / name, 60)
    yield context.job(sweeps.reading_fails, ["verify"], context.files / "shards", 60)


def kill_group(context):
    all_scenarios, from_pipes = scenarios(context.files, "large"), piped(context.files)
    for scenario in all_scenarios + named(all_scenarios):
        yield context.job(kills.killed_at_calls, scenario)
    for scenario in other_writers(context.files):
        yield context.job(kills.killed_at_calls, scenario)
    for scenario in all_scenarios + from_pipes + named(all_scenarios + from_pipes) + other_writers(context.files):
        yield context.job(kills.signals_at_calls, scenario)
    for scenario in all_scenarios[1:3] + named(all_scenarios[1:3]) + all_scenarios[6:7]:
        yield context.job(kills.at_random, scenario, 100)
        yield context.job(kills.failing_cleanup, scenario)
        yield context.job(kills.ignored_signal, scenario)
    for scenario in other_writers(context.files):
        yield context.job(kills.at_random, scenario, 10)


def stream_group(context):
    files = context.files
    yield context.job(streams.full_disk, files)
    yield context.job(streams.full_disk, files, named=True)
    yield context.job(streams.size_limit, scenarios(files, "large")[1])
    yield context.job(streams.standard_streams, files)
    yield context.job(streams.quiet, files)
    for source, *options in (("large.pt",), ("large.pt", "--gzip"), ("large.pt.gz", "--no-gzip"), ("large_legacy.pt",)):
        yield context.job(streams.failing_output, files, source, options)


def place_group(context):
    for job in (
        places.same_file,
        places.bad_places,
        places.modes,
        places.taken_names,
        places.nothing_replaced_on_simple_file_systems,
        places.closed_before_it_is_replaced,
        places.leftover_on_nfs,
        places.mounts_with_modes_of_their_own,
    ):
        yield context.job(job, context.files)


def asking_group(context):
    yield context.job(asking.lists_of_rights, context.files)
    yield context.job(asking.folders_that_do_not_say, context.files)


def folder_group(context):
    source = context.files / "large.pt"
    written = [f"convert IN OUT {options}" for options in (
        "--format safetensors-index --shard-size 500KB", "--format torch-index --shard-size 500KB", "--format dcp --to cpu")]
    for command in (*written, "shard IN OUT --max-size 500KB"):
        yield context.job(folders.failing_calls, source, command)
        yield context.job(folders.ended, source, command, 10)
        yield context.job(folders.without_births, source, command)
    yield context.job(folders.no_clobber_where_renames_replace, source, "convert IN OUT --format dcp")
    yield context.job(folders.mounted, source)


def evaluation_group(context):
    if not Path(context.program.ckpt).with_name("ckpt-eval").exists():
        return context.suite.skip("eval", "built without libtorch (CKPT_LIBTORCH)")
    for part in range(2):
        yield context.job(evaluations.outputs, harness.ROOT / "samples" / "digits", part, 2)
    yield context.job(evaluations.inputs, harness.ROOT / "samples" / "digits")


def race_group(context):
    for number in (2, 8):
        for no_clobber in (False, True):
            for by_name in (False, True):
                yield context.job(places.races, context.files, number, no_clobber, by_name, 30 if number == 2 else 15)


def name_group(context):
    yield lambda: names.seen_to_find(context.suite)
    yield context.job(names.shown_words)
    for command in names.commands_of(context.program):
        yield context.job(names.shown_names, command)


def served_group(context):
    yield lambda: served.says_the_same(context.suite, context.program, context.files)
    yield context.job(served.makes_the_same_calls, context.files)


GROUPS = {
    "served": served_group,
    "calls": sweep_group,
    "memory": memory_group,
    "reading": reading_group,
    "kills": kill_group,
    "streams": stream_group,
    "places": place_group,
    "asking": asking_group,
    "folders": folder_group,
    "eval": evaluation_group,
    "races": race_group,
    "changing": changing_group,
    "names": name_group,
}


class Context:
    def __init__(self, options, top):
        self.suite = harness.Suite()
        self.program = Program(Path(options.ckpt).resolve(), Path(options.interposer).resolve())
        self.folders = Folders(top)
        self.files = self.folders.new()
        make_sources(self.files)
        shards = ["shard", self.files / "large.pt", self.files / "shards", "--max-size", "500KB", "--quiet"]
        subprocess.run([self.program.ckpt, *shards], check=True)

    def job(self, function, *args, **more):
        """`function(suite, program, …, folders, …)`, to be called by a thread."""
        takes = list(inspect.signature(function).parameters)[2:]
        at = takes.index("folders")
        return lambda: function(self.suite, self.program, *args[:at], self.folders, *args[at:], **more)


def main():
    p = harness.parser(__doc__.split("\n")[0])
    p.add_argument("--interposer", required=True, metavar="LIBRARY", help="libckpt_interpose.so")
    p.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)} (all)")
    options = harness.parse(p)
    if not os.path.exists(options.interposer):
        p.error(f"{options.interposer} is not there")
    for caught in kills.CAUGHT:  # a script's job in the background ignores some, and so would what is started here
        if signal.getsignal(caught) == signal.SIG_IGN:
            signal.signal(caught, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # some of the signals would leave a core file each
    with harness.temporary_folder() as top, ThreadPoolExecutor(os.cpu_count()) as pool:
        context = Context(options, top)
        for name in options.groups or GROUPS:
            with context.suite.group(name):
                for job in [pool.submit(job) for job in GROUPS[name](context)]:
                    job.result()
        for what, number in context.program.counts.items():
            context.suite.figure("faults." + what.replace(" ", "-"), number)
        return context.suite.finish()


if __name__ == "__main__":
    sys.exit(main())
